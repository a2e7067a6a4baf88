//! What a model sent to the search tool, read with patience: the same rules for
//! agents and for the command line.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

const DEFAULT_TOP_K: usize = 5;
const MOST_TOP_K: usize = 20;

/// How much of each tool is returned.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::gateway) enum Detail {
    Schema,
    Name,
}

/// A search as it is carried out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::gateway) struct SearchArguments {
    pub(in crate::gateway) query: String,
    pub(super) top_k: usize,
    pub(super) servers: BTreeSet<String>,
    pub(super) tags: BTreeSet<String>,
    pub(super) detail: Detail,
}

impl SearchArguments {
    /// Reads `arguments`. An error is a sentence that tells the model the mend.
    pub(in crate::gateway) fn read(arguments: &Map<String, Value>) -> Result<Self, String> {
        let example = "e.g. {\"query\": \"create a pull request\"}";
        let query = match arguments.get("query") {
            Some(Value::String(query)) if !query.trim().is_empty() => query.clone(),
            Some(Value::String(_)) => {
                return Err(format!("`query` is empty. Say what has to be done, {example}."));
            }
            Some(_) => return Err(format!("`query` must be a text, {example}.")),
            None => return Err(format!("`query` is missing. Say what has to be done, {example}.")),
        };
        let detail = match arguments.get("detail") {
            None | Some(Value::Null) => Detail::Schema,
            Some(Value::String(word)) if word == "schema" => Detail::Schema,
            Some(Value::String(word)) if word == "name" => Detail::Name,
            Some(_) => return Err("`detail` must be \"schema\" or \"name\".".to_owned()),
        };
        Ok(Self {
            query,
            top_k: top_k(arguments.get("top_k"))?,
            servers: names(arguments.get("servers"), "servers")?,
            tags: names(arguments.get("tags"), "tags")?,
            detail,
        })
    }
}

/// Any whole number, also as text, brought into range.
fn top_k(value: Option<&Value>) -> Result<usize, String> {
    let wrong = || "`top_k` must be a whole number from 1 to 20.".to_owned();
    let number = match value {
        None | Some(Value::Null) => return Ok(DEFAULT_TOP_K),
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => None,
    };
    let number = number.filter(|number| number.fract() == 0.0).ok_or_else(wrong)?;
    #[expect(clippy::cast_possible_truncation, reason = "clamped to 1 to 20 before")]
    #[expect(clippy::cast_sign_loss, reason = "clamped to 1 to 20 before")]
    #[expect(clippy::cast_precision_loss, reason = "20 is exact")]
    Ok(number.clamp(1.0, MOST_TOP_K as f64) as usize)
}

/// A list of names, or a single one.
fn names(value: Option<&Value>, member: &str) -> Result<BTreeSet<String>, String> {
    let wrong = || format!("`{member}` must be a list of names.");
    match value {
        None | Some(Value::Null) => Ok(BTreeSet::new()),
        Some(Value::String(name)) => Ok(BTreeSet::from([name.clone()])),
        Some(Value::Array(names)) => names
            .iter()
            .map(|name| name.as_str().map(ToOwned::to_owned).ok_or_else(wrong))
            .collect(),
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::{SearchArguments, Value};
    use serde_json::json;

    fn top_k(value: &Value) -> Result<usize, String> {
        let arguments = json!({ "query": "list pods", "top_k": value });
        SearchArguments::read(arguments.as_object().unwrap()).map(|arguments| arguments.top_k)
    }

    #[test]
    fn whole_numbers_are_brought_into_range_and_others_refused() {
        for (value, expected) in [
            (json!(0), 1),
            (json!(-1), 1),
            (json!(20), 20),
            (json!(21), 20),
            (json!(1e9), 20),
            (json!(5.0), 5),
            (json!("7"), 7),
            (json!(null), 5),
        ] {
            assert_eq!(top_k(&value), Ok(expected), "{value}");
        }
        for value in [json!(5.5), json!("abc"), json!([5]), json!(true), json!("NaN")] {
            assert!(top_k(&value).is_err(), "{value}");
        }
    }

    #[test]
    fn a_query_that_is_no_text_is_refused_with_an_example() {
        for arguments in
            [json!({}), json!({"query": 5}), json!({"query": " \n"}), json!({"query": null})]
        {
            let error = SearchArguments::read(arguments.as_object().unwrap()).unwrap_err();
            assert!(error.contains("e.g."), "{error}");
        }
    }
}

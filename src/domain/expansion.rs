//! `${VAR}` references in a server's settings, resolved when the server starts.

use thiserror::Error;

/// Where the value of a variable comes from; an argument, so that tests need no environment.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A reference without a value.
#[derive(Clone, Debug, Error, Eq, PartialEq)]
#[error(
    "{field} refers to `${{{variable}}}`, which is not set; set it or write `${{{variable}:-default}}`"
)]
pub struct ExpandError {
    /// The setting that holds the reference, e.g. ``env `KEY` ``.
    pub field: String,
    /// The variable that is not set.
    pub variable: String,
}

/// Replaces `${VAR}`, `${VAR:-default}` and `${env:VAR}` in `text` by their values.
///
/// A value is never expanded again, `$VAR` and `$$` stay as they are, and so does
/// text that only resembles a reference, such as `${` without an end. As in a
/// shell, the default also stands in for an empty value.
pub fn expand(field: &str, text: &str, variables: Variables<'_>) -> Result<String, ExpandError> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        expanded.push_str(&rest[..start]);
        let Some(reference) = Reference::parse(&rest[start..]) else {
            expanded.push_str("${");
            rest = &rest[start + 2..];
            continue;
        };
        let value = variables(reference.variable);
        match (value, reference.default) {
            (Some(value), None) => expanded.push_str(&value),
            (Some(value), Some(_)) if !value.is_empty() => expanded.push_str(&value),
            (_, Some(default)) => expanded.push_str(default),
            (None, None) => {
                let variable = reference.variable.to_owned();
                return Err(ExpandError { field: field.to_owned(), variable });
            }
        }
        rest = &rest[start + reference.length..];
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// `text` without its references: what its author wrote in the clear.
pub(super) fn without_references(text: &str) -> String {
    let mut clear = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        clear.push_str(&rest[..start]);
        let (kept, length) = Reference::parse(&rest[start..])
            .map_or(("${", 2), |found| (found.default.unwrap_or_default(), found.length));
        clear.push_str(kept);
        rest = &rest[start + length..];
    }
    clear.push_str(rest);
    clear
}

struct Reference<'a> {
    variable: &'a str,
    default: Option<&'a str>,
    /// Bytes from `${` to `}`.
    length: usize,
}

impl<'a> Reference<'a> {
    /// Reads the reference at the start of `text`, which begins with `${`.
    fn parse(text: &'a str) -> Option<Self> {
        let end = text.find('}')?;
        let inside = &text[2..end];
        let (variable, default) = match inside.split_once(":-") {
            Some((variable, default)) => (variable, Some(default)),
            None => (inside, None),
        };
        let variable = variable.strip_prefix("env:").unwrap_or(variable);
        let mut characters = variable.chars();
        let starts_well = characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        let goes_on_well = characters.all(|c| c.is_ascii_alphanumeric() || c == '_');
        (starts_well && goes_on_well).then_some(Self { variable, default, length: end + 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::{expand, without_references};

    #[track_caller]
    fn check(text: &str, expected: Result<&str, &str>) {
        let variables = |name: &str| match name {
            "TOKEN" => Some("canary".to_owned()),
            "EMPTY" => Some(String::new()),
            "DOLLAR" => Some("a$b${TOKEN}".to_owned()),
            _ => None,
        };
        let expanded = expand("env `K`", text, &variables);
        let seen = expanded.as_deref().map_err(|error| error.variable.as_str());
        assert_eq!(seen, expected, "{text}");
    }

    #[test]
    fn the_three_spellings_are_expanded_and_nothing_else() {
        check("${TOKEN}", Ok("canary"));
        check("x${env:TOKEN}y${TOKEN}", Ok("xcanaryycanary"));
        check("${NOT_SET:-http://127.0.0.1:9}/mcp", Ok("http://127.0.0.1:9/mcp"));
        check("${TOKEN:-other}", Ok("canary"));
        check("${EMPTY}", Ok(""));
        check("${EMPTY:-full}", Ok("full"));
        check("$TOKEN $$ ${ ${} ${9X} ${TOKEN", Ok("$TOKEN $$ ${ ${} ${9X} ${TOKEN"));
    }

    #[test]
    fn a_value_is_not_expanded_again() {
        check("${DOLLAR}", Ok("a$b${TOKEN}"));
    }

    #[test]
    fn an_unset_variable_is_named_with_its_field() {
        check("a${NOT_SET}b", Err("NOT_SET"));
        let error = expand("header `Authorization`", "Bearer ${T}", &|_| None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "header `Authorization` refers to `${T}`, which is not set; set it or write `${T:-default}`"
        );
    }

    #[test]
    fn what_stands_outside_references_is_in_the_clear() {
        assert_eq!(without_references("Bearer ${TOKEN}"), "Bearer ");
        assert_eq!(without_references("a${X:-secret}b"), "asecretb");
    }
}

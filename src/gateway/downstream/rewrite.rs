//! Names and progress tokens in parameters replaced, every other byte kept.

use std::ops::Range;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::domain::{Splice, span_of};

/// The parameters of a call, a prompt or a read, opened one level.
#[derive(Debug)]
pub(super) struct Target<'a> {
    params: &'a str,
    /// The exposed name or URI.
    pub(super) name: String,
    name_span: Range<usize>,
    token_span: Option<Range<usize>>,
    /// The arguments, for built-in tools.
    pub(super) arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tokened<'a> {
    #[serde(borrow)]
    progress_token: Option<&'a RawValue>,
}

impl<'a> Target<'a> {
    /// Opens `params`, whose target stands in the member `name` or `uri`. An error
    /// is a sentence that says what is wrong.
    pub(super) fn open(params: Option<&'a RawValue>, member: &str) -> Result<Self, String> {
        let wrong = || format!("`params.{member}` must be a text");
        let params = params.map(RawValue::get).ok_or_else(wrong)?;
        let members: Members<'a> = serde_json::from_str(params)
            .map_err(|_| "`params` is no object that can be read".to_owned())?;
        let name = if member == "uri" { members.uri } else { members.name };
        let raw = name.ok_or_else(wrong)?;
        let name: String = serde_json::from_str(raw.get()).map_err(|_| wrong())?;
        let name_span = span_of(params, raw).ok_or_else(wrong)?;
        let token = members
            .meta
            .and_then(|meta| serde_json::from_str::<Tokened<'a>>(meta.get()).ok()?.progress_token);
        let token_span = token.and_then(|token| span_of(params, token));
        Ok(Self { params, name, name_span, token_span, arguments: members.arguments })
    }

    /// The client's progress token as it was sent.
    pub(super) fn token(&self) -> Option<&'a str> {
        self.token_span.clone().map(|span| &self.params[span])
    }

    /// The parameters for the upstream: its own name, and `id` as progress token
    /// where the client asked for progress.
    pub(super) fn for_upstream(&self, name: &str, id: u64) -> String {
        let mut splice = Splice::new(self.params);
        splice.replace(self.name_span.clone(), Value::from(name).to_string());
        if let Some(span) = &self.token_span {
            splice.replace(span.clone(), id.to_string());
        }
        splice.finish()
    }
}

/// The parameters of a progress notification with the client's own token.
pub(super) fn with_token(params: &str, token: &str) -> Option<String> {
    let tokened: Tokened<'_> = serde_json::from_str(params).ok()?;
    let span = span_of(params, tokened.progress_token?)?;
    let mut splice = Splice::new(params);
    splice.replace(span, token.to_owned());
    Some(splice.finish())
}

#[cfg(test)]
mod tests {
    use super::{RawValue, Target, with_token};

    #[test]
    fn only_name_and_token_change_on_the_way_up() {
        let text = r#"{"x":1e2,"name":"s__t","arguments":{"name":"keep","n":12345678901234567890123},"_meta":{"a":1,"progressToken":"p-1"}}"#;
        let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
        let target = Target::open(Some(&raw), "name").unwrap();
        assert_eq!((target.name.as_str(), target.token()), ("s__t", Some("\"p-1\"")));
        assert_eq!(
            target.for_upstream("t", 7),
            r#"{"x":1e2,"name":"t","arguments":{"name":"keep","n":12345678901234567890123},"_meta":{"a":1,"progressToken":7}}"#
        );
    }

    #[test]
    fn progress_comes_back_under_the_clients_token() {
        let params = r#"{"progressToken":7,"progress":0,"x":[1e2]}"#;
        let rewritten = with_token(params, "\"p-1\"").unwrap();
        assert_eq!(rewritten, r#"{"progressToken":"p-1","progress":0,"x":[1e2]}"#);
    }

    #[test]
    fn parameters_without_a_usable_target_are_refused() {
        for text in ["[]", "{}", r#"{"name":7}"#, r#"{"name":null}"#] {
            let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
            assert!(Target::open(Some(&raw), "name").is_err(), "{text}");
        }
        assert!(Target::open(None, "name").is_err());
    }
}

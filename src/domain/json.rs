//! JSON text that is passed on as it came: bytes, not trees.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;

/// One JSON value as the text in which its author wrote it.
///
/// Invariant: the text is exactly one valid JSON value without surrounding blanks.
/// Cloning is cheap; nothing inside is ever parsed into numbers or maps and
/// written again, so big integers, key order and unknown fields survive.
#[derive(Clone, Serialize)]
#[serde(transparent)]
pub struct RawJson(Arc<RawValue>);

/// A text that is not one JSON value.
#[derive(Debug, Error)]
#[error("not valid JSON")]
pub struct InvalidJson(#[source] serde_json::Error);

impl RawJson {
    /// Checks `text` and keeps it.
    pub fn parse(text: &str) -> Result<Self, InvalidJson> {
        serde_json::from_str::<Box<RawValue>>(text).map(Self::from).map_err(InvalidJson)
    }

    /// Writes `value` as JSON text.
    pub fn of(value: &impl Serialize) -> Result<Self, InvalidJson> {
        serde_json::value::to_raw_value(value).map(Self::from).map_err(InvalidJson)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl From<Box<RawValue>> for RawJson {
    fn from(value: Box<RawValue>) -> Self {
        Self(Arc::from(value))
    }
}

impl From<&RawValue> for RawJson {
    fn from(value: &RawValue) -> Self {
        Self::from(value.to_owned())
    }
}

impl fmt::Debug for RawJson {
    /// Says how long the text is, never what it says: it may hold a user's data.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RawJson({} bytes)", self.as_str().len())
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RawJson {}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}

/// Where `inner`, borrowed from `outer`, stands in it.
///
/// `None` when it was borrowed from another text.
pub fn span_of(outer: &str, inner: &RawValue) -> Option<Range<usize>> {
    let start = (inner.get().as_ptr() as usize).checked_sub(outer.as_ptr() as usize)?;
    let end = start + inner.get().len();
    (end <= outer.len()).then_some(start..end)
}

/// A text with some spans replaced and every other byte kept.
///
/// The edits are given in rising order and do not overlap.
#[derive(Debug)]
pub struct Splice<'a> {
    text: &'a str,
    edits: Vec<(Range<usize>, String)>,
}

impl<'a> Splice<'a> {
    /// Starts with `text` unchanged.
    pub fn new(text: &'a str) -> Self {
        Self { text, edits: Vec::new() }
    }

    /// Replaces `span` by `replacement`.
    pub fn replace(&mut self, span: Range<usize>, replacement: String) {
        self.edits.push((span, replacement));
    }

    /// The text with all edits made.
    pub fn finish(mut self) -> String {
        self.edits.sort_by_key(|(span, _)| span.start);
        let grown: usize = self.edits.iter().map(|(_, new)| new.len()).sum();
        let mut spliced = String::with_capacity(self.text.len() + grown);
        let mut kept_from = 0;
        for (span, new) in &self.edits {
            spliced.push_str(&self.text[kept_from..span.start]);
            spliced.push_str(new);
            kept_from = span.end;
        }
        spliced.push_str(&self.text[kept_from..]);
        spliced
    }
}

#[cfg(test)]
mod tests {
    use super::{RawJson, RawValue, Splice, span_of};
    use serde::Deserialize;

    #[test]
    fn a_splice_changes_one_value_and_keeps_every_other_byte() {
        #[derive(Deserialize)]
        struct Named<'a> {
            #[serde(borrow)]
            name: &'a RawValue,
        }
        let text = r#"{ "z": 123456789012345678901234567890, "name" : "old" ,"a":1e2}"#;
        let named: Named<'_> = serde_json::from_str(text).unwrap();
        let mut splice = Splice::new(text);
        splice.replace(span_of(text, named.name).unwrap(), "\"new\"".to_owned());
        assert_eq!(
            splice.finish(),
            r#"{ "z": 123456789012345678901234567890, "name" : "new" ,"a":1e2}"#
        );
    }

    #[test]
    fn a_value_of_another_text_has_no_span() {
        let other = RawJson::parse("[1]").unwrap();
        assert_eq!(span_of("", &other.0), None);
    }

    #[test]
    fn debug_output_does_not_show_the_text() {
        let secret = RawJson::parse(r#"{"password":"canary"}"#).unwrap();
        assert!(!format!("{secret:?}").contains("canary"));
    }
}

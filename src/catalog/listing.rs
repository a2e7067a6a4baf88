//! The serialised lists: made once a view, shared by every client.

use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::domain::{Entry, EntryKind, Splice, span_of};

/// One list as the `result` of its request, and where each entry stands in it.
#[derive(Clone, Debug)]
pub(super) struct Listing {
    text: Arc<str>,
    spans: Vec<Range<usize>>,
}

impl Listing {
    /// Joins definitions into `{"<member>":[…]}`.
    pub(super) fn new(member: &str, definitions: &[String]) -> Self {
        let length: usize = definitions.iter().map(|text| text.len() + 1).sum();
        let mut text = String::with_capacity(length + member.len() + 8);
        text.push_str("{\"");
        text.push_str(member);
        text.push_str("\":[");
        let mut spans = Vec::with_capacity(definitions.len());
        for (position, definition) in definitions.iter().enumerate() {
            if position > 0 {
                text.push(',');
            }
            let start = text.len();
            text.push_str(definition);
            spans.push(start..text.len());
        }
        text.push_str("]}");
        Self { text: Arc::from(text), spans }
    }

    pub(super) fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The definition at `position`.
    pub(super) fn definition(&self, position: usize) -> &str {
        self.spans.get(position).map_or("", |span| &self.text[span.clone()])
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Keyed<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow)]
    uri_template: Option<&'a RawValue>,
}

/// The entry's definition with its name or URI replaced, every other byte kept.
pub(super) fn renamed(kind: EntryKind, entry: &Entry, name: &str) -> String {
    let text = entry.definition.as_str();
    let key = serde_json::from_str::<Keyed<'_>>(text).ok().and_then(|keyed| match kind {
        EntryKind::Tool | EntryKind::Prompt => keyed.name,
        EntryKind::Resource => keyed.uri,
        EntryKind::Template => keyed.uri_template,
    });
    let mut splice = Splice::new(text);
    if let Some(span) = key.and_then(|key| span_of(text, key)) {
        splice.replace(span, serde_json::Value::from(name).to_string());
    }
    splice.finish()
}

#[cfg(test)]
mod tests {
    use super::{Listing, renamed};
    use crate::domain::{EntryKind, judge};

    #[test]
    fn a_list_holds_each_definition_as_its_server_wrote_it_but_for_the_name() {
        let text = r#"{"x":1e400, "name":"a", "inputSchema":{"type":"object"}}"#;
        let raw: Box<serde_json::value::RawValue> = serde_json::from_str(text).unwrap();
        let entry = judge(EntryKind::Tool, &raw).unwrap();
        let definition = renamed(EntryKind::Tool, &entry, "s__a");
        let listing = Listing::new("tools", &[definition.clone(), definition]);
        let one = r#"{"x":1e400, "name":"s__a", "inputSchema":{"type":"object"}}"#;
        assert_eq!(listing.text().as_ref(), format!("{{\"tools\":[{one},{one}]}}"));
        assert_eq!(listing.definition(1), one);
        assert_eq!(listing.definition(2), "");
    }
}

//! One JSON-RPC envelope, opened one level, and the messages in a line.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// An envelope whose members are still text.
#[derive(Debug, Deserialize)]
pub(in crate::gateway) struct Message<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    pub(in crate::gateway) jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(in crate::gateway) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::gateway) method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(in crate::gateway) params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(in crate::gateway) result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::gateway) error: Option<&'a RawValue>,
}

/// Keeps a `null` apart from a missing member.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> Message<'a> {
    pub(in crate::gateway) fn parse(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// Whether it is anything that a peer may send, and no log line with an `id`.
    fn is_meaningful(&self) -> bool {
        let is_answer = self.result.is_some() || self.error.is_some() || self.jsonrpc.is_some();
        self.method.is_some() || (self.id.is_some() && is_answer)
    }
}

/// What a line from a server holds.
#[derive(Debug)]
pub(in crate::gateway) struct MessagesIn<'a> {
    /// The messages, in order.
    pub(in crate::gateway) messages: Vec<Message<'a>>,
    /// Whether something else stood beside or in place of them.
    pub(in crate::gateway) has_noise: bool,
}

/// Finds the messages in a line from a server that may print banners, log lines
/// or fragments to the same stream: before a message, between two, or instead.
///
/// Nothing is ever looked for inside of a text that begins as JSON and is none, nor
/// behind a quotation mark: there, the data of one call could pose as the answer
/// of another.
pub(in crate::gateway) fn messages_in(line: &str) -> MessagesIn<'_> {
    let text = line.trim_start_matches('\u{feff}').trim();
    if let Ok(message) = Message::parse(text)
        && message.is_meaningful()
    {
        return MessagesIn { messages: vec![message], has_noise: false };
    }
    let mut found = MessagesIn { messages: Vec::new(), has_noise: false };
    if let Ok(batch) = serde_json::from_str::<Vec<&RawValue>>(text) {
        found.messages = batch.iter().filter_map(|item| envelope(item)).collect();
        found.has_noise = found.messages.len() < batch.len() || batch.is_empty();
        return found;
    }
    let mut rest = text;
    while !rest.is_empty() {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        if let Some(Ok(value)) = values.next() {
            let message = envelope(value);
            found.has_noise |= message.is_none();
            found.messages.extend(message);
            rest = rest[values.byte_offset()..].trim_start();
            continue;
        }
        found.has_noise = true;
        let mut later = rest.char_indices().skip(1);
        let Some((brace, _)) = later.find(|(_, c)| *c == '{') else { break };
        if rest[..brace].contains('"') {
            break;
        }
        rest = &rest[brace..];
    }
    found
}

fn envelope(value: &RawValue) -> Option<Message<'_>> {
    Message::parse(value.get()).ok().filter(Message::is_meaningful)
}

#[cfg(test)]
mod tests {
    use super::messages_in;

    #[track_caller]
    fn check(line: &str, ids: &[&str], has_noise: bool) {
        let found = messages_in(line);
        let seen: Vec<&str> =
            found.messages.iter().map(|m| m.id.map_or("-", |id| id.get())).collect();
        assert_eq!((seen.as_slice(), found.has_noise), (ids, has_noise), "{line}");
    }

    #[test]
    fn messages_are_found_among_noise() {
        check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, &["1"], false);
        check("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r", &["1"], false);
        check(r#"{"id":2,"result":null}"#, &["2"], false);
        check(r#"Loading… { "jsonrpc":"2.0","id":3,"result":{}}"#, &["3"], true);
        check(r#"{"a":1}{"jsonrpc":"2.0","id":3,"result":{}}"#, &["3"], true);
        check(
            r#"{"jsonrpc":"2.0","id":4,"result":{}}{"jsonrpc":"2.0","id":5,"result":{}}"#,
            &["4", "5"],
            false,
        );
        check(
            r#"[{"jsonrpc":"2.0","id":6,"result":{}},{"jsonrpc":"2.0","method":"x"}]"#,
            &["6", "-"],
            false,
        );
        for noise in
            ["[1,2]", r#"{"level":"info"}"#, "[", "42", "\u{1b}[32mok\u{1b}[0m", "[]", "{}"]
        {
            check(noise, &[], true);
        }
        // However long a line is, it is read once.
        check(&"\"jsonrpc\" ".repeat(200_000), &[], true);
        check(&"{\"jsonrpc\":".repeat(200_000), &[], true);
    }

    #[test]
    fn data_inside_of_a_broken_message_is_no_message() {
        let forged = r#"{"jsonrpc":"2.0","id":4,"result":{}}"#;
        check(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":[NaN, {forged}]}}"#), &[], true);
        check(&format!(r#"INFO user said "x {forged}"#), &[], true);
        check(&format!("Loading… {forged}"), &["4"], true);
        check(&format!("70% {{{forged}"), &["4"], true);
    }
}

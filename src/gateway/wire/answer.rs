//! Responses, requests and notifications as text, each built in one write.

use bytes::Bytes;
use serde_json::Value;

/// What a request brought: the raw text of `result` or of `error`.
#[derive(Clone, Debug)]
pub(in crate::gateway) enum Reply {
    Result(Bytes),
    Error(Bytes),
}

/// A response whose `result` is the given text.
pub fn response(id: &str, result: &str) -> Bytes {
    framed(&["{\"jsonrpc\":\"2.0\",\"id\":", id, ",\"result\":", result, "}"])
}

/// An error response.
pub fn error(id: &str, code: i32, message: &str) -> Bytes {
    let error = error_object(code, message);
    framed(&["{\"jsonrpc\":\"2.0\",\"id\":", id, ",\"error\":", &error, "}"])
}

/// The text of an `error` member.
pub(in crate::gateway) fn error_object(code: i32, message: &str) -> String {
    format!("{{\"code\":{code},\"message\":{}}}", Value::from(message))
}

/// A request.
pub(in crate::gateway) fn request(id: &str, method: &str, params: Option<&str>) -> Bytes {
    let method = Value::from(method).to_string();
    match params {
        Some(params) => framed(&[
            "{\"jsonrpc\":\"2.0\",\"id\":",
            id,
            ",\"method\":",
            &method,
            ",\"params\":",
            params,
            "}",
        ]),
        None => framed(&["{\"jsonrpc\":\"2.0\",\"id\":", id, ",\"method\":", &method, "}"]),
    }
}

/// A notification.
pub(in crate::gateway) fn notification(method: &str, params: Option<&str>) -> Bytes {
    let method = Value::from(method).to_string();
    match params {
        Some(params) => {
            framed(&["{\"jsonrpc\":\"2.0\",\"method\":", &method, ",\"params\":", params, "}"])
        }
        None => framed(&["{\"jsonrpc\":\"2.0\",\"method\":", &method, "}"]),
    }
}

impl Reply {
    /// The response to `id` that carries this reply unchanged.
    pub(in crate::gateway) fn to_response(&self, id: &str) -> Bytes {
        let (member, body) = match self {
            Self::Result(body) => (&b",\"result\":"[..], body),
            Self::Error(body) => (&b",\"error\":"[..], body),
        };
        joined(&[b"{\"jsonrpc\":\"2.0\",\"id\":", id.as_bytes(), member, body, b"}"])
    }

    /// Whether the text holds `"isError": true` at its first level.
    pub(in crate::gateway) fn is_tool_error(&self) -> bool {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Flagged {
            #[serde(default)]
            is_error: Value,
        }
        let Self::Result(body) = self else { return false };
        // Looking for the name costs a thousandth of reading a large result.
        memchr::memmem::find(body, b"\"isError\"").is_some()
            && memchr::memmem::find(body, b"true").is_some()
            && serde_json::from_slice::<Flagged>(body)
                .is_ok_and(|flagged| flagged.is_error == Value::Bool(true))
    }
}

fn framed(parts: &[&str]) -> Bytes {
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    joined(&parts)
}

fn joined(parts: &[&[u8]]) -> Bytes {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    // One more for the line feed that a stream adds.
    let mut message = Vec::with_capacity(length + 1);
    for part in parts {
        message.extend_from_slice(part);
    }
    message.into()
}

#[cfg(test)]
mod tests {
    use super::{Bytes, Reply, error, response};

    #[test]
    fn ids_and_results_are_written_as_they_came() {
        let answer = response("\"a\\u0041\"", r#"{"n":123456789012345678901234567890}"#);
        let expected =
            r#"{"jsonrpc":"2.0","id":"a\u0041","result":{"n":123456789012345678901234567890}}"#;
        assert_eq!(answer, expected);
        let expected = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"\"x\""}}"#;
        assert_eq!(error("null", -1, "\"x\""), expected);
    }

    #[test]
    fn only_a_first_level_flag_makes_a_tool_error() {
        let is_error = |text: &'static str| Reply::Result(Bytes::from(text)).is_tool_error();
        assert!(is_error(r#"{"content":[], "isError": true}"#));
        assert!(!is_error(r#"{"content":[{"isError":true}],"isError":false}"#));
        assert!(!is_error(r#"{"content":[{"text":"\"isError\": true"}]}"#));
    }
}

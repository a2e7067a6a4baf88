//! The handshake, and the advice to the model.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::catalog::KnownServer;
use crate::domain::Client;
use crate::gateway::settings::{LATEST_PROTOCOL_VERSION, PROTOCOL_VERSIONS};

/// Characters of the advice.
const LONGEST_INSTRUCTIONS: usize = 800;

/// What a client says of itself. Anything it leaves out or mistypes is forgiven.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Introduction {
    protocol_version: Value,
    client_info: Value,
}

/// The `result` of `initialize`, and who asked.
pub(super) fn initialize(params: Option<&RawValue>, servers: &[KnownServer]) -> (String, Client) {
    let said: Introduction =
        params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default();
    let wanted = said.protocol_version.as_str().unwrap_or_default();
    let version = PROTOCOL_VERSIONS.iter().find(|known| **known == wanted);
    let text = |member: &str| {
        let text = said.client_info.get(member).and_then(Value::as_str).unwrap_or_default();
        text.chars().take(100).collect::<String>()
    };
    let client = Client { name: text("name"), version: text("version") };
    let result = json!({
        "protocolVersion": version.unwrap_or(&LATEST_PROTOCOL_VERSION),
        "capabilities": {
            "tools": { "listChanged": true },
            "prompts": { "listChanged": true },
            "resources": { "listChanged": true }
        },
        "serverInfo": {
            "name": "coffer",
            "title": "Coffer",
            "version": env!("CARGO_PKG_VERSION")
        },
        "instructions": instructions(servers)
    });
    (result.to_string(), client)
}

/// What servers are here in a few words each, and to search first.
fn instructions(servers: &[KnownServer]) -> String {
    let mut text = String::from(
        "Coffer joins several MCP servers; their tools are named `<server>__<tool>`. When a tool you \
         need is not in sight, call coffer__search_tools with what has to be done, then call the \
         tool it names.",
    );
    let on: Vec<&KnownServer> = servers.iter().filter(|known| known.server.is_enabled).collect();
    for (position, known) in on.iter().enumerate() {
        let lead = if position == 0 { " Servers: " } else { ", " };
        let tags = known.server.tags.join(" ");
        let tags = if tags.is_empty() { String::new() } else { format!(" ({tags})") };
        let item = format!("{lead}{}{tags}", known.server.name);
        if text.len() + item.len() > LONGEST_INSTRUCTIONS - 20 {
            text.push_str(", …");
            break;
        }
        text.push_str(&item);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{RawValue, Value, initialize};

    #[track_caller]
    fn agreed(params: &str) -> String {
        let raw: Box<RawValue> = serde_json::from_str(params).unwrap();
        let (result, _) = initialize(Some(&raw), &[]);
        let result: Value = serde_json::from_str(&result).unwrap();
        result["protocolVersion"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_known_version_is_echoed_and_another_answered_with_the_latest() {
        for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            assert_eq!(agreed(&format!(r#"{{"protocolVersion":"{version}"}}"#)), version);
        }
        for params in [
            r#"{"protocolVersion":"2099-01-01"}"#,
            r#"{"protocolVersion":"1900-01-01"}"#,
            r#"{"protocolVersion":7}"#,
            "{}",
            "[]",
        ] {
            assert_eq!(agreed(params), "2025-11-25", "{params}");
        }
    }
}

//! An `mcpServers` file: the servers of one run, as every MCP client writes them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::domain::{HttpTransport, Server, StdioTransport, Transport, slugs};

/// Why a file cannot be used at all.
#[derive(Debug, Error)]
pub enum ServersFileError {
    /// It cannot be read.
    #[error("`{path}` cannot be read")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// It is no JSON object with servers.
    #[error("`{path}` {reason}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// The servers of a file, and what was wrong with the others.
#[derive(Debug, Default)]
pub struct ServersFile {
    /// The good entries.
    pub servers: Vec<Server>,
    /// A sentence for each bad entry.
    pub refused: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, Value>,
    cwd: Option<String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
    #[serde(default)]
    tags: Vec<String>,
}

impl ServersFile {
    /// Reads `path`. A bad entry is named and leaves the others alone.
    pub fn read(path: &Path) -> Result<Self, ServersFileError> {
        let text = fs::read_to_string(path)
            .map_err(|source| ServersFileError::Unreadable { path: path.to_owned(), source })?;
        Self::parse(&text)
            .map_err(|reason| ServersFileError::Invalid { path: path.to_owned(), reason })
    }

    /// Reads the text of such a file.
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim_start_matches('\u{feff}');
        let mut file: BTreeMap<String, Value> = serde_json::from_str(text).map_err(|error| {
            format!("is no JSON object: error in line {}, column {}", error.line(), error.column())
        })?;
        let Some(Value::Object(entries)) = file.remove("mcpServers") else {
            return Err("has no object `mcpServers`".to_owned());
        };
        let names: Vec<&str> = entries.keys().map(String::as_str).collect();
        let mut read = Self::default();
        for ((written, entry), name) in entries.iter().zip(slugs(&names)) {
            let Some(name) = name else {
                read.refused.push(format!(
                    "server `{written}`: the name is reserved for Coffer's own tools; rename it"
                ));
                continue;
            };
            match transport(entry) {
                Ok((transport, entry)) => read.servers.push(Server {
                    display_name: (name.as_str() != written).then(|| written.clone()),
                    name,
                    transport,
                    is_enabled: !entry.disabled,
                    is_per_client: false,
                    tags: entry.tags,
                    start_timeout: None,
                }),
                Err(reason) => read.refused.push(format!("server `{written}`: {reason}")),
            }
        }
        Ok(read)
    }
}

fn transport(entry: &Value) -> Result<(Transport, Entry), String> {
    // Only the kind of the error: its text may repeat a secret.
    let mut entry: Entry = Entry::deserialize(entry).map_err(|error| {
        let text = error.to_string();
        let kind = text.split([':', ',']).next().unwrap_or("unreadable").to_owned();
        format!("its settings cannot be read ({kind})")
    })?;
    match (entry.command.take(), entry.url.take()) {
        (Some(command), None) if !command.trim().is_empty() => {
            let mut env = BTreeMap::new();
            for (name, value) in std::mem::take(&mut entry.env) {
                let text = match value {
                    Value::String(text) => text,
                    Value::Number(number) => number.to_string(),
                    Value::Bool(flag) => flag.to_string(),
                    Value::Null | Value::Array(_) | Value::Object(_) => {
                        return Err(format!("env `{name}` must be a text"));
                    }
                };
                env.insert(name, text);
            }
            let args = std::mem::take(&mut entry.args);
            let cwd = entry.cwd.take();
            let stdio = StdioTransport { command, args, env, cwd, inherit_env: false };
            Ok((Transport::Stdio(stdio), entry))
        }
        (None, Some(_)) if entry.kind.as_deref() == Some("sse") => Err(
            "the older HTTP+SSE transport is not supported; use the server's Streamable HTTP URL"
                .to_owned(),
        ),
        (None, Some(url)) => {
            let headers = std::mem::take(&mut entry.headers);
            Ok((Transport::Http(HttpTransport { url, headers }), entry))
        }
        (Some(_), Some(_)) => Err("it has both `command` and `url`; keep one".to_owned()),
        (Some(_) | None, None) => Err("it needs `command` or `url`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::ServersFile;

    #[test]
    fn good_entries_are_read_beside_bad_ones() {
        let text = r#"{"mcpServers":{
            "good":{"command":"x","env":{"A":"1","N":2}},
            "My Server":{"url":"http://127.0.0.1:9/mcp"},
            "COFFER":{"command":"x"},
            "both":{"command":"x","url":"y"},
            "none":{},
            "odd":{"command":["x"]},
            "old":{"type":"sse","url":"http://127.0.0.1:9/sse"}}}"#;
        let file = ServersFile::parse(text).unwrap();
        let names: Vec<&str> = file.servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["my-server", "good"]);
        assert_eq!(file.servers[0].display_name.as_deref(), Some("My Server"));
        assert_eq!(file.refused.len(), 5, "{:?}", file.refused);
        assert!(
            file.refused.iter().any(|line| line.contains("COFFER") && line.contains("reserved"))
        );
    }

    #[test]
    fn a_file_that_is_no_such_file_says_where_it_goes_wrong() {
        let error = ServersFile::parse("{\n  \"mcpServers\": {,}\n}").unwrap_err();
        assert_eq!(error, "is no JSON object: error in line 2, column 18");
        assert!(ServersFile::parse("{}").unwrap_err().contains("mcpServers"));
    }
}

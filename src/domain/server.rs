//! A registered server: how it is reached and what the user decided about it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::expansion::{ExpandError, Variables, expand};
use super::names::ServerName;
use super::secret::{
    Masker, secret_arguments, secrets_of_url, shown_arguments, shown_url, shown_value,
};

/// Name of an environment variable.
pub type Variable = String;

/// Name of an HTTP header.
pub type Header = String;

/// An upstream MCP server as the user registered it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Server {
    /// Its name, the first part of every exposed name.
    pub name: ServerName,
    /// Its name in the file it came from, where that was no legal name.
    pub display_name: Option<String>,
    /// How it is reached.
    pub transport: Transport,
    /// Whether the user wants it at all.
    pub is_enabled: bool,
    /// Whether each client gets a process or session of its own.
    pub is_per_client: bool,
    /// Categories, in alphabetical order.
    pub tags: Vec<String>,
    /// Time allowed from start to the end of the handshake, when not the default.
    pub start_timeout: Option<Duration>,
}

/// How a server is reached. Values may hold `${VAR}` references.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Transport {
    /// A child process that speaks MCP on its standard input and output.
    Stdio(StdioTransport),
    /// A Streamable HTTP endpoint.
    Http(HttpTransport),
}

/// Settings of a child process.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct StdioTransport {
    /// The program, looked up in `PATH` unless it holds a slash.
    pub command: String,
    /// Its arguments, each passed as it is; no shell is involved.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables beside the minimal environment.
    #[serde(default)]
    pub env: BTreeMap<Variable, String>,
    /// Working directory; the gateway's own when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Whether the child sees all of the gateway's environment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inherit_env: bool,
}

/// Settings of an HTTP endpoint.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct HttpTransport {
    /// The endpoint, `http://` or `https://`.
    pub url: String,
    /// Headers sent with each request.
    #[serde(default)]
    pub headers: BTreeMap<Header, String>,
}

impl Transport {
    /// The settings with every reference replaced by its value.
    pub fn expanded(&self, variables: Variables<'_>) -> Result<Self, ExpandError> {
        match self {
            Self::Stdio(stdio) => stdio.expanded(variables).map(Self::Stdio),
            Self::Http(http) => http.expanded(variables).map(Self::Http),
        }
    }

    /// The settings as they may be shown: secrets masked, references kept.
    #[must_use]
    pub fn shown(&self) -> Self {
        match self {
            Self::Stdio(stdio) => Self::Stdio(StdioTransport {
                args: shown_arguments(&stdio.args),
                env: shown_values(&stdio.env),
                ..stdio.clone()
            }),
            Self::Http(http) => Self::Http(HttpTransport {
                url: shown_url(&http.url),
                headers: shown_values(&http.headers),
            }),
        }
    }

    /// Masks what these settings hold as secrets. To be made from expanded settings.
    pub fn masker(&self) -> Masker {
        match self {
            Self::Stdio(stdio) => {
                Masker::new(stdio.env.values().cloned().chain(secret_arguments(&stdio.args)))
            }
            Self::Http(http) => {
                let headers = http.headers.values().flat_map(|value| {
                    // A server that repeats a credential seldom repeats its scheme.
                    let credential = value.split_once(' ').map(|(_, rest)| rest.to_owned());
                    credential.into_iter().chain([value.clone()])
                });
                Masker::new(headers.chain(secrets_of_url(&http.url)))
            }
        }
    }

    /// `stdio` or `http`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Http(_) => "http",
        }
    }
}

impl StdioTransport {
    fn expanded(&self, variables: Variables<'_>) -> Result<Self, ExpandError> {
        let args: Result<Vec<String>, ExpandError> = self
            .args
            .iter()
            .enumerate()
            .map(|(position, text)| expand(&format!("argument {}", position + 1), text, variables))
            .collect();
        Ok(Self {
            command: expand("command", &self.command, variables)?,
            args: args?,
            env: expanded_values("env", &self.env, variables)?,
            cwd: self.cwd.as_ref().map(|cwd| expand("cwd", cwd, variables)).transpose()?,
            inherit_env: self.inherit_env,
        })
    }
}

impl HttpTransport {
    fn expanded(&self, variables: Variables<'_>) -> Result<Self, ExpandError> {
        Ok(Self {
            url: expand("url", &self.url, variables)?,
            headers: expanded_values("header", &self.headers, variables)?,
        })
    }
}

fn expanded_values(
    field: &str,
    values: &BTreeMap<String, String>,
    variables: Variables<'_>,
) -> Result<BTreeMap<String, String>, ExpandError> {
    let expand_one = |(name, text): (&String, &String)| {
        let value = expand(&format!("{field} `{name}`"), text, variables)?;
        Ok((name.clone(), value))
    };
    values.iter().map(expand_one).collect()
}

fn shown_values(values: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    values.iter().map(|(name, value)| (name.clone(), shown_value(value))).collect()
}

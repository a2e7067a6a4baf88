//! `coffer add`

use std::collections::BTreeMap;
use std::time::Duration;

use super::arguments::AddArguments;
use super::context::Context;
use super::error::{CliError, Kind};
use super::{output, test};
use crate::domain::{HttpTransport, Server, ServerName, StdioTransport, Transport};
use crate::sys::now_ms;

pub(super) fn run(context: &Context, arguments: AddArguments) -> Result<(), CliError> {
    let (is_lazy, is_json) = (arguments.no_connect, arguments.json);
    let server = server(arguments)?;
    let name = server.name.to_string();
    if !context.database()?.add_server(&server, now_ms())? {
        return Err(CliError::new(Kind::Exists, format!("a server is called `{name}` already"))
            .hint(format!("`coffer show {name}` shows it; `coffer remove {name}` makes room")));
    }
    if is_lazy && is_json {
        return output::json(&serde_json::json!({ "server": name, "connected": false }));
    }
    if is_lazy {
        output::note(&format!("registered `{name}`"));
        return Ok(());
    }
    let report = test::connect(context, &server.name)?;
    if is_json {
        return output::json(&report);
    }
    match &report.error {
        None => {
            output::line(&format!("registered `{name}` with {} tools", report.tools.len()));
            test::print_tools(&report);
        }
        Some(error) => {
            output::line(&format!("registered `{name}`, but it cannot be reached: it {error}"));
            test::print_output(&report);
            output::note(&format!("`coffer test {name}` tries again once that is mended"));
        }
    }
    Ok(())
}

fn server(arguments: AddArguments) -> Result<Server, CliError> {
    let name: ServerName = arguments.name.parse()?;
    let transport = match (arguments.url, arguments.command.split_first()) {
        (Some(url), None) => Transport::Http(http(url, &arguments.header)?),
        (None, Some((command, args))) if !command.trim().is_empty() => {
            Transport::Stdio(StdioTransport {
                command: command.clone(),
                args: args.to_vec(),
                env: environment(&arguments.env)?,
                cwd: arguments.cwd,
                inherit_env: arguments.inherit_env,
            })
        }
        (Some(_), Some(_)) | (None, Some(_) | None) => {
            return Err(CliError::new(Kind::Invalid, "a server needs a command or a URL").hint(
                format!("`coffer add {name} -- COMMAND ARGS…` or `coffer add {name} --url URL`"),
            ));
        }
    };
    let mut tags = arguments.tag;
    tags.sort_unstable();
    tags.dedup();
    Ok(Server {
        name,
        display_name: None,
        transport,
        is_enabled: true,
        is_per_client: arguments.per_client,
        tags,
        start_timeout: arguments
            .start_timeout
            .map(|seconds| Duration::from_secs(u64::from(seconds))),
    })
}

fn http(url: String, headers: &[String]) -> Result<HttpTransport, CliError> {
    let is_http =
        url.starts_with("http://") || url.starts_with("https://") || url.starts_with("${");
    if !is_http {
        let message = "the URL must begin with http:// or https://";
        return Err(CliError::new(Kind::Invalid, message));
    }
    let headers: Result<BTreeMap<String, String>, CliError> = headers
        .iter()
        .map(|header| {
            let split = header.split_once('=').or_else(|| header.split_once(':'));
            let (name, value) = split.ok_or_else(|| {
                CliError::new(Kind::Invalid, "a header is written as `NAME=VALUE`")
            })?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        })
        .collect();
    Ok(HttpTransport { url, headers: headers? })
}

/// `NAME=VALUE` sets a variable, `NAME` alone refers to the gateway's own.
fn environment(given: &[String]) -> Result<BTreeMap<String, String>, CliError> {
    given
        .iter()
        .map(|item| {
            let (name, value) = match item.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => (item.as_str(), format!("${{{item}}}")),
            };
            if name.is_empty() {
                return Err(CliError::new(Kind::Invalid, "a variable is written as `NAME=VALUE`"));
            }
            Ok((name.to_owned(), value))
        })
        .collect()
}

//! `coffer test` and `coffer refresh`: connects to one server and says how it went.

use serde::Serialize;

use super::context::{Context, runtime};
use super::error::{CliError, Kind};
use super::output;
use crate::app::{Running, Start, Which};
use crate::domain::ServerName;

/// How connecting went.
#[derive(Debug, Serialize)]
pub(super) struct TestReport {
    pub(super) server: String,
    /// Why it cannot be reached.
    pub(super) error: Option<String>,
    pub(super) protocol_version: Option<String>,
    /// The names under which its tools are exposed.
    pub(super) tools: Vec<String>,
    /// What is left out of the lists or doubtful.
    pub(super) remarks: Vec<String>,
    /// The last lines it printed beside its messages, masked.
    pub(super) output: Vec<String>,
}

pub(super) fn run(context: &Context, name: &str, json: bool) -> Result<(), CliError> {
    let name = registered(context, name)?;
    let report = connect(context, &name)?;
    if json {
        output::json(&report)?;
    } else if report.error.is_none() {
        let version = report.protocol_version.as_deref().unwrap_or("of an unknown revision");
        output::line(&format!("`{name}` works: MCP {version}, {} tools", report.tools.len()));
        print_tools(&report);
    } else {
        print_output(&report);
    }
    match report.error {
        Some(error) => {
            Err(CliError::new(Kind::Unavailable, format!("server `{name}`: it {error}")))
        }
        None => Ok(()),
    }
}

pub(super) fn refresh(context: &Context, name: &str) -> Result<(), CliError> {
    let name = registered(context, name)?;
    let before: Vec<String> = exposed(context, &name)?;
    let report = connect(context, &name)?;
    if let Some(error) = report.error {
        return Err(CliError::new(Kind::Unavailable, format!("server `{name}`: it {error}")));
    }
    context.database()?.ask_for_refresh(&name)?;
    let gone = before.iter().filter(|tool| !report.tools.contains(tool)).count();
    let new = report.tools.iter().filter(|tool| !before.contains(tool)).count();
    output::line(&format!("`{name}` has {} tools: {new} new, {gone} gone", report.tools.len()));
    Ok(())
}

/// Starts one server, waits for its tools, and stops it.
pub(super) fn connect(context: &Context, name: &ServerName) -> Result<TestReport, CliError> {
    let config = context.config()?;
    let start = Start {
        config: &config,
        variables: &context.variables,
        ad_hoc: Vec::new(),
        which: Which::One(name.clone()),
    };
    runtime()?.block_on(async {
        let running = Running::start(start)?;
        let upstream = running.gateway.fleet.get(name);
        let mut report = TestReport {
            server: name.to_string(),
            error: Some("is disabled; `coffer enable` switches it on".to_owned()),
            protocol_version: None,
            tools: Vec::new(),
            remarks: Vec::new(),
            output: Vec::new(),
        };
        if let Some(upstream) = upstream {
            let outcome = tokio::select! {
                outcome = upstream.first_outcome() => outcome.map_err(|error| format!("cannot be reached: {error}")),
                () = tokio::time::sleep(config.gateway.start_timeout + config.gateway.list_timeout) => {
                    Err("connects, but does not list its tools in time".to_owned())
                }
            };
            running.gateway.catalog.settled().await;
            let seen = upstream.report();
            report.error = outcome.err();
            report.protocol_version = seen.protocol_version;
            report.output = seen.output;
            let view = running.gateway.catalog.view();
            report.tools = tools_of(&view, name);
            report.remarks = view.remarks.get(name).cloned().unwrap_or_default();
        }
        running.shut_down().await;
        Ok(report)
    })
}

pub(super) fn print_tools(report: &TestReport) {
    for tool in &report.tools {
        output::line(&format!("  {tool}"));
    }
    for remark in &report.remarks {
        output::note(&format!("  note: {remark}"));
    }
}

pub(super) fn print_output(report: &TestReport) {
    if !report.output.is_empty() {
        output::note("the last lines it printed:");
        for line in &report.output {
            output::note(&format!("  {line}"));
        }
    }
}

/// A registered server by its name.
pub(super) fn registered(context: &Context, name: &str) -> Result<ServerName, CliError> {
    let registry = context.database()?.registry()?;
    let known = registry.servers.get_key_value(name).map(|(name, _)| name.clone());
    known.ok_or_else(|| CliError::no_server(name))
}

fn exposed(context: &Context, name: &ServerName) -> Result<Vec<String>, CliError> {
    Ok(tools_of(&context.catalog(&[])?.view(), name))
}

fn tools_of(view: &crate::catalog::View, name: &ServerName) -> Vec<String> {
    view.tools()
        .into_iter()
        .filter(|(_, route)| route.server == *name)
        .map(|(exposed, _)| exposed.to_string())
        .collect()
}

//! `coffer list`

use serde::Serialize;

use super::context::Context;
use super::error::CliError;
use super::output;
use crate::app::kept_catalog;
use crate::catalog::Snapshot;
use crate::domain::Transport;
use crate::storage::ServerState;

#[derive(Serialize)]
struct Row {
    name: String,
    display_name: Option<String>,
    enabled: bool,
    per_client: bool,
    tags: Vec<String>,
    transport: Transport,
    /// Tools that clients see, and the bytes of their definitions.
    tools: usize,
    bytes: usize,
    /// `ok`, `unreachable`, or `unknown` before the first attempt.
    state: &'static str,
    error: Option<String>,
    remarks: Vec<String>,
}

pub(super) fn run(context: &Context, json: bool) -> Result<(), CliError> {
    let database = context.database()?;
    let snapshot = Snapshot::read(&database)?;
    let states = database.states()?;
    let view = kept_catalog(&snapshot, &[]).view();
    let rows: Vec<Row> = snapshot
        .registry
        .servers
        .values()
        .map(|(server, _)| {
            let listed: Vec<usize> = view.listed(&server.name).map(str::len).collect();
            let state = states.get(server.name.as_str());
            Row {
                name: server.name.to_string(),
                display_name: server.display_name.clone(),
                enabled: server.is_enabled,
                per_client: server.is_per_client,
                tags: server.tags.clone(),
                transport: server.transport.shown(),
                tools: listed.len(),
                bytes: listed.iter().sum(),
                state: word(state),
                error: state.and_then(|state| state.error.clone()),
                remarks: view.remarks.get(&server.name).cloned().unwrap_or_default(),
            }
        })
        .collect();
    for reason in &snapshot.registry.unreadable {
        output::note(reason);
    }
    if json {
        return output::json(&rows);
    }
    if rows.is_empty() {
        output::note("no servers are registered; `coffer add NAME -- COMMAND` registers one");
        return Ok(());
    }
    let cells: Vec<Vec<String>> = rows.iter().map(Row::cells).collect();
    output::table(&["NAME", "KIND", "STATE", "TOOLS", "BYTES", "TAGS", "REMARKS"], &cells);
    let (tools, bytes) = rows.iter().fold((0, 0), |(t, b), row| (t + row.tools, b + row.bytes));
    output::line(&format!("{tools} tools, {bytes} bytes of definitions"));
    Ok(())
}

fn word(state: Option<&ServerState>) -> &'static str {
    match state {
        None => "unknown",
        Some(ServerState { error: None, .. }) => "ok",
        Some(ServerState { error: Some(_), .. }) => "unreachable",
    }
}

impl Row {
    fn cells(&self) -> Vec<String> {
        let state = if self.enabled { self.state } else { "disabled" };
        let remarks = match (&self.error, self.remarks.len()) {
            (Some(error), _) if self.enabled => error.clone(),
            (_, 0) => String::new(),
            (_, count) => format!("{count} remarks, see `coffer show {}`", self.name),
        };
        vec![
            self.name.clone(),
            self.transport.kind().to_owned(),
            state.to_owned(),
            self.tools.to_string(),
            self.bytes.to_string(),
            self.tags.join(","),
            remarks,
        ]
    }
}

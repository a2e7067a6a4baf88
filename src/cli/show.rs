//! `coffer show`

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::context::{Context, runtime};
use super::error::{CliError, Kind};
use super::output;
use crate::app::{GatewayFile, kept_catalog};
use crate::catalog::{Snapshot, View};
use crate::config::Config;
use crate::domain::{Server, Transport};
use crate::sys::prepare_tls;

/// How long a running gateway may take to say how its servers are.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Serialize)]
struct Shown {
    name: String,
    display_name: Option<String>,
    enabled: bool,
    per_client: bool,
    tags: Vec<String>,
    transport: Transport,
    start_timeout_seconds: Option<u64>,
    error: Option<String>,
    instructions: Option<String>,
    tools: Vec<ShownTool>,
    remarks: Vec<String>,
    /// What a running gateway says of it.
    running: Option<Value>,
}

#[derive(Serialize)]
struct ShownTool {
    name: String,
    original: String,
    enabled: bool,
}

pub(super) fn run(context: &Context, name: &str, json: bool) -> Result<(), CliError> {
    let snapshot = context.snapshot()?;
    let view = kept_catalog(&snapshot, &[]).view();
    match snapshot.registry.servers.get(name) {
        Some((server, _)) => {
            let shown = shown(context, &snapshot, &view, server)?;
            if json { output::json(&shown) } else { print(&shown) }
        }
        None => show_tool(&view, name, json),
    }
}

fn shown(
    context: &Context,
    snapshot: &Snapshot,
    view: &View,
    server: &Server,
) -> Result<Shown, CliError> {
    let name = &server.name;
    let states = context.database()?.states()?;
    let manifest = snapshot.manifests.get(name).map(|stored| &stored.manifest);
    let tools = view.tools().into_iter().filter(|(_, route)| route.server == *name);
    Ok(Shown {
        name: name.to_string(),
        display_name: server.display_name.clone(),
        enabled: server.is_enabled,
        per_client: server.is_per_client,
        tags: server.tags.clone(),
        transport: server.transport.shown(),
        start_timeout_seconds: server.start_timeout.map(|timeout| timeout.as_secs()),
        error: states.get(name.as_str()).and_then(|state| state.error.clone()),
        instructions: manifest.and_then(|manifest| manifest.instructions.clone()),
        tools: tools
            .map(|(exposed, route)| ShownTool {
                name: exposed.to_string(),
                original: route.original.clone(),
                enabled: route.is_enabled(),
            })
            .collect(),
        remarks: view.remarks.get(name).cloned().unwrap_or_default(),
        running: running(&context.config()?, name.as_str()),
    })
}

fn print(shown: &Shown) -> Result<(), CliError> {
    let state = if shown.enabled { "enabled" } else { "disabled" };
    output::line(&format!("{} ({state})", shown.name));
    if let Some(display) = &shown.display_name {
        output::line(&format!("  called `{display}` where it came from"));
    }
    match &shown.transport {
        Transport::Stdio(stdio) => {
            output::line(&format!("  command  {} {}", stdio.command, stdio.args.join(" ")));
            for (name, value) in &stdio.env {
                output::line(&format!("  env      {name}={value}"));
            }
        }
        Transport::Http(http) => {
            output::line(&format!("  url      {}", http.url));
            for (name, value) in &http.headers {
                output::line(&format!("  header   {name}: {value}"));
            }
        }
    }
    if !shown.tags.is_empty() {
        output::line(&format!("  tags     {}", shown.tags.join(", ")));
    }
    if let Some(error) = &shown.error {
        output::line(&format!("  error    {error}"));
    }
    if let Some(running) = &shown.running {
        let text = |member: &str| running[member].to_string();
        output::line(&format!(
            "  running  {}, pid {}",
            text("phase").trim_matches('"'),
            text("pid")
        ));
        for line in running["output"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            output::line(&format!("    | {line}"));
        }
    }
    output::line(&format!("  tools    {}", shown.tools.len()));
    for tool in &shown.tools {
        let off = if tool.enabled { "" } else { "  (disabled)" };
        let original = if tool.name.ends_with(&format!("__{}", tool.original)) {
            String::new()
        } else {
            format!("  (its own name: {})", tool.original)
        };
        output::line(&format!("    {}{original}{off}", tool.name));
    }
    for remark in &shown.remarks {
        output::line(&format!("  note     {remark}"));
    }
    Ok(())
}

fn show_tool(view: &View, name: &str, json: bool) -> Result<(), CliError> {
    let Some(route) = view.tool(name) else {
        let resembling = view.resembling(name);
        let error = CliError::new(Kind::NotFound, format!("no server or tool is called `{name}`"));
        return Err(match resembling.first() {
            Some(nearest) => error.hint(format!("did you mean `{nearest}`?")),
            None => error.hint("`coffer tools` shows all tools"),
        });
    };
    let definition = view
        .listed(&route.server)
        .find(|text| names_tool(text, name))
        .and_then(|text| serde_json::from_str::<Value>(text).ok());
    let shown = serde_json::json!({
        "name": name,
        "server": route.server,
        "original": route.original,
        "enabled": route.is_enabled(),
        "definition": definition
    });
    if json {
        return output::json(&shown);
    }
    output::line(&format!("{name} ({})", if route.is_enabled() { "enabled" } else { "disabled" }));
    output::line(&format!("  server    {}", route.server));
    output::line(&format!("  its name  {}", route.original));
    if let Some(definition) = definition {
        output::line(&serde_json::to_string_pretty(&definition)?);
    }
    Ok(())
}

fn names_tool(definition: &str, name: &str) -> bool {
    serde_json::from_str::<Value>(definition).is_ok_and(|tool| tool["name"] == name)
}

/// What the running gateway says of a server, if there is one.
fn running(config: &Config, name: &str) -> Option<Value> {
    let file = std::fs::read(config.folders.gateway()).ok()?;
    let file: GatewayFile = serde_json::from_slice(&file).ok()?;
    let token = std::fs::read_to_string(config.folders.token()).unwrap_or_default();
    prepare_tls();
    runtime().ok()?.block_on(async {
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().ok()?;
        let request = client.get(format!("http://{}/api/servers", file.address));
        let response = request.bearer_auth(token.trim()).send().await.ok()?;
        let servers: Value = serde_json::from_slice(&response.bytes().await.ok()?).ok()?;
        servers.as_array()?.iter().find(|server| server["name"] == name).cloned()
    })
}

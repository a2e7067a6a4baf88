//! `coffer tools`

use serde_json::{Value, json};

use super::arguments::{ToolFormat, ToolsArguments};
use super::context::Context;
use super::error::{CliError, Kind};
use super::output;

/// Characters of a description in the plain listing.
const DESCRIPTION_WIDTH: usize = 80;

pub(super) fn run(context: &Context, arguments: &ToolsArguments) -> Result<(), CliError> {
    let catalog = context.catalog(&[])?;
    let view = catalog.view();
    let servers = catalog.servers();
    if let Some(name) = &arguments.server
        && !servers.iter().any(|known| known.server.name.as_str() == name)
    {
        return Err(CliError::no_server(name));
    }
    let chosen = servers.iter().filter(|known| {
        let server = &known.server;
        arguments.server.as_ref().is_none_or(|name| server.name.as_str() == name)
            && arguments.tag.as_ref().is_none_or(|tag| server.tags.contains(tag))
    });
    let definitions: Vec<(Value, &[String])> = chosen
        .flat_map(|known| {
            let tags = known.server.tags.as_slice();
            view.listed(&known.server.name)
                .filter_map(move |text| Some((serde_json::from_str(text).ok()?, tags)))
        })
        .collect();
    let format = arguments.format.or_else(|| arguments.json.then_some(ToolFormat::Mcp));
    if let Some(format) = format {
        let shaped: Vec<Value> =
            definitions.into_iter().map(|(tool, _)| shaped(tool, format)).collect();
        return output::json(&shaped);
    }
    if definitions.is_empty() {
        output::note("no tools; `coffer list` shows the servers and why");
    }
    let rows: Vec<Vec<String>> = definitions
        .iter()
        .map(|(tool, tags)| {
            let text = |member: &str| tool[member].as_str().unwrap_or_default().to_owned();
            let line = text("description").lines().next().unwrap_or_default().trim().to_owned();
            let short: String = line.chars().take(DESCRIPTION_WIDTH).collect();
            vec![text("name"), tags.join(","), short]
        })
        .collect();
    if !rows.is_empty() {
        output::table(&["NAME", "TAGS", "DESCRIPTION"], &rows);
    }
    Ok(())
}

/// A definition in the shape of a model API.
fn shaped(tool: Value, format: ToolFormat) -> Value {
    let (name, description) = (&tool["name"], tool["description"].as_str().unwrap_or_default());
    let schema = &tool["inputSchema"];
    match format {
        ToolFormat::Mcp => tool,
        ToolFormat::Openai => json!({
            "type": "function",
            "function": { "name": name, "description": description, "parameters": schema }
        }),
        ToolFormat::Anthropic => {
            json!({ "name": name, "description": description, "input_schema": schema })
        }
    }
}

impl From<serde_json::Error> for CliError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(Kind::Unexpected, error.to_string())
    }
}

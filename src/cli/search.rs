//! `coffer search`

use serde_json::{Map, Value, json};

use super::arguments::SearchArguments;
use super::context::Context;
use super::error::{CliError, Kind};
use super::output;
use crate::gateway::search_kept;

/// Characters of a description in the plain listing.
const DESCRIPTION_WIDTH: usize = 80;

pub(super) fn run(context: &Context, arguments: SearchArguments) -> Result<(), CliError> {
    let view = context.catalog(&[])?.view();
    let mut given = Map::new();
    given.insert("query".to_owned(), Value::from(arguments.query.join(" ")));
    given.insert("top_k".to_owned(), Value::from(arguments.top_k));
    given.insert("servers".to_owned(), json!(arguments.server));
    given.insert("tags".to_owned(), json!(arguments.tag));
    let answer =
        search_kept(&view, &given).map_err(|sentence| CliError::new(Kind::Invalid, sentence))?;
    if arguments.json {
        output::raw(&answer);
        return Ok(());
    }
    let answer: Value = serde_json::from_str(&answer)?;
    let rows: Vec<Vec<String>> = answer["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|tool| {
            let text = |member: &str| tool[member].as_str().unwrap_or_default();
            let line = text("description").lines().next().unwrap_or_default();
            let short: String = line.chars().take(DESCRIPTION_WIDTH).collect();
            vec![text("name").to_owned(), tool["score"].to_string(), short]
        })
        .collect();
    if !rows.is_empty() {
        output::table(&["NAME", "SCORE", "DESCRIPTION"], &rows);
    }
    let confidence = answer["confidence"].as_str().unwrap_or_default();
    let searched = &answer["total_searched"];
    output::note(&format!("confidence {confidence}, {searched} tools searched"));
    for notice in answer["notices"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        output::note(notice);
    }
    Ok(())
}

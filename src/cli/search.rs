//! `coffer search`

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::arguments::SearchArguments;
use super::context::Context;
use super::error::{CliError, Kind};
use super::{index, output};
use crate::catalog::{Catalog, Meaning};
use crate::gateway::KeptSearch;
use crate::search::Arms;

/// Characters of a description in the plain listing.
const DESCRIPTION_WIDTH: usize = 80;

pub(super) fn run(context: &Context, arguments: SearchArguments) -> Result<(), CliError> {
    let catalog = context.catalog(&[])?;
    let mut given = Map::new();
    given.insert("query".to_owned(), Value::from(arguments.query.join(" ")));
    given.insert("top_k".to_owned(), Value::from(arguments.top_k));
    given.insert("servers".to_owned(), json!(arguments.server));
    given.insert("tags".to_owned(), json!(arguments.tag));
    let search =
        KeptSearch::read(&given).map_err(|sentence| CliError::new(Kind::Invalid, sentence))?;
    let (arms, reason) = arms(context, &arguments.ranker, (&catalog, search.query()))?;
    let answer = search.answer(&catalog.view(), arms, reason);
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
            let last = if arguments.explain { text("why").to_owned() } else { short };
            vec![text("name").to_owned(), tool["score"].to_string(), last]
        })
        .collect();
    if !rows.is_empty() {
        let last = if arguments.explain { "WHY" } else { "DESCRIPTION" };
        output::table(&["NAME", "SCORE", last], &rows);
    }
    let text = |member: &str| answer[member].as_str().unwrap_or_default();
    let searched = &answer["total_searched"];
    output::note(&format!(
        "confidence {}, {searched} tools searched, ranked by {}",
        text("confidence"),
        match text("ranker") {
            "hybrid" => "keyword and meaning",
            "vector" => "meaning alone",
            _ => "keyword alone",
        }
    ));
    if let Some(reason) = answer["ranker_reason"].as_str() {
        output::note(reason);
    }
    for notice in answer["notices"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        output::note(notice);
    }
    Ok(())
}

/// What ranks, and why meaning does not take part although it was asked for.
fn arms(
    context: &Context,
    ranker: &str,
    (catalog, query): (&Arc<Catalog>, &str),
) -> Result<(Arms<Meaning>, Option<String>), CliError> {
    let is_alone = match ranker {
        "bm25" => return Ok((Arms::Keyword, None)),
        "hybrid" => false,
        "vector" => true,
        _ => {
            return Err(CliError::new(Kind::Invalid, format!("no ranker is called `{ranker}`"))
                .hint("there are: hybrid, bm25, vector"));
        }
    };
    match index::meaning(context, catalog, query)? {
        Ok(meaning) if is_alone => Ok((Arms::Vector(meaning), None)),
        Ok(meaning) => Ok((Arms::Both(meaning), None)),
        Err(reason) if is_alone => Err(CliError::new(Kind::Unavailable, reason)
            .hint("`coffer model install` installs the model; `--ranker bm25` needs none")),
        Err(reason) => Ok((Arms::Keyword, Some(reason))),
    }
}

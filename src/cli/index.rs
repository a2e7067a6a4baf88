//! `coffer index`, and search by meaning for a single command.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::arguments::IndexCommand;
use super::context::{Context, runtime};
use super::error::{CliError, Kind};
use super::model::LONGEST_LOADING;
use super::output::{self, Bar};
use crate::app::{open_database, vector_arm};
use crate::catalog::{Catalog, Effort, Indexer, Meaning, VectorError, VectorStore, Wanted};
use crate::domain::TextDigest;
use crate::embedding::ModelState;

/// Texts that a search embeds before it answers; a gateway does more in the
/// background.
const MOST_BEFORE_A_SEARCH: usize = 64;

pub(super) fn run(context: &Context, command: &IndexCommand) -> Result<(), CliError> {
    match command {
        IndexCommand::Status { json } => status(context, *json),
        IndexCommand::Rebuild => rebuild(context),
    }
}

/// A query's meaning with the kept vectors of `catalog`; the error says why there is
/// none.
pub(super) fn meaning(
    context: &Context,
    catalog: &Arc<Catalog>,
    query: &str,
) -> Result<Result<Meaning, String>, CliError> {
    let config = context.config()?;
    let (arm, wake) = vector_arm(&config)?;
    arm.worker().settled_model(LONGEST_LOADING);
    let mut indexer = Indexer::new(catalog.clone(), arm.clone(), open_database(&config)?, wake);
    let meaning = match indexer.update(Effort::AtMost(MOST_BEFORE_A_SEARCH)) {
        Ok(()) => runtime()?.block_on(arm.embed(query)),
        Err(VectorError::Unavailable(reason)) => Err(reason),
        Err(VectorError::Storage(error)) => return Err(error.into()),
    };
    arm.worker().stop();
    Ok(meaning)
}

#[derive(Debug, Serialize)]
struct IndexStatus {
    ready: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    tools: usize,
    texts: usize,
    vectors: usize,
    missing: usize,
    generation: i64,
    rebuild_unfinished: bool,
    bytes: u64,
}

fn status(context: &Context, json: bool) -> Result<(), CliError> {
    let config = context.config()?;
    let mut database = open_database(&config)?;
    let view = context.catalog(&[])?.view();
    let tools = view.searched();
    let passages: BTreeMap<TextDigest, &str> = view.passages().collect();
    let (arm, _) = vector_arm(&config)?;
    let model = arm.worker().settled_model(LONGEST_LOADING);
    let mut status = IndexStatus {
        ready: false,
        reason: None,
        model: None,
        fingerprint: None,
        tools,
        texts: passages.len(),
        vectors: 0,
        missing: passages.len(),
        generation: 0,
        rebuild_unfinished: false,
        bytes: 0,
    };
    match model {
        ModelState::Ready(description) => {
            let store = VectorStore::open(&mut database, arm.worker())?;
            let digests: Vec<TextDigest> = passages.into_keys().collect();
            status.vectors = store.known(&digests)?.len();
            status.missing -= status.vectors;
            status.generation = store.generation();
            status.rebuild_unfinished = store.is_rebuilding();
            status.bytes = store.size()?;
            status.model = Some(description.name.clone());
            status.fingerprint = Some(store.fingerprint().to_string());
            status.ready = true;
        }
        ModelState::Unavailable(reason) => status.reason = Some(reason),
        ModelState::Loading => status.reason = Some("loading the model does not end".to_owned()),
    }
    arm.worker().stop();
    if json {
        return output::json(&status);
    }
    print(&status);
    Ok(())
}

fn print(status: &IndexStatus) {
    let mut rows = vec![vec!["tools".to_owned(), status.tools.to_string()]];
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    match (&status.model, &status.reason) {
        (Some(model), _) => {
            row("model", model.clone());
            row("vectors", format!("{} of {} texts", status.vectors, status.texts));
            row("rebuilds", status.generation.to_string());
            row("size", format!("{:.1} MiB", bytes_as_mib(status.bytes)));
        }
        (None, reason) => {
            row("vectors", "none: search is by keyword".to_owned());
            row("because", reason.clone().unwrap_or_default());
        }
    }
    output::table(&["INDEX", ""], &rows);
    if status.rebuild_unfinished {
        output::note("a rebuild was cut short; `coffer index rebuild` goes on with it");
    } else if status.ready && status.missing > 0 {
        output::note(
            "a running gateway makes the missing vectors in the background; `coffer index rebuild` \
             makes all of them now",
        );
    }
}

fn rebuild(context: &Context) -> Result<(), CliError> {
    let config = context.config()?;
    let mut database = open_database(&config)?;
    let view = context.catalog(&[])?.view();
    let (arm, _) = vector_arm(&config)?;
    if let ModelState::Unavailable(reason) = arm.worker().settled_model(LONGEST_LOADING) {
        return Err(CliError::new(
            Kind::Unavailable,
            format!("there is no model to use: {reason}"),
        )
        .hint("`coffer model install` installs one; without it search is by keyword"));
    }
    let mut store = VectorStore::open(&mut database, arm.worker())?;
    let mut wanted: Vec<Wanted> =
        view.passages().map(|(digest, passage)| store.passage(digest, passage)).collect();
    wanted.extend(store.requests());
    wanted.sort_unstable();
    let bar = Bar::new();
    bar.begin("embedding", u64::try_from(wanted.len()).unwrap_or(u64::MAX));
    let mut shown = 0;
    let rebuilt = store.rebuild(&wanted, &mut |done| {
        bar.advance(u64::try_from(done - shown).unwrap_or_default());
        shown = done;
    });
    bar.finish();
    arm.worker().stop();
    let rebuilt = rebuilt?;
    output::line(&format!(
        "{} texts embedded{}; running gateways take them up by themselves",
        rebuilt.embedded,
        match rebuilt.resumed {
            0 => String::new(),
            resumed => format!(", {resumed} were left of a rebuild that had been cut short"),
        }
    ));
    if rebuilt.failed > 0 {
        output::note(&format!(
            "the model failed at {} texts; their tools are found by keyword",
            rebuilt.failed
        ));
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn bytes_as_mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

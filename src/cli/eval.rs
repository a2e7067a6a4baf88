//! `coffer eval`

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use tokio::time::Instant;

use super::arguments::EvalArguments;
use super::context::Context;
use super::error::{CliError, Kind};
use super::model::LONGEST_LOADING;
use super::output::{self, Bar};
use crate::app::{open_evaluation_database, vector_arm};
use crate::catalog::{CHUNK, VectorStore, Wanted};
use crate::domain::TextDigest;
use crate::embedding::ModelState;
use crate::evaluation::{
    EvaluationReport, EvaluationSet, RankedQuery, Ranker, Recorded, SetReport, SetVectors, compare,
    evaluate, read_sets,
};
use crate::search::Options;

pub(super) fn run(context: &Context, arguments: &EvalArguments) -> Result<(), CliError> {
    let rankers: Result<Vec<Ranker>, CliError> =
        arguments.ranker.iter().map(|name| ranker(name)).collect();
    let rankers = rankers?;
    let folder = arguments.data.clone().map_or_else(own_data, Ok)?;
    let sets = read_sets(&folder, &arguments.set)?;
    let vectors = if rankers.iter().all(|ranker| *ranker == Ranker::Bm25) {
        None
    } else {
        vectors(context, &sets, arguments.backwards)?
    };
    let (report, ranked) = evaluate(&sets, &rankers, &Options::tuned(), vectors.as_ref());
    if let Some(path) = &arguments.out_ranks {
        write_ranks(path, &ranked)?;
    }
    if arguments.json {
        output::json(&report)?;
    } else {
        print(&report);
    }
    if let Some(path) = &arguments.record {
        record(path, &report)?;
    }
    match &arguments.compare {
        Some(path) => compare_with(path, &report),
        None => Ok(()),
    }
}

fn ranker(name: &str) -> Result<Ranker, CliError> {
    Ranker::ALL.into_iter().find(|ranker| ranker.name() == name).ok_or_else(|| {
        CliError::new(Kind::Invalid, format!("no ranker is called `{name}`"))
            .hint("there are: bm25, vector, hybrid")
    })
}

/// The vectors of all that is compared; none, with a note, when there is no model.
/// They are kept apart from those of the user's own tools.
fn vectors(
    context: &Context,
    sets: &[EvaluationSet],
    is_backwards: bool,
) -> Result<Option<SetVectors>, CliError> {
    let config = context.config()?;
    let (arm, _) = vector_arm(&config)?;
    let model = match arm.worker().settled_model(LONGEST_LOADING) {
        ModelState::Ready(description) => description.name.clone(),
        ModelState::Unavailable(reason) => {
            output::note(&format!("bm25 alone is measured: {reason}"));
            return Ok(None);
        }
        ModelState::Loading => {
            output::note("bm25 alone is measured: the model is not loaded within 30 s");
            return Ok(None);
        }
    };
    let mut database = open_evaluation_database(&config)?;
    let mut store = VectorStore::open(&mut database, arm.worker())?;
    let mut wanted = BTreeSet::new();
    for set in sets {
        wanted.extend(set.documents.iter().map(|document| {
            let passage = document.passage();
            store.passage(TextDigest::of(&passage), &passage)
        }));
        wanted.extend(set.queries.iter().map(|query| store.request(&query.query)));
    }
    let mut wanted: Vec<Wanted> = wanted.into_iter().collect();
    if is_backwards {
        wanted.reverse();
    }
    let begin = Instant::now();
    let centre = store.centre()?;
    let bar = Bar::new();
    bar.begin("embedding", u64::try_from(wanted.len()).unwrap_or(u64::MAX));
    let mut made = HashMap::new();
    for chunk in wanted.chunks(CHUNK) {
        made.extend(store.fill(chunk)?);
        bar.advance(u64::try_from(chunk.len()).unwrap_or_default());
    }
    bar.finish();
    let queries = sets.iter().flat_map(|set| &set.queries).filter_map(|query| {
        let vector = made.get(&store.request(&query.query).digest)?;
        Some((query.query.clone(), vector.clone()))
    });
    let (queries, embed_seconds) = (queries.collect(), begin.elapsed().as_secs_f64());
    arm.worker().stop();
    Ok(Some(SetVectors { model, embed_seconds, centre, passages: made, queries }))
}

/// The project's own set: in the working folder, or where the program was built.
fn own_data() -> Result<PathBuf, CliError> {
    let places = [PathBuf::from("evals"), Path::new(env!("CARGO_MANIFEST_DIR")).join("evals")];
    places.into_iter().find(|place| place.join("sets.json").exists()).ok_or_else(|| {
        CliError::new(Kind::NotFound, "the folder `evals` of the project is not here")
            .hint("name a folder with `--data FOLDER`")
    })
}

fn print(report: &EvaluationReport) {
    let header = [
        "SET", "RANKER", "TOOLS", "QUERIES", "OVERLAP", "R@1", "R@5", "MRR", "NDCG", "NONE",
        "MS P95",
    ];
    let mut rows: Vec<Vec<String>> = report.sets.iter().flat_map(rows_of).collect();
    for (ranker, mean) in &report.mean {
        let mut row = vec!["mean".to_owned(), (*ranker).to_owned()];
        row.extend([String::new(), String::new(), String::new()]);
        row.extend([mean.recall_1, mean.recall_5, mean.mrr_10, mean.ndcg_10].map(percent));
        row.extend([String::new(), String::new()]);
        rows.push(row);
    }
    output::table(&header, &rows);
}

fn rows_of(set: &SetReport) -> Vec<Vec<String>> {
    let row = |(ranker, figures): (&&str, &crate::evaluation::RankerReport)| {
        let metrics = figures.metrics;
        let none = figures.none_recognized.unwrap_or(figures.none_mistaken);
        let mut row = vec![
            set.set.clone(),
            (*ranker).to_owned(),
            set.catalogue_tools.to_string(),
            set.queries.to_string(),
            percent(set.word_overlap),
        ];
        row.extend(
            [metrics.recall_1, metrics.recall_5, metrics.mrr_10, metrics.ndcg_10, none]
                .map(percent),
        );
        row.push(format!("{:.2}", figures.query_ms_p95));
        row
    };
    set.rankers.iter().map(row).collect()
}

fn percent(fraction: f64) -> String {
    format!("{:.1}", fraction * 100.0)
}

fn write_ranks(path: &Path, ranked: &[RankedQuery]) -> Result<(), CliError> {
    let mut text = String::new();
    for query in ranked {
        text.push_str(&serde_json::to_string(query)?);
        text.push('\n');
    }
    write(path, &text)
}

fn record(path: &Path, report: &EvaluationReport) -> Result<(), CliError> {
    let mut recorded = Recorded::new();
    for set in &report.sets {
        for (ranker, figures) in &set.rankers {
            let rounded = (figures.figure() * 1e4).round() / 1e4;
            recorded.entry((*ranker).to_owned()).or_default().insert(set.set.clone(), rounded);
        }
    }
    write(path, &(serde_json::to_string_pretty(&recorded)? + "\n"))
}

fn compare_with(path: &Path, report: &EvaluationReport) -> Result<(), CliError> {
    let text = fs::read_to_string(path).map_err(|error| {
        CliError::new(Kind::Invalid, format!("`{}` cannot be read: {error}", path.display()))
    })?;
    let recorded: BTreeMap<_, _> = serde_json::from_str(&text)?;
    let drops = compare(report, &recorded);
    if drops.is_empty() {
        output::note("no set is worse than recorded");
        return Ok(());
    }
    let lines: Vec<String> = drops
        .iter()
        .map(|drop| {
            format!(
                "{} on {}: {:.4} recorded, {:.4} now",
                drop.ranker, drop.set, drop.before, drop.now
            )
        })
        .collect();
    Err(CliError::new(
        Kind::Unexpected,
        format!("the ranking is worse than recorded: {}", lines.join("; ")),
    )
    .hint("mend it, or record the new results with a reason in the commit"))
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    fs::write(path, text).map_err(|error| {
        CliError::new(Kind::Invalid, format!("`{}` cannot be written: {error}", path.display()))
    })
}

//! The sets on disk: `sets.json`, `catalogues/*.jsonl`, `queries/*.jsonl`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;
use thiserror::Error;

use crate::search::Document;

/// Why a set cannot be read.
#[derive(Debug, Error)]
pub enum DataError {
    /// A file cannot be read.
    #[error("`{path}` cannot be read")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A line is not what it should be.
    #[error("`{path}`, line {line}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// A set was asked for that is not there.
    #[error("there is no set `{name}`; there are: {known}")]
    NoSuchSet {
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
}

/// One labelled query.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct Query {
    /// Its id.
    pub id: String,
    /// What is asked.
    pub query: String,
    /// The tools that meet a need.
    pub relevant: Vec<String>,
    /// Needs that any one of several tools meets; without it, each relevant tool is a need.
    #[serde(default)]
    pub groups: Vec<Vec<String>>,
}

impl Query {
    /// The needs, each with the tools that meet it.
    pub fn needs(&self) -> Vec<Vec<&str>> {
        if self.groups.is_empty() {
            return self.relevant.iter().map(|id| vec![id.as_str()]).collect();
        }
        self.groups.iter().map(|group| group.iter().map(String::as_str).collect()).collect()
    }
}

/// Queries over one catalogue.
#[derive(Debug)]
pub struct EvaluationSet {
    /// Its name.
    pub name: String,
    /// The catalogue's name.
    pub catalogue: String,
    /// The tools, in the order of their ids.
    pub documents: std::sync::Arc<Vec<Document>>,
    /// The queries.
    pub queries: Vec<Query>,
}

#[derive(Deserialize)]
struct Tool<'a> {
    #[serde(borrow)]
    server: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    name: std::borrow::Cow<'a, str>,
}

/// Reads the sets in `folder`; all of them when `wanted` is empty.
pub fn read_sets(folder: &Path, wanted: &[String]) -> Result<Vec<EvaluationSet>, DataError> {
    let path = folder.join("sets.json");
    let sets: BTreeMap<String, String> = serde_json::from_str(&read(&path)?)
        .map_err(|source| DataError::Invalid { path, line: 1, source })?;
    if let Some(name) = wanted.iter().find(|name| !sets.contains_key(*name)) {
        let known = sets.keys().cloned().collect::<Vec<_>>().join(", ");
        return Err(DataError::NoSuchSet { name: name.clone(), known });
    }
    let mut catalogues = BTreeMap::new();
    let mut read_in = Vec::new();
    for (name, catalogue) in sets {
        if !wanted.is_empty() && !wanted.contains(&name) {
            continue;
        }
        if !catalogues.contains_key(&catalogue) {
            let path = folder.join("catalogues").join(format!("{catalogue}.jsonl"));
            catalogues.insert(catalogue.clone(), std::sync::Arc::new(documents(&path)?));
        }
        let path = folder.join("queries").join(format!("{name}.jsonl"));
        let text = read(&path)?;
        let queries: Result<Vec<Query>, DataError> =
            lines(&text).map(|(line, text)| parsed(&path, line, text)).collect();
        let documents = catalogues[&catalogue].clone();
        read_in.push(EvaluationSet { name, catalogue, documents, queries: queries? });
    }
    Ok(read_in)
}

/// The tools of a catalogue, with server and tool names as they stand there.
fn documents(path: &Path) -> Result<Vec<Document>, DataError> {
    let text = read(path)?;
    let mut documents = Vec::new();
    for (line, text) in lines(&text) {
        let raw: &RawValue = parsed(path, line, text)?;
        let tool: Tool<'_> = parsed(path, line, text)?;
        let key = format!("{}__{}", tool.server, tool.name);
        documents.push(Document::new(&key, &tool.server, &tool.name, &[], raw.get()));
    }
    documents.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(documents)
}

fn parsed<'a, T: Deserialize<'a>>(path: &Path, line: usize, text: &'a str) -> Result<T, DataError> {
    serde_json::from_str(text).map_err(|source| DataError::Invalid {
        path: path.to_owned(),
        line,
        source,
    })
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line))
        .filter(|(_, line)| !line.trim().is_empty())
}

fn read(path: &Path) -> Result<String, DataError> {
    fs::read_to_string(path)
        .map_err(|source| DataError::Unreadable { path: path.to_owned(), source })
}

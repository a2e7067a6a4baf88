//! What every command begins with: environment, settings, database, runtime.

use std::path::Path;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use super::error::{CliError, Kind};
use super::output;
use crate::app::{kept_catalog, open_database};
use crate::catalog::{Catalog, Snapshot};
use crate::config::{Config, Layer, ServersFile, Variables, own_environment};
use crate::domain::Server;
use crate::storage::Database;
use crate::telemetry;

/// The environment of one command.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) variables: Variables,
}

impl Context {
    pub(super) fn new(log: Option<&str>) -> Self {
        telemetry::start(log);
        Self { variables: own_environment() }
    }

    /// The settings, without flags.
    pub(super) fn config(&self) -> Result<Config, CliError> {
        self.config_with(Layer::default())
    }

    pub(super) fn config_with(&self, flags: Layer) -> Result<Config, CliError> {
        Ok(Config::load(&self.variables, flags)?)
    }

    pub(super) fn database(&self) -> Result<Database, CliError> {
        Ok(open_database(&self.config()?)?)
    }

    /// The kept catalogue, with no server running.
    pub(super) fn catalog(&self, ad_hoc: &[Server]) -> Result<Arc<Catalog>, CliError> {
        Ok(kept_catalog(&self.snapshot()?, ad_hoc))
    }

    pub(super) fn snapshot(&self) -> Result<Snapshot, CliError> {
        Ok(Snapshot::read(&self.database()?)?)
    }
}

/// The servers of an `mcpServers` file, naming its bad entries.
pub(super) fn servers_of(file: Option<&Path>) -> Result<Vec<Server>, CliError> {
    let Some(path) = file else { return Ok(Vec::new()) };
    let file = ServersFile::read(path)?;
    for reason in &file.refused {
        output::note(&format!("left out of `{}`: {reason}", path.display()));
    }
    Ok(file.servers)
}

/// A runtime for what waits. Two workers serve hundreds of connections; more
/// would only make memory.
pub(super) fn runtime() -> Result<Runtime, CliError> {
    Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(8)
        .enable_all()
        .build()
        .map_err(|error| CliError::new(Kind::Unexpected, format!("no runtime: {error}")))
}

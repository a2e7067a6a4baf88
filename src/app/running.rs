//! A gateway that runs, however clients reach it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::registered::join;
use crate::catalog::{
    CallLog, CallLogWriter, Catalog, Changes, Indexer, Keeper, KeeperThread, Snapshot, VectorArm,
    Wake,
};
use crate::config::{Config, Variables};
use crate::domain::{Manifest, Server, ServerName};
use crate::embedding::{EmbedWorker, Installed, ModelStore};
use crate::gateway::{Environment, Fleet, FleetParts, Gateway, definitions};
use crate::search::Options;
use crate::storage::{Database, JournalMode, OpenDatabaseError, StorageError};
use crate::sys::{Guard, create_private_folder, is_on_network};

/// Longest orderly end: every step of stopping a server has a shorter limit.
const LONGEST_END: Duration = Duration::from_secs(15);

/// Why the program cannot start.
#[derive(Debug, Error)]
pub enum AppError {
    /// A folder cannot be made.
    #[error("folder `{path}` cannot be made")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The database cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenDatabaseError),
    /// The database cannot be used.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Something else that the system refused.
    #[error("{what}")]
    System {
        /// What was attempted.
        what: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

/// What a run is to have.
#[derive(Debug)]
pub struct Start<'a> {
    /// The settings.
    pub config: &'a Config,
    /// The environment of this process.
    pub variables: &'a Variables,
    /// Servers of a file, beside the registered ones.
    pub ad_hoc: Vec<Server>,
    /// Which servers run; all are in the catalogue.
    pub which: Which,
}

/// Which servers run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Which {
    /// All that are switched on.
    All,
    /// One, for a single command.
    One(ServerName),
    /// None: the kept catalogue is enough.
    NoServer,
}

/// A running gateway.
#[derive(Debug)]
pub struct Running {
    /// The gateway.
    pub gateway: Arc<Gateway>,
    /// Everything that runs.
    pub tasks: TaskTracker,
    /// Ends everything that runs.
    pub stop: CancellationToken,
    wake: Wake,
    keeper: Keeper,
    keeper_thread: KeeperThread,
    log_writer: CallLogWriter,
}

/// The model's thread, with what wakes the thread that keeps vectors.
pub fn vector_arm(config: &Config) -> Result<(Arc<VectorArm>, Wake), AppError> {
    let store = ModelStore::new(config.folders.models(), config.overrides.clone());
    let source = Installed { store, threads: config.embedding_threads };
    let wake = Wake::default();
    let listener = wake.clone();
    let worker = EmbedWorker::start(source, Box::new(move || listener.changed()))
        .map_err(|source| system("starting the embedding thread", source))?;
    Ok((VectorArm::new(worker), wake))
}

/// Wakes the thread that keeps vectors after each new view.
async fn wake_by(mut changes: watch::Receiver<Changes>, wake: Wake) {
    wake.changed();
    while changes.changed().await.is_ok() {
        wake.changed();
    }
}

/// Opens the database of the data folder, making the folder first.
pub fn open_database(config: &Config) -> Result<Database, AppError> {
    let path = config.folders.database();
    let folder = &config.folders.data;
    create_private_folder(folder)
        .map_err(|source| AppError::Folder { path: folder.clone(), source })?;
    Ok(Database::open(&path, journal(config))?)
}

/// Opens the database that keeps vectors of evaluations: thousands of texts that are
/// no tools of the user.
pub fn open_evaluation_database(config: &Config) -> Result<Database, AppError> {
    let folder = &config.folders.data;
    create_private_folder(folder)
        .map_err(|source| AppError::Folder { path: folder.clone(), source })?;
    Ok(Database::open(&folder.join("evaluation.db"), journal(config))?)
}

fn journal(config: &Config) -> JournalMode {
    if is_on_network(&config.folders.data) {
        tracing::warn!(
            folder = %config.folders.data.display(),
            "the data folder is on a network file system; a rollback journal is used, and COFFER_HOME can name a local folder"
        );
        JournalMode::Rollback
    } else {
        JournalMode::WriteAhead
    }
}

impl Running {
    /// Starts everything: the kept catalogue serves at once, servers start together.
    pub fn start(start: Start<'_>) -> Result<Self, AppError> {
        let config = start.config;
        let (keeper, snapshots, keeper_thread) = Keeper::start(open_database(config)?)?;
        let (log, log_writer) =
            CallLog::start(config.folders.database(), journal(config), config.retention)
                .map_err(|source| system("starting the invocation log", source))?;
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let catalog = Catalog::new(definitions, Options::tuned());
        let (vectors, wake) = vector_arm(config)?;
        Indexer::new(catalog.clone(), vectors.clone(), open_database(config)?, wake.clone())
            .start()?;
        let fleet = Fleet::new(parts(&start, &catalog, keeper.clone(), &tasks));
        let parts = (catalog.clone(), vectors);
        let gateway = Gateway::new(parts, fleet.clone(), log, config.gateway.clone());
        let apply = Apply { gateway: gateway.clone(), ad_hoc: start.ad_hoc, which: start.which };
        let unlisted = apply.now(&snapshots.borrow());
        catalog.rebuild();
        let changes = catalog.changes();
        let building = catalog.keep_building();
        let until = stop.clone();
        tasks.spawn(async move { until.run_until_cancelled(building).await });
        let (until, waking) = (stop.clone(), wake_by(changes, wake.clone()));
        tasks.spawn(async move { until.run_until_cancelled(waking).await });
        let unlisted = unlisted.iter().filter_map(|name| fleet.get(name)).collect();
        gateway.open_after(unlisted, &tasks);
        gateway.spread_news(&tasks, stop.clone());
        let until = stop.clone();
        tasks.spawn(async move { until.run_until_cancelled(apply.follow(snapshots)).await });
        Ok(Self { gateway, tasks, stop, wake, keeper, keeper_thread, log_writer })
    }

    /// Ends everything in order: clients, servers with all that they started, then
    /// the threads that write.
    pub async fn shut_down(self) {
        self.stop.cancel();
        for session in self.gateway.sessions() {
            self.gateway.leave(&session);
        }
        self.gateway.fleet.stop();
        self.tasks.close();
        if tokio::time::timeout(LONGEST_END, self.tasks.wait()).await.is_err() {
            tracing::error!("something did not end in time; the guard ends what is left of it");
        }
        // Connections of clients may still hold the gateway.
        self.wake.stop();
        self.gateway.vectors.worker().stop();
        self.keeper.stop();
        self.gateway.log.close();
        let Self { keeper_thread, log_writer, .. } = self;
        let joined = tokio::task::spawn_blocking(move || {
            keeper_thread.join();
            log_writer.join();
        });
        if let Err(error) = joined.await {
            tracing::error!(%error, "the writing threads did not end in order");
        }
    }
}

fn parts(
    start: &Start<'_>,
    catalog: &Arc<Catalog>,
    keeper: Keeper,
    tasks: &TaskTracker,
) -> FleetParts {
    let guard = Guard::start()
        .inspect_err(|error| {
            tracing::warn!(%error, "no guard process; children may outlive a killed gateway");
        })
        .ok()
        .map(Arc::new);
    let settings = start.config.gateway.clone();
    let (offers, states, catalog) = (keeper.clone(), keeper, catalog.clone());
    FleetParts {
        starts: Arc::new(Semaphore::new(settings.parallel_starts)),
        settings,
        environment: Environment::new(start.variables.all()),
        guard,
        tasks: tasks.clone(),
        on_manifest: Arc::new(move |server: &ServerName, manifest: Manifest| {
            let manifest = Arc::new(manifest);
            catalog.offer(server, manifest.clone());
            offers.manifest(server, manifest);
        }),
        on_state: Arc::new(move |server: &ServerName, error: Option<String>| {
            states.state(server, error);
        }),
    }
}

/// Carries decisions of the user into the running parts.
struct Apply {
    gateway: Arc<Gateway>,
    ad_hoc: Vec<Server>,
    which: Which,
}

impl Apply {
    /// Applies a snapshot; returns the servers that have no manifest yet.
    fn now(&self, snapshot: &Snapshot) -> Vec<ServerName> {
        let known = join(snapshot, &self.ad_hoc);
        let running: Vec<Arc<Server>> = known
            .iter()
            .map(|known| known.server.clone())
            .filter(|server| match &self.which {
                Which::All => true,
                Which::One(name) => *name == server.name,
                Which::NoServer => false,
            })
            .collect();
        let unlisted = known
            .iter()
            .filter(|known| known.server.is_enabled && *known.manifest == Manifest::default())
            .map(|known| known.server.name.clone())
            .collect();
        self.gateway.catalog.set_servers(known);
        self.gateway.fleet.set_servers(&running);
        unlisted
    }

    /// Follows the registry.
    async fn follow(self, mut snapshots: watch::Receiver<Snapshot>) {
        let refreshes = |snapshot: &Snapshot| -> BTreeMap<ServerName, i64> {
            let servers = snapshot.registry.servers.iter();
            servers.map(|(name, (_, refreshes))| (name.clone(), *refreshes)).collect()
        };
        let mut before = refreshes(&snapshots.borrow());
        while snapshots.changed().await.is_ok() {
            let snapshot = snapshots.borrow_and_update().clone();
            self.now(&snapshot);
            let now = refreshes(&snapshot);
            for (name, asked) in &now {
                if before.get(name).is_some_and(|before| before < asked)
                    && let Some(upstream) = self.gateway.fleet.get(name)
                {
                    upstream.refresh();
                }
            }
            before = now;
        }
    }
}

pub(super) fn system(what: &str, source: std::io::Error) -> AppError {
    AppError::System { what: what.to_owned(), source }
}

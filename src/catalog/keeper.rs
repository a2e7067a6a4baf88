//! The thread between the gateway and the registry on disk: it keeps what
//! servers offer, and sees what other processes decide.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::watch;

use crate::domain::{Manifest, ServerName};
use crate::storage::{Database, Registry, ServerState, StorageError, StoredManifest};
use crate::sys::now_ms;

/// How soon a decision made by another process is seen.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Longest wait for another process's write lock: what is kept here is offered again.
const PATIENCE: Duration = Duration::from_secs(1);

/// The registry with the manifests that belong to it.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// What the user decided.
    pub registry: Registry,
    /// What servers offered when last listed.
    pub manifests: BTreeMap<ServerName, StoredManifest>,
}

impl Snapshot {
    /// Reads the registry as it is now.
    pub fn read(database: &Database) -> Result<Self, StorageError> {
        let registry = database.registry()?;
        for reason in &registry.unreadable {
            tracing::warn!("{reason}");
        }
        Ok(Self { registry, manifests: database.manifests()? })
    }
}

/// Hands things to the thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Keeper(Sender<Keep>);

/// The thread; to be joined after [`Keeper::stop`].
#[derive(Debug)]
pub struct KeeperThread(JoinHandle<()>);

#[derive(Debug)]
enum Keep {
    Manifest(ServerName, Arc<Manifest>),
    State(ServerName, ServerState),
    Stop,
}

impl Keeper {
    /// Starts the thread on `database`. The receiver holds the newest registry.
    pub fn start(
        database: Database,
    ) -> Result<(Self, watch::Receiver<Snapshot>, KeeperThread), StorageError> {
        database.wait_at_most(PATIENCE)?;
        let snapshot = Snapshot::read(&database)?;
        let (sender, keeps) = channel();
        let (snapshots, newest) = watch::channel(snapshot);
        let thread = std::thread::Builder::new()
            .name("registry".to_owned())
            .spawn(move || run(database, &keeps, &snapshots))
            .map_err(StorageError::Thread)?;
        Ok((Self(sender), newest, KeeperThread(thread)))
    }

    /// Keeps what a server offers.
    pub fn manifest(&self, server: &ServerName, manifest: Arc<Manifest>) {
        let _over = self.0.send(Keep::Manifest(server.clone(), manifest));
    }

    /// Keeps how an attempt to reach a server ended.
    pub fn state(&self, server: &ServerName, error: Option<String>) {
        let state = ServerState { at_ms: now_ms(), error };
        let _over = self.0.send(Keep::State(server.clone(), state));
    }
}

impl Keeper {
    /// Ends the thread once everything handed over before is kept.
    pub fn stop(&self) {
        let _over = self.0.send(Keep::Stop);
    }
}

impl KeeperThread {
    /// Waits until everything is kept.
    pub fn join(self) {
        if self.0.join().is_err() {
            tracing::error!("the registry thread has panicked");
        }
    }
}

fn run(mut database: Database, keeps: &Receiver<Keep>, snapshots: &watch::Sender<Snapshot>) {
    let mut data_version = database.data_version().unwrap_or_default();
    // What could not be kept yet, in order.
    let mut waiting: VecDeque<Keep> = VecDeque::new();
    loop {
        let is_over = match keeps.recv_timeout(LOOK_EVERY) {
            Ok(keep) => {
                waiting.push_back(keep);
                waiting.extend(keeps.try_iter());
                waiting.iter().any(|keep| matches!(keep, Keep::Stop))
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => true,
        };
        while let Some(keep) = waiting.front() {
            if let Err(error) = write(&mut database, keep, snapshots) {
                tracing::warn!(%error, "what servers offer cannot be kept now; tried again");
                break;
            }
            waiting.pop_front();
        }
        if is_over {
            return;
        }
        match database.data_version() {
            Ok(version) if version != data_version => {
                if look(&database, snapshots) {
                    data_version = version;
                }
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "looking for changes of the registry"),
        }
    }
}

/// Reads the registry again when a decision was made; other writes, such as log
/// rows, leave its version alone. `false` when it could not be read.
fn look(database: &Database, snapshots: &watch::Sender<Snapshot>) -> bool {
    let known = snapshots.borrow().registry.version;
    let read = database.registry_version().and_then(|version| {
        if version != known {
            snapshots.send_replace(Snapshot::read(database)?);
        }
        Ok(())
    });
    if let Err(error) = &read {
        tracing::warn!(%error, "reading the registry");
    }
    read.is_ok()
}

fn write(
    database: &mut Database,
    keep: &Keep,
    snapshots: &watch::Sender<Snapshot>,
) -> Result<(), StorageError> {
    match keep {
        Keep::Stop => Ok(()),
        Keep::State(server, state) => database.note_state(server, state),
        Keep::Manifest(server, manifest) => {
            let is_same = snapshots
                .borrow()
                .manifests
                .get(server)
                .is_some_and(|stored| stored.manifest == **manifest);
            if is_same {
                return Ok(());
            }
            let listed_ms = now_ms();
            database.keep_manifest(server, manifest, listed_ms)?;
            // Not news for anybody else, so nobody is woken.
            snapshots.send_if_modified(|snapshot| {
                let manifest = Manifest::clone(manifest);
                snapshot.manifests.insert(server.clone(), StoredManifest { listed_ms, manifest });
                false
            });
            Ok(())
        }
    }
}

//! All upstream servers: started together, stopped together.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::{Connection, Event};
use super::environment::Environment;
use super::error::RequestError;
use super::state::Upstream;
use super::supervise::{Opened, open, supervise};
use crate::domain::{Manifest, Server, ServerName};
use crate::gateway::settings::GatewaySettings;
use crate::sys::Guard;

/// Called with what a server offers.
pub type OnManifest = Arc<dyn Fn(&ServerName, Manifest) + Send + Sync>;

/// Called with how an attempt to reach a server ended: an error, or success.
pub type OnState = Arc<dyn Fn(&ServerName, Option<String>) + Send + Sync>;

/// What every server of a fleet shares.
#[derive(Clone)]
pub struct FleetParts {
    /// Limits.
    pub settings: GatewaySettings,
    /// The gateway's own environment.
    pub environment: Environment,
    /// Ends children when the gateway is killed.
    pub guard: Option<Arc<Guard>>,
    /// Everything that runs.
    pub tasks: TaskTracker,
    /// Turns for starting.
    pub starts: Arc<Semaphore>,
    /// Hears what servers offer.
    pub on_manifest: OnManifest,
    /// Hears how attempts ended.
    pub on_state: OnState,
}

impl fmt::Debug for FleetParts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("FleetParts")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl FleetParts {
    /// How long a server may take to start before it is called unreachable.
    pub(super) fn start_timeout(&self, server: &Server) -> Duration {
        server.start_timeout.unwrap_or(self.settings.start_timeout)
    }
}

/// All servers by name.
#[derive(Debug)]
pub struct Fleet {
    parts: FleetParts,
    running: Mutex<BTreeMap<ServerName, Running>>,
    /// Connections of single sessions, for servers that give each client its own.
    private: Mutex<PrivateTable>,
}

/// Connections by session and server.
type PrivateTable = HashMap<(Arc<str>, ServerName), Arc<Private>>;

/// A connection of one session, opened at first use. Only those who want this one
/// wait while it is opened.
#[derive(Debug, Default)]
struct Private {
    stop: CancellationToken,
    opened: tokio::sync::Mutex<Option<Opened>>,
}

#[derive(Debug)]
struct Running {
    upstream: Arc<Upstream>,
    stop: CancellationToken,
}

impl Fleet {
    /// A fleet without servers.
    pub fn new(parts: FleetParts) -> Arc<Self> {
        let (running, private) = (Mutex::default(), Mutex::default());
        Arc::new(Self { parts, running, private })
    }

    /// Starts what is new, stops what is gone, restarts what has changed, and
    /// leaves the rest alone. Servers that are switched off count as gone.
    pub fn set_servers(&self, servers: &[Arc<Server>]) {
        let wanted: BTreeMap<&ServerName, &Arc<Server>> = servers
            .iter()
            .filter(|server| server.is_enabled)
            .map(|server| (&server.name, server))
            .collect();
        let mut running = self.lock();
        let mut gone = BTreeSet::new();
        running.retain(|name, current| {
            let stays = wanted.get(name).is_some_and(|server| {
                let now = &current.upstream.server;
                now.transport == server.transport
                    && now.start_timeout == server.start_timeout
                    && now.is_per_client == server.is_per_client
            });
            if !stays {
                current.stop.cancel();
                gone.insert(name.clone());
            }
            stays
        });
        self.end_private(|(_, server)| gone.contains(server));
        for (name, server) in wanted {
            running.entry(name.clone()).or_insert_with(|| self.start(server.clone()));
        }
    }

    fn start(&self, server: Arc<Server>) -> Running {
        let upstream = Upstream::new(server);
        let stop = CancellationToken::new();
        self.parts.tasks.spawn(supervise(upstream.clone(), self.parts.clone(), stop.clone()));
        Running { upstream, stop }
    }

    /// A running server.
    pub fn get(&self, name: &ServerName) -> Option<Arc<Upstream>> {
        self.lock().get(name).map(|running| running.upstream.clone())
    }

    /// All running servers, in name order.
    pub fn all(&self) -> Vec<Arc<Upstream>> {
        self.lock().values().map(|running| running.upstream.clone()).collect()
    }

    /// The connection for a call of `session` to `name`.
    pub(in crate::gateway) async fn connection(
        &self,
        name: &ServerName,
        session: &Arc<str>,
    ) -> Result<Arc<Connection>, RequestError> {
        let stopped = || RequestError::Unreachable(super::error::StartError::Stopping);
        let upstream = self.get(name).ok_or_else(stopped)?;
        let limit = self.parts.start_timeout(&upstream.server);
        if upstream.server.is_per_client {
            return self.private_connection(&upstream.server, session).await;
        }
        upstream.connection(limit).await
    }

    /// The session's own connection.
    async fn private_connection(
        &self,
        server: &Server,
        session: &Arc<str>,
    ) -> Result<Arc<Connection>, RequestError> {
        let key = (session.clone(), server.name.clone());
        let private = self.private().entry(key).or_default().clone();
        let mut opened = private.opened.lock().await;
        if let Some(current) = opened.as_mut() {
            let is_over = std::iter::from_fn(|| current.events.try_recv().ok())
                .any(|event| event == Event::Closed);
            if !is_over {
                return Ok(current.connection.clone());
            }
        }
        if let Some(ended) = opened.take() {
            self.parts.tasks.spawn(ended.close());
        }
        let fresh = open(server, &self.parts, &private.stop, |_| {})
            .await
            .map_err(RequestError::Unreachable)?;
        Ok(opened.insert(fresh).connection.clone())
    }

    /// Ends the connections that belong to one session.
    pub fn end_session(&self, session: &Arc<str>) {
        self.end_private(|(owner, _)| owner == session);
    }

    /// Ends private connections, those that are being opened too.
    fn end_private(&self, is_over: impl Fn(&(Arc<str>, ServerName)) -> bool) {
        let mut table = self.private();
        let over: Vec<_> = table.keys().filter(|key| is_over(key)).cloned().collect();
        for private in over.iter().filter_map(|key| table.remove(key)) {
            private.stop.cancel();
            self.parts.tasks.spawn(async move {
                if let Some(opened) = private.opened.lock().await.take() {
                    opened.close().await;
                }
            });
        }
    }

    /// Stops all servers; their tasks end soon after.
    pub fn stop(&self) {
        for running in self.lock().values() {
            running.stop.cancel();
        }
        self.end_private(|_| true);
    }

    fn private(&self) -> MutexGuard<'_, PrivateTable> {
        self.private.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ServerName, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

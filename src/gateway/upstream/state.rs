//! One upstream server: its phase, and the connection that calls use.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout};

use super::connection::Connection;
use super::error::{RequestError, StartError};
use super::ring::Ring;
use crate::domain::{Server, ServerName};

/// A call during a pause wakes the server, unless it was tried this recently.
const LEAST_PAUSE: Duration = Duration::from_secs(1);

/// Where a server stands.
#[derive(Clone, Debug)]
pub enum Phase {
    /// Not started yet, or being started: its process, its handshake.
    Starting,
    /// Connected; the list of its tools may still be on the way.
    Ready {
        /// Whether its tools have been listed on this connection.
        listing: ListingState,
    },
    /// Not reachable; tried again after a pause.
    Waiting {
        /// Why.
        error: StartError,
        /// Failures in a row.
        failures: u32,
    },
    /// Switched off, removed, or the gateway is shutting down.
    Stopped,
}

/// How far the listing of a connected server is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ListingState {
    /// Under way for the first time.
    Pending,
    /// Done.
    Done,
    /// The last attempt failed, for this reason; the last known tools stay.
    Failed(String),
}

impl Phase {
    /// The word for it in answers and listings.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready { listing: ListingState::Done } => "ready",
            Self::Ready { listing: ListingState::Pending } => "listing",
            Self::Ready { listing: ListingState::Failed(_) } => "not listed",
            Self::Waiting { .. } => "unreachable",
            Self::Stopped => "stopped",
        }
    }
}

/// What there is to tell about a running server.
#[derive(Clone, Debug, Serialize)]
pub struct UpstreamReport {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub phase: &'static str,
    /// Why it cannot be reached.
    pub error: Option<String>,
    /// The process, for a stdio server.
    pub pid: Option<i32>,
    /// The revision of the protocol that the handshake agreed on.
    pub protocol_version: Option<String>,
    /// The last lines it printed beside its messages, masked.
    pub output: Vec<String>,
}

/// One server, kept connected by its supervisor.
#[derive(Debug)]
pub struct Upstream {
    pub(super) server: Arc<Server>,
    pub(super) state: watch::Sender<State>,
    /// Rings when a call wants the server now.
    pub(super) wanted: Notify,
    /// Rings when its lists are to be read again.
    pub(super) relist: Notify,
    ring: Mutex<Arc<Ring>>,
}

/// The phase with what belongs to it.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) phase: Phase,
    pub(super) connection: Option<Arc<Connection>>,
    pub(super) pid: Option<i32>,
    /// When the last attempt ended.
    pub(super) since: Instant,
}

impl State {
    /// The connection, unless it has ended and the supervisor does not know it yet.
    fn open_connection(&self) -> Option<Arc<Connection>> {
        self.connection.clone().filter(|connection| connection.is_open())
    }
}

impl Upstream {
    pub(super) fn new(server: Arc<Server>) -> Arc<Self> {
        let state =
            State { phase: Phase::Starting, connection: None, pid: None, since: Instant::now() };
        Arc::new(Self {
            server,
            state: watch::Sender::new(state),
            wanted: Notify::new(),
            relist: Notify::new(),
            ring: Mutex::new(Arc::new(Ring::new(crate::domain::Masker::default()))),
        })
    }

    /// Where it stands.
    pub fn phase(&self) -> Phase {
        self.state.borrow().phase.clone()
    }

    /// The connection, waiting for one that is being made, and asking for one
    /// when the last attempt is not just over.
    pub(in crate::gateway) async fn connection(
        &self,
        limit: Duration,
    ) -> Result<Arc<Connection>, RequestError> {
        let mut state = self.state.subscribe();
        {
            let now = state.borrow_and_update();
            match (now.open_connection(), &now.phase) {
                (Some(connection), _) => return Ok(connection),
                (None, Phase::Waiting { error, failures }) => {
                    // One loss says little about a server that has worked.
                    if *failures > 1 && now.since.elapsed() < LEAST_PAUSE {
                        return Err(RequestError::Unreachable(error.clone()));
                    }
                    self.wanted.notify_one();
                }
                (None, Phase::Stopped) => {
                    return Err(RequestError::Unreachable(StartError::Stopping));
                }
                (None, Phase::Starting | Phase::Ready { .. }) => {}
            }
        }
        let settled = async {
            loop {
                if state.changed().await.is_err() {
                    return Err(StartError::Stopping);
                }
                let now = state.borrow_and_update();
                match (now.open_connection(), &now.phase) {
                    (Some(connection), _) => return Ok(connection),
                    // One loss says little about a server that has worked.
                    (None, Phase::Waiting { error: StartError::Lost, failures: ..=1 }) => {
                        self.wanted.notify_one();
                    }
                    // Slow, but still on its way.
                    (None, Phase::Waiting { error: StartError::Silent { .. }, .. }) => {}
                    (None, Phase::Waiting { error, .. }) => return Err(error.clone()),
                    (None, Phase::Stopped) => return Err(StartError::Stopping),
                    (None, Phase::Starting | Phase::Ready { .. }) => {}
                }
            }
        };
        match timeout(limit, settled).await {
            Ok(outcome) => outcome.map_err(RequestError::Unreachable),
            Err(_) => Err(RequestError::Unreachable(StartError::Silent { limit, hint: "" })),
        }
    }

    /// Its name.
    pub fn name(&self) -> &ServerName {
        &self.server.name
    }

    /// Whether an exposed name begins with the name of this server.
    pub(in crate::gateway) fn is_named_in(&self, exposed: &str) -> bool {
        let rest = exposed.strip_prefix(self.server.name.as_str());
        rest.is_some_and(|rest| rest.starts_with("__"))
    }

    /// Waits until it is connected and listed.
    pub(in crate::gateway) async fn listed(
        &self,
        start_limit: Duration,
        list_limit: Duration,
    ) -> Result<(), RequestError> {
        self.connection(start_limit).await?;
        let outcome = timeout(list_limit, self.first_outcome()).await;
        let late =
            Err(StartError::Silent { limit: list_limit, hint: "; its list of tools is missing" });
        outcome.unwrap_or(late).map_err(RequestError::Unreachable)
    }

    /// Waits until the first attempt to reach and list it is over, either way.
    pub async fn first_outcome(&self) -> Result<(), StartError> {
        let mut state = self.state.subscribe();
        loop {
            match &state.borrow_and_update().phase {
                Phase::Ready { listing: ListingState::Done } => return Ok(()),
                Phase::Ready { listing: ListingState::Failed(reason) } => {
                    return Err(StartError::NotListed(reason.clone()));
                }
                Phase::Waiting { error, .. } => return Err(error.clone()),
                Phase::Stopped => return Err(StartError::Stopping),
                Phase::Starting | Phase::Ready { listing: ListingState::Pending } => {}
            }
            if state.changed().await.is_err() {
                return Err(StartError::Stopping);
            }
        }
    }

    /// Reads its lists again, soon.
    pub fn refresh(&self) {
        self.relist.notify_one();
    }

    /// What there is to tell.
    pub fn report(&self) -> UpstreamReport {
        let state = self.state.borrow().clone();
        let error = match &state.phase {
            Phase::Waiting { error, .. } => Some(error.to_string()),
            Phase::Ready { listing: ListingState::Failed(reason) } => Some(reason.clone()),
            Phase::Starting | Phase::Ready { .. } | Phase::Stopped => None,
        };
        let protocol_version = state
            .connection
            .as_ref()
            .and_then(|connection| connection.greeting().protocol_version.clone());
        UpstreamReport {
            name: self.server.name.to_string(),
            phase: state.phase.word(),
            error,
            pid: state.pid,
            protocol_version,
            output: self.ring().lines(),
        }
    }

    pub(super) fn ring(&self) -> Arc<Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn keep_ring(&self, ring: Arc<Ring>) {
        *self.ring.lock().unwrap_or_else(PoisonError::into_inner) = ring;
    }

    pub(super) fn set(&self, phase: Phase, connection: Option<Arc<Connection>>, pid: Option<i32>) {
        self.state.send_replace(State { phase, connection, pid, since: Instant::now() });
    }
}

//! The parts together: what every message of every client is answered from.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::session::Session;
use crate::catalog::{CallLog, Catalog, Meaning, VectorArm};
use crate::domain::ServerName;
use crate::gateway::builtin::SearchContext;
use crate::gateway::settings::GatewaySettings;
use crate::gateway::upstream::{Fleet, ListingState, Phase, Upstream};
use crate::gateway::wire::notification;
use crate::search::Arms;

/// The gateway.
#[derive(Debug)]
pub struct Gateway {
    /// What servers offer.
    pub catalog: Arc<Catalog>,
    /// Search by meaning.
    pub vectors: Arc<VectorArm>,
    /// The servers.
    pub fleet: Arc<Fleet>,
    /// Where calls are noted.
    pub log: CallLog,
    /// Limits.
    pub settings: GatewaySettings,
    sessions: Mutex<HashMap<Arc<str>, Arc<Session>>>,
    is_open: watch::Sender<bool>,
}

/// How long the first lists wait for servers that have never been listed.
const OPENING: Duration = Duration::from_secs(2);

impl Gateway {
    /// Puts the parts together.
    pub fn new(
        (catalog, vectors): (Arc<Catalog>, Arc<VectorArm>),
        fleet: Arc<Fleet>,
        log: CallLog,
        settings: GatewaySettings,
    ) -> Arc<Self> {
        let (sessions, is_open) = (Mutex::default(), watch::Sender::new(false));
        Arc::new(Self { catalog, vectors, fleet, log, settings, sessions, is_open })
    }

    /// Starts the task that opens the gateway: clients that list only once should
    /// see the tools of servers that have no kept manifest yet, so the first lists
    /// wait for `unlisted`, but not for long.
    pub fn open_after(self: &Arc<Self>, unlisted: Vec<Arc<Upstream>>, tasks: &TaskTracker) {
        let gateway = self.clone();
        tasks.spawn(async move {
            let outcomes = unlisted.iter().map(|upstream| upstream.first_outcome());
            let outcomes = futures_util::future::join_all(outcomes);
            if tokio::time::timeout(OPENING, outcomes).await.is_ok() {
                gateway.catalog.settled().await;
            }
            gateway.is_open.send_replace(true);
        });
    }

    /// Waits until the first lists can be answered.
    pub(super) async fn opened(&self) {
        if !*self.is_open.borrow() {
            // An error is impossible: the sender lives in this value.
            let mut is_open = self.is_open.subscribe();
            let _open = is_open.wait_for(|is_open| *is_open).await;
        }
    }

    /// Lets a session hear the news.
    pub fn join(&self, session: &Arc<Session>) {
        self.lock().insert(session.id.clone(), session.clone());
    }

    /// A session by its id.
    pub fn session(&self, id: &str) -> Option<Arc<Session>> {
        self.lock().get(id).cloned()
    }

    /// All sessions.
    pub fn sessions(&self) -> Vec<Arc<Session>> {
        self.lock().values().cloned().collect()
    }

    /// Ends a session: its requests are cancelled, its own connections closed.
    pub fn leave(&self, session: &Arc<Session>) {
        self.lock().remove(&session.id);
        session.cancel_all();
        self.fleet.end_session(&session.id);
    }

    /// Starts the task that tells clients which lists have changed: debounced,
    /// the last change always told.
    pub fn spread_news(self: &Arc<Self>, tasks: &TaskTracker, stop: CancellationToken) {
        let gateway = self.clone();
        let news = async move {
            // What clients have not been able to list yet is no news.
            gateway.opened().await;
            let mut changes = gateway.catalog.changes();
            let mut told = *changes.borrow_and_update();
            while changes.changed().await.is_ok() {
                tokio::time::sleep(gateway.settings.debounce).await;
                let now = *changes.borrow_and_update();
                for (kind, before, after) in [
                    ("tools", told.tools, now.tools),
                    ("prompts", told.prompts, now.prompts),
                    ("resources", told.resources, now.resources),
                ] {
                    if before != after {
                        gateway.tell(&format!("notifications/{kind}/list_changed"));
                    }
                }
                told = now;
            }
        };
        tasks.spawn(async move { stop.run_until_cancelled(news).await });
    }

    fn tell(&self, method: &str) {
        for session in self.sessions().iter().filter(|session| session.is_greeted()) {
            session.outlet().send(notification(method, None));
        }
    }

    /// What a search has to know of the servers right now.
    pub(super) fn search_context(&self, meaning: Result<Meaning, String>) -> SearchContext {
        let (arms, reason) = match meaning {
            Ok(meaning) => (Arms::Both(meaning), None),
            Err(reason) => (Arms::Keyword, Some(reason)),
        };
        let (status, notices) = (BTreeMap::new(), Vec::new());
        let mut context = SearchContext { status, notices, arms, reason };
        for upstream in self.fleet.all() {
            let report = upstream.report();
            let Ok(name) = report.name.parse::<ServerName>() else { continue };
            let status = match upstream.phase() {
                Phase::Ready { listing: ListingState::Done } => "ready",
                Phase::Ready { listing: ListingState::Pending | ListingState::Failed(_) } => {
                    context.notices.push(format!(
                        "server `{name}` has not listed its tools yet; they may be missing here"
                    ));
                    "ready"
                }
                Phase::Starting => {
                    context.notices.push(format!(
                        "server `{name}` is still starting; search again in a moment for its tools"
                    ));
                    "cold"
                }
                Phase::Waiting { error, failures } => {
                    context.notices.push(format!("server `{name}` is not reachable: {error}"));
                    if failures > 2 { "unavailable" } else { "stale" }
                }
                Phase::Stopped => "unavailable",
            };
            context.status.insert(name, status);
        }
        context
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

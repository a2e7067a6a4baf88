//! The sessions of HTTP clients.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::mcp::SESSION_ID;
use super::stream::SessionOutlet;
use crate::gateway::{Gateway, Session, error};

/// Pause between two looks for sessions that have gone silent.
const SWEEP_EVERY: Duration = Duration::from_secs(30);

/// The error code of a session that is not known.
const UNKNOWN_SESSION: i32 = -32001;

/// What the routes share.
#[derive(Debug)]
pub struct Front {
    /// Where everything is answered from.
    pub gateway: Arc<Gateway>,
    /// Everything that runs.
    pub tasks: TaskTracker,
    open: Mutex<HashMap<Arc<str>, OpenSession>>,
}

/// A session and where its own messages go.
#[derive(Clone, Debug)]
pub(super) struct OpenSession {
    pub(super) session: Arc<Session>,
    pub(super) outlet: Arc<SessionOutlet>,
}

impl Front {
    /// A front without sessions.
    pub fn new(gateway: Arc<Gateway>, tasks: TaskTracker) -> Arc<Self> {
        Arc::new(Self { gateway, tasks, open: Mutex::default() })
    }

    /// The session that a request names, if it names one; a refusal when it is unknown.
    #[expect(clippy::result_large_err, reason = "a response is what the caller returns at once")]
    pub(super) fn named(&self, headers: &HeaderMap) -> Result<Option<OpenSession>, Response> {
        let Some(id) = headers.get(SESSION_ID) else { return Ok(None) };
        let known = id.to_str().ok().and_then(|id| self.lock().get(id).cloned());
        known.map(Some).ok_or_else(|| {
            let reason = "the session is not known; send `initialize` to begin a new one";
            let body = error("null", UNKNOWN_SESSION, reason);
            (StatusCode::NOT_FOUND, [(CONTENT_TYPE, "application/json")], body).into_response()
        })
    }

    /// Keeps a session. Their number is bounded: the longest silent one gives way, and
    /// where all are in use the new one is refused with `false`.
    pub(super) fn open(&self, open: OpenSession) -> bool {
        let oldest = {
            let sessions = self.lock();
            let is_full = sessions.len() >= self.gateway.settings.most_sessions;
            let silent = || sessions.values().filter(|open| !open.session.silence().is_zero());
            let oldest = silent().max_by_key(|open| open.session.silence()).cloned();
            if is_full && oldest.is_none() {
                return false;
            }
            oldest.filter(|_| is_full)
        };
        if let Some(oldest) = oldest {
            self.end(&oldest.session);
        }
        self.gateway.join(&open.session);
        self.lock().insert(open.session.id.clone(), open);
        true
    }

    /// Ends a session.
    pub(super) fn end(&self, session: &Arc<Session>) {
        self.lock().remove(&session.id);
        self.gateway.leave(session);
    }

    /// Ends sessions that have been silent for too long, until `stop`.
    pub async fn sweep(self: Arc<Self>, stop: CancellationToken) {
        let sweep = async {
            loop {
                tokio::time::sleep(SWEEP_EVERY.min(self.gateway.settings.session_idle)).await;
                let limit = self.gateway.settings.session_idle;
                let silent: Vec<OpenSession> = self
                    .lock()
                    .values()
                    .filter(|open| open.session.silence() > limit)
                    .cloned()
                    .collect();
                for open in silent {
                    self.end(&open.session);
                }
            }
        };
        stop.run_until_cancelled(sweep).await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, OpenSession>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

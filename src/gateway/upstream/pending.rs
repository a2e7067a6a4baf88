//! Requests that wait for their answer.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::error::RequestError;
use crate::gateway::wire::Reply;

/// Where the progress of a request goes: called with the raw `params`.
#[derive(Clone)]
pub(in crate::gateway) struct ProgressSink(pub(in crate::gateway) Arc<dyn Fn(&str) + Send + Sync>);

impl fmt::Debug for ProgressSink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ProgressSink")
    }
}

/// All requests under way on one connection.
#[derive(Debug, Default)]
pub(super) struct Pending {
    waiting: Mutex<Option<HashMap<u64, Waiting>>>,
    last_id: AtomicU64,
    unmatched: AtomicU64,
}

#[derive(Debug)]
struct Waiting {
    answer: oneshot::Sender<Result<Reply, RequestError>>,
    progress: Option<ProgressSink>,
    last_sign: Instant,
}

impl Pending {
    pub(super) fn new() -> Self {
        Self { waiting: Mutex::new(Some(HashMap::new())), ..Self::default() }
    }

    /// A number that no other request of this connection has; the first is 1.
    pub(super) fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Registers a request. Fails when the connection is over.
    pub(super) fn wait(
        &self,
        id: u64,
        progress: Option<ProgressSink>,
    ) -> Result<oneshot::Receiver<Result<Reply, RequestError>>, RequestError> {
        let (answer, receiver) = oneshot::channel();
        let waiting = Waiting { answer, progress, last_sign: Instant::now() };
        let mut table = self.lock();
        table.as_mut().ok_or(RequestError::NotSent)?.insert(id, waiting);
        Ok(receiver)
    }

    /// Hands an answer to its request; an answer that belongs to none is counted.
    pub(super) fn complete(&self, id: u64, answer: Result<Reply, RequestError>) -> bool {
        let waiting = self.lock().as_mut().and_then(|table| table.remove(&id));
        match waiting {
            // The request may have been given up a moment ago.
            Some(waiting) => waiting.answer.send(answer).is_ok(),
            None => {
                self.unmatched.fetch_add(1, Ordering::Relaxed);
                false
            }
        }
    }

    /// Fails a request, unless it has been answered.
    pub(super) fn fail(&self, id: u64, error: RequestError) {
        let waiting = self.lock().as_mut().and_then(|table| table.remove(&id));
        if let Some(waiting) = waiting {
            let _given_up = waiting.answer.send(Err(error));
        }
    }

    /// Passes progress on, and notes it as a sign of life.
    pub(super) fn progress(&self, id: u64, params: &str) {
        let sink = {
            let mut table = self.lock();
            let Some(waiting) = table.as_mut().and_then(|table| table.get_mut(&id)) else { return };
            waiting.last_sign = Instant::now();
            waiting.progress.clone()
        };
        if let Some(ProgressSink(sink)) = sink {
            sink(params);
        }
    }

    /// When the request was sent or last showed progress.
    pub(super) fn last_sign(&self, id: u64) -> Option<Instant> {
        self.lock().as_ref()?.get(&id).map(|waiting| waiting.last_sign)
    }

    /// Forgets a request; true when it was still waiting.
    pub(super) fn forget(&self, id: u64) -> bool {
        self.lock().as_mut().is_some_and(|table| table.remove(&id).is_some())
    }

    /// Answers that belonged to no request.
    pub(super) fn unmatched(&self) -> u64 {
        self.unmatched.load(Ordering::Relaxed)
    }

    /// Notes an answer that could not even be tried.
    pub(super) fn note_unmatched(&self) {
        self.unmatched.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether requests are taken.
    pub(super) fn is_open(&self) -> bool {
        self.lock().is_some()
    }

    /// Ends every request, and refuses new ones.
    pub(super) fn close(&self) {
        let table = self.lock().take();
        for (_, waiting) in table.into_iter().flatten() {
            let _given_up = waiting.answer.send(Err(RequestError::Died));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<HashMap<u64, Waiting>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

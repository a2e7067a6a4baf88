//! One client's session.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::domain::Client;
use crate::gateway::wire::Outbox;

/// Where messages to a client go: the whole session's stream, or that of one request.
pub trait Outlet: Debug + Send + Sync {
    /// Sends one message; `false` when the client is gone.
    fn send(&self, message: Bytes) -> bool;
}

impl Outlet for Outbox {
    fn send(&self, message: Bytes) -> bool {
        Self::send(self, message)
    }
}

/// One client's session.
#[derive(Debug)]
pub struct Session {
    /// 128 random bits as text.
    pub id: Arc<str>,
    outlet: Arc<dyn Outlet>,
    client: Mutex<Arc<Client>>,
    is_greeted: AtomicBool,
    in_flight: Mutex<InFlight>,
}

#[derive(Debug)]
struct InFlight {
    requests: HashMap<String, CancellationToken>,
    /// Open streams.
    holds: usize,
    /// When the last request began or ended.
    last_sign: Instant,
}

impl Session {
    /// A session whose own messages go to `outlet`.
    pub fn new(id: &str, outlet: Arc<dyn Outlet>) -> Arc<Self> {
        Arc::new(Self {
            id: Arc::from(id),
            outlet,
            client: Mutex::default(),
            is_greeted: AtomicBool::new(false),
            in_flight: Mutex::new(InFlight {
                requests: HashMap::new(),
                holds: 0,
                last_sign: Instant::now(),
            }),
        })
    }

    /// Who is at the other end.
    pub fn client(&self) -> Arc<Client> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the handshake is over.
    pub fn is_greeted(&self) -> bool {
        self.is_greeted.load(Ordering::Acquire)
    }

    /// Keeps who is at the other end. `false` when the handshake was over already.
    pub(super) fn greet(&self, client: Client) -> bool {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(client);
        !self.is_greeted.swap(true, Ordering::AcqRel)
    }

    /// Where the session's own messages go.
    pub(super) fn outlet(&self) -> &Arc<dyn Outlet> {
        &self.outlet
    }

    /// Notes that a request has begun. Nothing when its id is in use.
    pub(super) fn begin(self: &Arc<Self>, id: &str) -> Option<Begun> {
        let mut in_flight = self.lock();
        in_flight.last_sign = Instant::now();
        let token = CancellationToken::new();
        let is_new = !in_flight.requests.contains_key(id);
        is_new.then(|| {
            in_flight.requests.insert(id.to_owned(), token.clone());
            Begun { session: self.clone(), id: id.to_owned(), token }
        })
    }

    /// Cancels a request; one that is unknown or over changes nothing.
    pub(super) fn cancel(&self, id: &str) {
        if let Some(token) = self.lock().requests.get(id) {
            token.cancel();
        }
    }

    /// Cancels every request: the client is gone.
    pub fn cancel_all(&self) {
        for token in self.lock().requests.values() {
            token.cancel();
        }
    }

    /// Keeps the session alive until the returned value is dropped.
    pub fn hold(self: &Arc<Self>) -> Hold {
        self.lock().holds += 1;
        Hold(self.clone())
    }

    /// For how long nothing has happened; zero while a request is under way.
    pub fn silence(&self) -> std::time::Duration {
        let in_flight = self.lock();
        if in_flight.requests.is_empty() && in_flight.holds == 0 {
            in_flight.last_sign.elapsed()
        } else {
            std::time::Duration::ZERO
        }
    }

    /// Notes a sign of life.
    pub fn touch(&self) {
        self.lock().last_sign = Instant::now();
    }

    fn lock(&self) -> MutexGuard<'_, InFlight> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a session alive.
#[derive(Debug)]
pub struct Hold(Arc<Session>);

impl Drop for Hold {
    fn drop(&mut self) {
        let mut in_flight = self.0.lock();
        in_flight.holds -= 1;
        in_flight.last_sign = Instant::now();
    }
}

/// A request under way; it is over when this is dropped.
#[derive(Debug)]
pub(super) struct Begun {
    session: Arc<Session>,
    id: String,
    pub(super) token: CancellationToken,
}

impl Drop for Begun {
    fn drop(&mut self) {
        let mut in_flight = self.session.lock();
        in_flight.requests.remove(&self.id);
        in_flight.last_sign = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::{Arc, Bytes, Outlet, Session};

    #[derive(Debug)]
    struct Nowhere;

    impl Outlet for Nowhere {
        fn send(&self, _: Bytes) -> bool {
            false
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_id_can_be_used_again_once_its_request_is_over() {
        let session = Session::new("s", Arc::new(Nowhere));
        let first = session.begin("1").unwrap();
        assert!(session.begin("1").is_none());
        assert!(session.begin("\"1\"").is_some(), "a text is another id than a number");
        session.cancel("1");
        assert!(first.token.is_cancelled());
        drop(first);
        assert!(session.begin("1").is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_under_way_keeps_a_session_alive() {
        let session = Session::new("s", Arc::new(Nowhere));
        let begun = session.begin("1").unwrap();
        tokio::time::advance(std::time::Duration::from_secs(300)).await;
        assert_eq!(session.silence().as_secs(), 0);
        drop(begun);
        tokio::time::advance(std::time::Duration::from_secs(5)).await;
        assert_eq!(session.silence().as_secs(), 5);
    }
}

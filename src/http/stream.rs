//! Event streams to a client: the answers of one request, or a session's news.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, Response};
use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::gateway::Outlet;

/// Messages that may wait for a slow reader; then its stream ends.
const LONGEST_QUEUE: usize = 256;

/// How often an idle stream shows that it lives, so that nothing between cuts it.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The sending end of one stream.
#[derive(Clone, Debug)]
pub(super) struct StreamOutlet(Sender<Bytes>);

impl StreamOutlet {
    /// Sends the last message, waiting for room.
    pub(super) async fn finish(&self, message: Bytes) {
        // An error means that the client is gone.
        let _gone = self.0.send(message).await;
    }

    /// Waits until the client is gone.
    pub(super) async fn closed(&self) {
        self.0.closed().await;
    }
}

impl Outlet for StreamOutlet {
    fn send(&self, message: Bytes) -> bool {
        self.0.try_send(message).is_ok()
    }
}

/// Where a session's own messages go: to its stream, when it has one. What
/// changed while it had none is told when it comes back.
#[derive(Debug, Default)]
pub(super) struct SessionOutlet(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    stream: Option<StreamOutlet>,
    /// Notifications without parameters, each once.
    missed: Vec<Bytes>,
}

impl SessionOutlet {
    /// Takes `stream` as the session's stream; an older one ends.
    pub(super) fn attach(&self, stream: StreamOutlet) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for message in std::mem::take(&mut held.missed) {
            stream.send(message);
        }
        held.stream = Some(stream);
    }
}

impl Outlet for SessionOutlet {
    fn send(&self, message: Bytes) -> bool {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.stream.as_ref().is_some_and(|stream| stream.send(message.clone())) {
            return true;
        }
        held.stream = None;
        // Progress that nobody heard is of no use later; that a list has changed is.
        let is_lasting = memchr::memmem::find(&message, b"\"params\"").is_none();
        if is_lasting && !held.missed.contains(&message) {
            held.missed.push(message);
        }
        is_lasting
    }
}

/// Anything that lives as long as a stream.
pub(super) type Companion = Box<dyn Send + Sync>;

/// A stream and its sending end.
pub(super) fn event_stream(companion: Option<Companion>) -> (StreamOutlet, Response<Body>) {
    let (sender, messages) = channel(LONGEST_QUEUE);
    let mut keep_alive = interval(KEEP_ALIVE);
    keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    keep_alive.reset();
    let events = Events { messages, keep_alive, _companion: companion };
    let mut response = Response::new(Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    (StreamOutlet(sender), response)
}

struct Events {
    messages: Receiver<Bytes>,
    keep_alive: Interval,
    _companion: Option<Companion>,
}

impl Stream for Events {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Poll::Ready(message) = self.messages.poll_recv(context) {
            return Poll::Ready(message.map(|message| Ok(framed(&message))));
        }
        ready!(self.keep_alive.poll_tick(context));
        Poll::Ready(Some(Ok(Bytes::from_static(b": still here\n\n"))))
    }
}

/// A message as one event. JSON text holds no line feed unless a server wrote it
/// over several lines; each line is then a line of data.
fn framed(message: &Bytes) -> Bytes {
    let mut event = Vec::with_capacity(message.len() + 32);
    event.extend_from_slice(b"event: message\n");
    for line in message.split(|byte| *byte == b'\n') {
        event.extend_from_slice(b"data: ");
        event.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
        event.push(b'\n');
    }
    event.push(b'\n');
    event.into()
}

//! One connection to an upstream server: pipelined requests, their answers, and
//! what the server sends on its own.

use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, sleep_until};

use super::error::{NO_MESSAGES, RequestError, StartError};
use super::http::{HttpLink, Step};
use super::pending::{Pending, ProgressSink};
use super::ring::Ring;
use crate::domain::{EntryKind, ServerName};
use crate::gateway::settings::LATEST_PROTOCOL_VERSION;
use crate::gateway::wire::{
    IdSearch, Message, Outbox, Reply, code, error, messages_in, notification, request, response,
};

/// What a connection reports on its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Event {
    /// A list has changed.
    Changed(EntryKind),
    /// The session was begun anew, so that any list may have changed.
    Renewed,
    /// The connection is over.
    Closed,
}

/// How long a request may take.
#[derive(Clone, Copy, Debug)]
pub(in crate::gateway) struct Limits {
    /// From the request, or its last progress.
    pub(in crate::gateway) silence: Duration,
    /// All in all.
    pub(in crate::gateway) total: Duration,
}

/// What bounds a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Largest message, in bytes.
    pub(super) largest_message: usize,
    /// From start to the end of the handshake.
    pub(super) start_timeout: Duration,
}

/// What carries the messages.
#[derive(Debug)]
pub(super) enum Link {
    Stdio(Arc<Outbox>),
    Http(Box<HttpLink>),
}

/// What a server said of itself in the handshake.
#[derive(Debug, Default)]
pub(super) struct Greeting {
    pub(super) protocol_version: Option<String>,
    pub(super) offers_tools: bool,
    pub(super) offers_prompts: bool,
    pub(super) offers_resources: bool,
    pub(super) instructions: Option<String>,
}

/// One connection.
#[derive(Debug)]
pub(in crate::gateway) struct Connection {
    server: ServerName,
    link: Link,
    pending: Pending,
    ring: Arc<Ring>,
    largest_message: usize,
    start_timeout: Duration,
    greeting: OnceLock<Greeting>,
    events: UnboundedSender<Event>,
}

impl Connection {
    pub(super) fn new(
        server: ServerName,
        link: Link,
        ring: Arc<Ring>,
        sizes: Sizes,
        events: UnboundedSender<Event>,
    ) -> Arc<Self> {
        Arc::new(Self {
            server,
            link,
            pending: Pending::new(),
            ring,
            largest_message: sizes.largest_message,
            start_timeout: sizes.start_timeout,
            greeting: OnceLock::new(),
            events,
        })
    }

    /// Shakes hands: `initialize`, then `notifications/initialized`.
    pub(super) async fn greet(self: &Arc<Self>) -> Result<(), StartError> {
        let limit = self.start_timeout;
        if let Link::Http(link) = &self.link {
            link.begin_handshake();
        }
        let params = initialize_params();
        let limits = Limits { silence: limit, total: limit };
        let reply = self.request("initialize", |_| Some(params), None, limits).await;
        let reply = reply.map_err(|error| match error {
            RequestError::Timeout { .. } => {
                let hint = if self.ring.has_noise() { NO_MESSAGES } else { "" };
                StartError::Silent { limit, hint }
            }
            RequestError::Unreachable(error) => error,
            RequestError::Http(reason) => StartError::Http(reason),
            RequestError::TooLarge { .. } | RequestError::Empty | RequestError::Refused { .. } => {
                StartError::Unreadable
            }
            RequestError::Died | RequestError::NotSent => StartError::Ended,
        })?;
        let greeting = match reply {
            Reply::Result(text) => Greeting::parse(&text).ok_or(StartError::Unreadable)?,
            Reply::Error(text) => return Err(StartError::Refused(error_code(&text))),
        };
        if let Link::Http(link) = &self.link {
            link.agree_on(greeting.protocol_version.as_deref());
        }
        let _first = self.greeting.set(greeting);
        self.notify("notifications/initialized", None).await;
        if let Link::Http(link) = &self.link {
            link.end_handshake();
        }
        Ok(())
    }

    /// Shakes hands anew after an HTTP server forgot the session.
    /// Boxed, for a handshake is a request, and a request may need a handshake.
    pub(super) fn greet_again(
        self: Arc<Self>,
    ) -> Pin<Box<dyn Future<Output = Result<(), StartError>> + Send>> {
        Box::pin(async move { self.greet().await })
    }

    /// What the server said of itself; empty before the handshake.
    pub(super) fn greeting(&self) -> &Greeting {
        static NOTHING: OnceLock<Greeting> = OnceLock::new();
        self.greeting.get().unwrap_or_else(|| NOTHING.get_or_init(Greeting::default))
    }

    /// Asks something. `params` are made from the request's id, which is also its
    /// progress token. A request that is dropped or runs out of time is cancelled
    /// at the server.
    pub(in crate::gateway) async fn request(
        self: &Arc<Self>,
        method: &str,
        params: impl FnOnce(u64) -> Option<String>,
        progress: Option<ProgressSink>,
        limits: Limits,
    ) -> Result<Reply, RequestError> {
        let id = self.pending.next_id();
        let answer = self.pending.wait(id, progress)?;
        let mut waiting =
            CancelOnDrop { connection: self, id, is_cancellable: method != "initialize" };
        let text = request(&id.to_string(), method, params(id).as_deref());
        let begin = Instant::now();
        let end = begin + limits.total;
        let mut until = end.min(begin + limits.silence);
        let mut answer = answer;
        let mut carrying = pin!(self.carry(id, step_of(method), text));
        let mut is_carried = false;
        loop {
            tokio::select! {
                biased;
                reply = &mut answer => {
                    let reply = reply.unwrap_or(Err(RequestError::Died));
                    if let (Ok(Reply::Error(error)), Link::Http(link)) = (&reply, &self.link)
                        && step_of(method) == Step::Ordinary
                    {
                        link.renew_if_lost(self, error).await;
                    }
                    return reply;
                }
                carried = &mut carrying, if !is_carried => {
                    is_carried = true;
                    if let Err(error) = carried {
                        // It was never taken, so there is nothing to cancel.
                        waiting.is_cancellable = false;
                        return Err(error);
                    }
                }
                () = sleep_until(until) => {
                    let sign = self.pending.last_sign(id).unwrap_or(begin);
                    let later = end.min(sign + limits.silence);
                    if later <= until {
                        return Err(self.timed_out(limits.silence.min(limits.total)));
                    }
                    until = later;
                }
            }
        }
    }

    /// Hands a request to the link.
    async fn carry(self: &Arc<Self>, id: u64, step: Step, text: Bytes) -> Result<(), RequestError> {
        match &self.link {
            Link::Stdio(outbox) => {
                if outbox.send(text) {
                    return Ok(());
                }
                // A server that hears nothing is started anew.
                self.close();
                Err(RequestError::NotSent)
            }
            Link::Http(link) => link.request(self, id, (step, text)).await,
        }
    }

    fn timed_out(&self, limit: Duration) -> RequestError {
        RequestError::Timeout { limit, unmatched: self.pending.unmatched() }
    }

    /// Sends a notification; a failure shows at the next request.
    pub(super) async fn notify(self: &Arc<Self>, method: &str, params: Option<&str>) {
        let text = notification(method, params);
        match &self.link {
            Link::Stdio(outbox) => {
                outbox.send(text);
            }
            Link::Http(link) => link.notify(self, step_of(method), text).await,
        }
    }

    /// Takes what the server sent: a line, a body or the data of an event. `carrier`
    /// is the request whose answer it came in, where the transport tells. `false`
    /// when no message was in it.
    pub(super) fn receive(self: &Arc<Self>, bytes: &Bytes, carrier: Option<u64>) -> bool {
        let lossy;
        let (bytes, text) = match std::str::from_utf8(bytes) {
            Ok(text) => (bytes, text),
            // The id and the frame are ASCII, so the call can still be answered.
            Err(_) => {
                lossy = Bytes::from(String::from_utf8_lossy(bytes).into_owned());
                (&lossy, std::str::from_utf8(&lossy).unwrap_or_default())
            }
        };
        let found = messages_in(text);
        if found.has_noise {
            self.ring.push_noise(bytes);
            tracing::debug!(server.name = %self.server, bytes = bytes.len(), "skipped output that is no MCP message");
        }
        for message in &found.messages {
            self.take(message, bytes, carrier);
        }
        let is_broken = found.messages.is_empty() && text.starts_with('{');
        if is_broken && text.contains("\"jsonrpc\"") {
            self.fail_named(bytes);
        }
        !found.messages.is_empty()
    }

    /// Fails the request that an unreadable answer names, instead of letting it wait.
    fn fail_named(&self, bytes: &[u8]) {
        let mut search = IdSearch::default();
        search.take(bytes);
        if let Some(id) = search.found() {
            self.pending.complete(id, Err(RequestError::Empty));
        }
    }

    fn take(self: &Arc<Self>, message: &Message<'_>, bytes: &Bytes, carrier: Option<u64>) {
        match (message.method.as_deref(), message.id) {
            (None, Some(id)) => self.answered(id, message, bytes, carrier),
            (Some(method), Some(id)) => self.asked(method, id),
            (Some("notifications/progress"), None) => {
                if let Some(params) = message.params
                    && let Some(id) = progress_token(params)
                {
                    self.pending.progress(id, params.get());
                }
            }
            (Some(method), None) => {
                let kind = match method {
                    "notifications/tools/list_changed" => EntryKind::Tool,
                    "notifications/prompts/list_changed" => EntryKind::Prompt,
                    "notifications/resources/list_changed" => EntryKind::Resource,
                    _ => return,
                };
                let _nobody_left = self.events.send(Event::Changed(kind));
            }
            (None, None) => {}
        }
    }

    fn answered(&self, id: &RawValue, message: &Message<'_>, bytes: &Bytes, carrier: Option<u64>) {
        let part = |raw: &RawValue| bytes.slice_ref(raw.get().as_bytes());
        let answer = match (message.error, message.result) {
            (Some(error), _) => Ok(Reply::Error(part(error))),
            (None, Some(result)) => Ok(Reply::Result(part(result))),
            (None, None) => Err(RequestError::Empty),
        };
        // An error that names no request belongs to the one whose answer it came in.
        let is_nameless = id.get() == "null";
        let carrier = carrier.filter(|_| is_nameless && message.error.is_some());
        // Some servers turn a number into a string; only numbers are ever sent.
        let named = id.get().trim_matches('"').parse().ok();
        let is_matched = named.or(carrier).is_some_and(|id| self.pending.complete(id, answer));
        if !is_matched {
            if is_nameless {
                self.pending.note_unmatched();
            }
            tracing::debug!(server.name = %self.server, "an answer belongs to no request");
        }
    }

    /// The server asks. It was told that nothing can be asked but `ping`, and is
    /// answered at once in any case, so that it never waits in vain.
    fn asked(self: &Arc<Self>, method: &str, id: &RawValue) {
        let answer = if method == "ping" {
            response(id.get(), "{}")
        } else {
            error(id.get(), code::METHOD_NOT_FOUND, &format!("`{method}` is not offered here"))
        };
        match &self.link {
            Link::Stdio(outbox) => {
                outbox.send(answer);
            }
            Link::Http(link) => link.answer_later(self, answer),
        }
    }

    /// Hears of an oversize message: its request fails, and no other.
    pub(super) fn refuse_oversize(&self, id: Option<u64>) {
        let limit = self.largest_message;
        tracing::warn!(server.name = %self.server, limit, "a message over the limit was thrown away");
        match id {
            Some(id) => {
                self.pending.complete(id, Err(RequestError::TooLarge { limit }));
            }
            None => self.pending.note_unmatched(),
        }
    }

    /// Fails a request whose carrier has failed.
    pub(super) fn fail(&self, id: u64, error: RequestError) {
        self.pending.fail(id, error);
    }

    /// Tells the supervisor.
    pub(super) fn report(&self, event: Event) {
        let _nobody_left = self.events.send(event);
    }

    /// Ends the connection: every request under way fails.
    pub(super) fn close(&self) {
        if let Link::Stdio(outbox) = &self.link {
            outbox.close();
        }
        self.pending.close();
        self.report(Event::Closed);
    }

    /// Ends the session of an HTTP server, as far as it wants to know.
    pub(super) async fn say_goodbye(&self) {
        if let Link::Http(link) = &self.link {
            link.end_session().await;
        }
    }

    pub(super) fn link(&self) -> &Link {
        &self.link
    }

    /// Whether it can still carry requests.
    pub(super) fn is_open(&self) -> bool {
        let is_heard = match &self.link {
            Link::Stdio(outbox) => !outbox.is_closed(),
            Link::Http(_) => true,
        };
        is_heard && self.pending.is_open()
    }

    pub(super) fn name(&self) -> &ServerName {
        &self.server
    }

    pub(super) fn largest_message(&self) -> usize {
        self.largest_message
    }
}

fn step_of(method: &str) -> Step {
    if matches!(method, "initialize" | "notifications/initialized") {
        Step::Handshake
    } else {
        Step::Ordinary
    }
}

/// Cancels a request that nobody waits for any more.
struct CancelOnDrop<'a> {
    connection: &'a Arc<Connection>,
    id: u64,
    is_cancellable: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if !self.connection.pending.forget(self.id) || !self.is_cancellable {
            return;
        }
        let params = format!("{{\"requestId\":{}}}", self.id);
        let text = notification("notifications/cancelled", Some(&params));
        match &self.connection.link {
            Link::Stdio(outbox) => {
                outbox.send(text);
            }
            Link::Http(link) => link.answer_later(self.connection, text),
        }
    }
}

/// Nothing is declared that the gateway cannot honour.
fn initialize_params() -> String {
    format!(
        "{{\"protocolVersion\":\"{LATEST_PROTOCOL_VERSION}\",\"capabilities\":{{}},\"clientInfo\":{{\"name\":\"coffer\",\"version\":\"{}\"}}}}",
        env!("CARGO_PKG_VERSION")
    )
}

impl Greeting {
    fn parse(result: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Said {
            #[serde(default)]
            protocol_version: serde_json::Value,
            #[serde(default)]
            capabilities: serde_json::Value,
            #[serde(default)]
            instructions: serde_json::Value,
        }
        let said: Said = serde_json::from_slice(result).ok()?;
        let offers = |what: &str| said.capabilities.get(what).is_some_and(|value| !value.is_null());
        Some(Self {
            protocol_version: said.protocol_version.as_str().map(ToOwned::to_owned),
            offers_tools: offers("tools"),
            offers_prompts: offers("prompts"),
            offers_resources: offers("resources"),
            instructions: said.instructions.as_str().map(ToOwned::to_owned),
        })
    }
}

/// The `code` of an error, 0 when it has none.
pub(super) fn error_code(error: &[u8]) -> i64 {
    #[derive(Deserialize)]
    struct Coded {
        code: i64,
    }
    serde_json::from_slice::<Coded>(error).map(|coded| coded.code).unwrap_or_default()
}

fn progress_token(params: &RawValue) -> Option<u64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Tokened<'a> {
        #[serde(borrow)]
        progress_token: &'a RawValue,
    }
    let tokened: Tokened<'_> = serde_json::from_str(params.get()).ok()?;
    tokened.progress_token.get().trim_matches('"').parse().ok()
}

//! The client side of Streamable HTTP: one endpoint, one session, many requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::{
    ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER,
};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::task::TaskTracker;

use super::backoff::{PROVEN_AFTER, pause_after};
use super::connection::{Connection, Event, Link, error_code};
use super::error::{RequestError, StartError};
use super::http_error::{Refusal, Verdict, names_the_session};
use super::sse::EventReader;
use crate::domain::HttpTransport;
use crate::sys::prepare_tls;

/// Redirects followed within one origin.
const MOST_REDIRECTS: usize = 5;

/// Time to open a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What a polite end of the session may cost.
const GOODBYE: Duration = Duration::from_secs(1);

/// The error code by which many servers say that they do not know a session.
const UNKNOWN_SESSION: i64 = -32001;

/// Bytes of an error body that are looked at.
const ERROR_BODY: usize = 4096;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// One endpoint and the session with it.
#[derive(Debug)]
pub(super) struct HttpLink {
    client: Client,
    /// Where requests go: the registered URL, or where a redirect led.
    endpoint: Mutex<Url>,
    /// The registered URL: no redirect may leave its origin.
    registered: Url,
    headers: HeaderMap,
    session: Mutex<Session>,
    /// The number of the session, for those who wait for a new one.
    number: watch::Sender<u64>,
    /// The session that a handshake is about to begin. Requests go on under the old
    /// one meanwhile: refused, they wait for the new one.
    draft: Mutex<Session>,
    /// Held while a lost session is begun anew, so that this happens once.
    renewal: tokio::sync::Mutex<()>,
    tasks: TaskTracker,
}

#[derive(Clone, Debug, Default)]
struct Session {
    id: Option<HeaderValue>,
    protocol_version: Option<HeaderValue>,
    /// Counts sessions, so that a late failure of an old one is not held against the new.
    number: u64,
}

/// Under which session something is sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Step {
    /// The handshake: under the session that it begins.
    Handshake,
    /// Anything else: under the session that has begun.
    Ordinary,
}

/// What a body brought.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Delivered {
    /// Messages, or nothing.
    Passed,
    /// Word that the session is not known.
    SessionLost,
}

impl HttpLink {
    /// Prepares the endpoint; nothing is sent yet.
    pub(super) fn new(transport: &HttpTransport, tasks: TaskTracker) -> Result<Self, StartError> {
        let url = Url::parse(&transport.url)
            .map_err(|error| StartError::Http(format!("its URL is not valid: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(StartError::Http("its URL must begin with http:// or https://".to_owned()));
        }
        let headers = headers_of(&transport.headers)?;
        prepare_tls();
        let mut builder = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true);
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        let client = builder
            .build()
            .map_err(|error| StartError::Http(format!("no HTTP client: {}", reason_of(&error))))?;
        let (session, draft) = (Mutex::default(), Mutex::default());
        let renewal = tokio::sync::Mutex::default();
        let (registered, number) = (url.clone(), watch::Sender::new(0));
        let endpoint = Mutex::new(url);
        Ok(Self { client, endpoint, registered, headers, session, number, draft, renewal, tasks })
    }

    /// Begins a handshake, under no session.
    pub(super) fn begin_handshake(&self) {
        *lock(&self.draft) = Session::default();
    }

    /// Keeps the protocol version that the handshake agreed on.
    pub(super) fn agree_on(&self, version: Option<&str>) {
        let version = version.and_then(|text| HeaderValue::from_str(text).ok());
        lock(&self.draft).protocol_version = version;
    }

    /// Makes the new session the one under which everything is sent.
    pub(super) fn end_handshake(&self) {
        let draft = lock(&self.draft).clone();
        let mut session = lock(&self.session);
        let number = session.number + 1;
        *session = Session { number, ..draft };
        drop(session);
        self.number.send_replace(number);
    }

    /// Sends a request and passes on everything that comes back for it.
    pub(super) async fn request(
        &self,
        connection: &Arc<Connection>,
        id: u64,
        (step, text): (Step, Bytes),
    ) -> Result<(), RequestError> {
        let number = lock(&self.session).number;
        let response = self.send(connection, &text, step).await?;
        let delivered = self.deliver(connection, response, Some(id)).await?;
        if delivered == Delivered::SessionLost && step == Step::Ordinary {
            self.renew(connection, number).await?;
            let reason = "had forgotten the session; a new one has begun".to_owned();
            return Err(RequestError::Http(reason));
        }
        // The reply has been handed over by now; if not, it never comes.
        connection.fail(id, RequestError::Http("ended its answer without a result".to_owned()));
        Ok(())
    }

    /// Sends a notification.
    pub(super) async fn notify(&self, connection: &Arc<Connection>, step: Step, text: Bytes) {
        if let Err(error) = self.send(connection, &text, step).await {
            tracing::debug!(server.name = %connection.name(), %error, "a notification was refused");
        }
    }

    /// Sends an answer or a cancellation without anybody waiting for it.
    pub(super) fn answer_later(&self, connection: &Arc<Connection>, text: Bytes) {
        let connection = connection.clone();
        self.tasks.spawn(async move {
            if let Link::Http(link) = connection.link() {
                link.notify(&connection, Step::Ordinary, text).await;
            }
        });
    }

    /// Tells the server that the session is over, if it wants to know.
    pub(super) async fn end_session(&self) {
        let session = lock(&self.session).clone();
        if session.id.is_some() {
            let goodbye = self.exchange(|url| {
                let request = self.client.request(Method::DELETE, url);
                request.headers(self.headers_for(&session)).timeout(GOODBYE)
            });
            let _it_may_not_care = goodbye.await;
        }
    }

    /// Listens to what the server says on its own, as long as it wants to be heard.
    pub(super) async fn listen(&self, connection: &Arc<Connection>) {
        let mut numbers = self.number.subscribe();
        let mut failures = 0;
        loop {
            let begin = Instant::now();
            let session = lock(&self.session).clone();
            numbers.mark_unchanged();
            let stream = self
                .exchange(|url| {
                    let request = self.client.request(Method::GET, url);
                    request.headers(self.headers_for(&session)).header(ACCEPT, "text/event-stream")
                })
                .await;
            match stream {
                Ok(response)
                    if response.status() == StatusCode::OK && is_event_stream(&response) =>
                {
                    let _ended = self.deliver(connection, response, None).await;
                }
                // Anything else means that there is none to be had in this session.
                Ok(_) => {
                    if numbers.wait_for(|number| *number > session.number).await.is_err() {
                        return;
                    }
                    continue;
                }
                Err(_) => {}
            }
            failures = if begin.elapsed() > PROVEN_AFTER { 1 } else { failures + 1 };
            sleep(pause_after(failures)).await;
        }
    }

    /// Posts `text` until the server takes it, refuses it for good, or is lost.
    async fn send(
        &self,
        connection: &Arc<Connection>,
        text: &Bytes,
        step: Step,
    ) -> Result<Response, RequestError> {
        let mut tries = 0;
        let mut may_renew = step == Step::Ordinary;
        loop {
            tries += 1;
            let session = match step {
                Step::Handshake => lock(&self.draft).clone(),
                Step::Ordinary => lock(&self.session).clone(),
            };
            let response = self.post(&session, text.clone()).await?;
            let status = response.status();
            if status.is_success() {
                if step == Step::Handshake
                    && let Some(id) = response.headers().get(SESSION_ID)
                {
                    lock(&self.draft).id = Some(id.clone());
                }
                return Ok(response);
            }
            let retry_after = response
                .headers()
                .get(RETRY_AFTER)
                .and_then(|value| value.to_str().ok()?.trim().parse().ok());
            let body = beginning(response).await;
            let refusal = Refusal {
                status: status.as_u16(),
                retry_after,
                body: &body,
                had_session: session.id.is_some(),
                tries,
            };
            match refusal.judge() {
                Verdict::SessionLost if may_renew => {
                    may_renew = false;
                    self.renew(connection, session.number).await?;
                }
                Verdict::SessionLost => {
                    let reason = "lost its session; the next call begins a new one".to_owned();
                    return Err(RequestError::Http(reason));
                }
                Verdict::TryAgain(pause) => sleep(pause).await,
                Verdict::Fail(reason) => return Err(RequestError::Http(reason)),
            }
        }
    }

    async fn post(&self, session: &Session, text: Bytes) -> Result<Response, RequestError> {
        self.exchange(|url| {
            self.client
                .post(url)
                .headers(self.headers_for(session))
                .header(CONTENT_TYPE, "application/json")
                .header(ACCEPT, "application/json, text/event-stream")
                .body(text.clone())
        })
        .await
    }

    /// One request and its answer, following redirects within the origin.
    async fn exchange(
        &self,
        request: impl Fn(Url) -> RequestBuilder,
    ) -> Result<Response, RequestError> {
        let mut url = lock(&self.endpoint).clone();
        for redirects in 0..=MOST_REDIRECTS {
            let response = request(url.clone()).send().await.map_err(|error| failure_of(&error))?;
            if !response.status().is_redirection() {
                if redirects > 0 {
                    *lock(&self.endpoint) = url;
                }
                return Ok(response);
            }
            url = redirected(&self.registered, &url, &response)?;
        }
        Err(RequestError::Http("redirects in a circle".to_owned()))
    }

    /// Begins a new session unless somebody else has done so meanwhile.
    async fn renew(&self, connection: &Arc<Connection>, lost: u64) -> Result<(), RequestError> {
        let _one_at_a_time = self.renewal.lock().await;
        if lock(&self.session).number != lost {
            return Ok(());
        }
        tracing::info!(server.name = %connection.name(), "the server forgot the session; beginning a new one");
        connection.clone().greet_again().await.map_err(RequestError::Unreachable)?;
        connection.report(Event::Renewed);
        Ok(())
    }

    /// Begins a new session when an error, sent with status 200, says that the old
    /// one is not known. The request itself fails: it may have run.
    pub(super) async fn renew_if_lost(&self, connection: &Arc<Connection>, error: &[u8]) {
        let session = lock(&self.session).clone();
        let is_lost = error_code(error) == UNKNOWN_SESSION
            && names_the_session(&String::from_utf8_lossy(error));
        if session.id.is_some()
            && is_lost
            && let Err(error) = self.renew(connection, session.number).await
        {
            tracing::warn!(server.name = %connection.name(), %error, "no new session");
        }
    }

    /// Passes a body on: one JSON message, or the events of a stream. Some servers
    /// say in a text of their own, with status 200, that the session is not known.
    async fn deliver(
        &self,
        connection: &Arc<Connection>,
        mut response: Response,
        carrier: Option<u64>,
    ) -> Result<Delivered, RequestError> {
        let mut delivered = Delivered::Passed;
        let mut pass_on = |bytes: &Bytes| {
            let is_message = connection.receive(bytes, carrier);
            if !is_message && names_the_session(&String::from_utf8_lossy(bytes)) {
                delivered = Delivered::SessionLost;
            }
        };
        let limit = connection.largest_message();
        if is_event_stream(&response) {
            let mut events = EventReader::new(limit);
            while let Some(piece) = response.chunk().await.map_err(|error| failure_of(&error))? {
                let events = events.take(&piece).map_err(|_| RequestError::TooLarge { limit })?;
                for event in events {
                    pass_on(&event.data);
                }
            }
            return Ok(delivered);
        }
        let mut body = BytesMut::new();
        while let Some(piece) = response.chunk().await.map_err(|error| failure_of(&error))? {
            if body.len() + piece.len() > limit {
                return Err(RequestError::TooLarge { limit });
            }
            body.extend_from_slice(&piece);
        }
        if !body.is_empty() {
            pass_on(&body.freeze());
        }
        Ok(delivered)
    }

    fn headers_for(&self, session: &Session) -> HeaderMap {
        let mut headers = self.headers.clone();
        if let Some(id) = &session.id {
            headers.insert(SESSION_ID, id.clone());
        }
        if let Some(version) = &session.protocol_version {
            headers.insert(PROTOCOL_VERSION, version.clone());
        }
        headers
    }
}

fn lock<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn headers_of(named: &BTreeMap<String, String>) -> Result<HeaderMap, StartError> {
    let mut headers = HeaderMap::new();
    for (name, value) in named {
        let wrong = || StartError::Http(format!("header `{name}` is not a legal HTTP header"));
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

/// Where a redirect leads, if it stays within the origin and keeps the method.
fn redirected(registered: &Url, from: &Url, response: &Response) -> Result<Url, RequestError> {
    let target = response
        .headers()
        .get(LOCATION)
        .and_then(|value| from.join(value.to_str().ok()?).ok())
        .ok_or_else(|| RequestError::Http("redirects to nowhere".to_owned()))?;
    let keeps_method = matches!(response.status().as_u16(), 307 | 308);
    if keeps_method && target.origin() == registered.origin() {
        return Ok(target);
    }
    let mut shown = target;
    shown.set_query(None);
    let _no_password = shown.set_password(None);
    Err(RequestError::Http(format!(
        "redirects to `{shown}`; if that is right, register the server with that URL"
    )))
}

fn is_event_stream(response: &Response) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE);
    content_type
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.trim_start().to_lowercase().starts_with("text/event-stream"))
}

fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let host = host.trim_matches(['[', ']']);
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
    })
}

async fn beginning(mut response: Response) -> String {
    let mut body = BytesMut::new();
    while body.len() < ERROR_BODY {
        match response.chunk().await {
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) | Err(_) => break,
        }
    }
    String::from_utf8_lossy(&body[..body.len().min(ERROR_BODY)]).into_owned()
}

fn failure_of(error: &reqwest::Error) -> RequestError {
    if error.is_connect() {
        RequestError::Unreachable(StartError::Http(reason_of(error)))
    } else {
        RequestError::Http(reason_of(error))
    }
}

/// What the library says, without the URL, which may hold a secret.
fn reason_of(error: &reqwest::Error) -> String {
    let mut reason = if error.is_connect() {
        "no connection could be opened"
    } else if error.is_timeout() {
        "it took too long"
    } else {
        "the exchange broke off"
    }
    .to_owned();
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        if source.source().is_none() {
            reason = format!("{reason} ({source})");
        }
        cause = source.source();
    }
    reason
}

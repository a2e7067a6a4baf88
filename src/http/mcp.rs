//! Streamable HTTP, the server side: sessions, requests, event streams.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, ALLOW, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use serde::Deserialize;

use super::access::new_secret;
use super::routes::refused;
use super::sessions::{Front, OpenSession};
use super::stream::{SessionOutlet, event_stream};
use crate::gateway::{Outlet, PROTOCOL_VERSIONS, Session, code, error};

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The methods that the endpoint knows.
const METHODS: &str = "GET, POST, DELETE";

/// A message, or a batch.
pub(super) async fn post(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let bytes = match whole(body, front.gateway.settings.largest_message).await {
        Ok(bytes) => bytes,
        Err(status) => return refused(status, "the message is too large, or broke off"),
    };
    // A handshake begins a fresh session, whatever id it carries.
    let session = front.named(&head.headers);
    if is_initialize(&bytes) {
        return begin(&front, &bytes).await;
    }
    let open = match session {
        Ok(Some(open)) => open,
        Ok(None) => return without_session(&bytes),
        Err(unknown) => return unknown,
    };
    if !speaks_known_version(&head.headers) {
        return refused(StatusCode::BAD_REQUEST, "the MCP-Protocol-Version is not supported");
    }
    open.session.touch();
    if wants_progress(&bytes) && accepts(&head.headers, "text/event-stream") {
        return answer_as_stream(&front, open, bytes);
    }
    let outlet: Arc<dyn Outlet> = open.outlet;
    json_or_accepted(front.gateway.take(&open.session, &bytes, &outlet).await)
}

/// Reads a body. Of one over the limit the rest is read and dropped, as far again:
/// a client that is still sending would not see the answer.
async fn whole(body: Body, limit: usize) -> Result<Bytes, StatusCode> {
    let mut pieces = body.into_data_stream();
    let mut kept = BytesMut::new();
    let mut length = 0;
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| StatusCode::BAD_REQUEST)?;
        length += piece.len();
        if length <= limit {
            kept.extend_from_slice(&piece);
        } else if length > limit.saturating_mul(2) {
            break;
        } else {
            kept.clear();
        }
    }
    if length > limit { Err(StatusCode::PAYLOAD_TOO_LARGE) } else { Ok(kept.freeze()) }
}

/// The session's own stream, on which it hears the news.
pub(super) async fn listen(State(front): State<Arc<Front>>, request: Request) -> Response {
    let headers = request.headers();
    if !accepts(headers, "text/event-stream") {
        return refused(
            StatusCode::NOT_ACCEPTABLE,
            "this is an event stream: accept text/event-stream",
        );
    }
    match front.named(headers) {
        Err(unknown) => unknown,
        Ok(None) => refused(StatusCode::BAD_REQUEST, "name the session in Mcp-Session-Id"),
        Ok(Some(open)) => {
            // While the stream is open, the session counts as alive.
            let (stream, response) = event_stream(Some(Box::new(open.session.hold())));
            open.outlet.attach(stream);
            response
        }
    }
}

/// The end of a session.
pub(super) async fn delete(State(front): State<Arc<Front>>, request: Request) -> Response {
    match front.named(request.headers()) {
        Err(unknown) => unknown,
        Ok(None) => refused(StatusCode::BAD_REQUEST, "name the session in Mcp-Session-Id"),
        Ok(Some(open)) => {
            front.end(&open.session);
            StatusCode::NO_CONTENT.into_response()
        }
    }
}

/// Any other method.
pub(super) async fn other_method() -> Response {
    (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, METHODS)], "use POST, GET or DELETE").into_response()
}

/// Begins a session.
async fn begin(front: &Front, bytes: &Bytes) -> Response {
    let Ok(id) = new_secret() else {
        return refused(StatusCode::INTERNAL_SERVER_ERROR, "no random numbers to be had");
    };
    let held = Arc::new(SessionOutlet::default());
    let outlet: Arc<dyn Outlet> = held.clone();
    let session = Session::new(&id, outlet.clone());
    let answer = front.gateway.take(&session, bytes, &outlet).await;
    let mut response = json_or_accepted(answer);
    if session.is_greeted() {
        if !front.open(OpenSession { session, outlet: held }) {
            return refused(StatusCode::SERVICE_UNAVAILABLE, "all sessions are in use");
        }
        if let Ok(value) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(SESSION_ID, value);
        }
    }
    response
}

/// A request that wants progress is answered by a stream: its progress, then its answer.
fn answer_as_stream(front: &Arc<Front>, open: OpenSession, bytes: Bytes) -> Response {
    let (stream, response) = event_stream(None);
    let gateway = front.gateway.clone();
    front.tasks.spawn(async move {
        let outlet: Arc<dyn Outlet> = Arc::new(stream.clone());
        tokio::select! {
            answer = gateway.take(&open.session, &bytes, &outlet) => {
                if let Some(answer) = answer {
                    stream.finish(answer).await;
                }
            }
            // The client is gone: dropping the request cancels it upstream.
            () = stream.closed() => {}
        }
    });
    response
}

/// What a request without session is told.
fn without_session(bytes: &Bytes) -> Response {
    let body = match serde_json::from_slice::<serde::de::IgnoredAny>(bytes) {
        Ok(_) => error(
            "null",
            code::INVALID_REQUEST,
            "send `initialize` first, then name the session in Mcp-Session-Id",
        ),
        Err(_) => error("null", code::PARSE_ERROR, "the body is not JSON in UTF-8"),
    };
    (StatusCode::BAD_REQUEST, [(CONTENT_TYPE, "application/json")], body).into_response()
}

/// An answer as JSON; what needs no answer is accepted.
fn json_or_accepted(answer: Option<Bytes>) -> Response {
    let Some(answer) = answer else { return StatusCode::ACCEPTED.into_response() };
    let is_unreadable = answer.starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":");
    let mut response = Response::new(Body::from(answer));
    if is_unreadable {
        *response.status_mut() = StatusCode::BAD_REQUEST;
    }
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A missing version is forgiven, as the revisions before 2025-06-18 send none.
fn speaks_known_version(headers: &HeaderMap) -> bool {
    headers.get(PROTOCOL_VERSION).is_none_or(|value| {
        PROTOCOL_VERSIONS.iter().any(|known| value.as_bytes() == known.as_bytes())
    })
}

fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    headers.get_all(ACCEPT).iter().any(|value| {
        let value = value.to_str().unwrap_or_default().to_lowercase();
        value.contains(media_type) || value.contains("*/*")
    })
}

fn is_initialize(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Method<'a> {
        #[serde(borrow)]
        method: std::borrow::Cow<'a, str>,
    }
    memchr::memmem::find(bytes, b"initialize").is_some()
        && serde_json::from_slice::<Method<'_>>(bytes)
            .is_ok_and(|message| message.method == "initialize")
}

/// Whether a request may ask for progress: a look at the bytes is enough, for a
/// stream with an answer alone is as good as the answer.
fn wants_progress(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, b"\"progressToken\"").is_some()
}

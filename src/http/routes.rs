//! Which path does what.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::access::Access;
use super::sessions::Front;
use super::{mcp, status};

/// What open requests get when the gateway ends.
const FAREWELL: Duration = Duration::from_secs(1);

/// Serves `listener` until `stop`.
pub async fn serve(
    listener: TcpListener,
    front: Arc<Front>,
    access: Access,
    stop: CancellationToken,
) -> io::Result<()> {
    let router = routes(front, access);
    // Without it every answer waits for the client's delayed acknowledgement.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection keeps Nagle's algorithm");
        }
    });
    let serving = axum::serve(listener, router);
    let ending = stop.clone();
    let graceful = serving.with_graceful_shutdown(async move { ending.cancelled().await });
    tokio::select! {
        served = graceful => served,
        // Open event streams would keep a graceful end waiting for ever.
        () = async { stop.cancelled().await; tokio::time::sleep(FAREWELL).await } => Ok(()),
    }
}

fn routes(front: Arc<Front>, access: Access) -> Router {
    let endpoint =
        || get(mcp::listen).post(mcp::post).delete(mcp::delete).fallback(mcp::other_method);
    let guarded = Router::new()
        .route("/mcp", endpoint())
        .route("/mcp/", endpoint())
        .route("/api/servers", get(status::servers))
        .route("/api/index", get(status::index))
        .with_state(front)
        .layer(from_fn_with_state(access.clone(), require_token));
    Router::new()
        .route("/health", get(status::health))
        .merge(guarded)
        .layer(from_fn_with_state(access, require_own_host))
}

async fn require_own_host(State(access): State<Access>, request: Request, next: Next) -> Response {
    match access.check_origin(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

async fn require_token(State(access): State<Access>, request: Request, next: Next) -> Response {
    match access.check_token(request.headers()) {
        Ok(()) => next.run(request).await,
        Err((status, reason)) => {
            let challenge = [("www-authenticate", "Bearer realm=\"coffer\"")];
            (status, challenge, reason).into_response()
        }
    }
}

/// A refusal in plain words.
pub(super) fn refused(status: StatusCode, reason: &'static str) -> Response {
    (status, reason).into_response()
}

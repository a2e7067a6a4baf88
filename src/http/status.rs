//! What the command line asks of a running gateway.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

use super::sessions::Front;
use crate::gateway::UpstreamReport;

/// Says that the gateway is up, and nothing else: it needs no token.
pub(super) async fn health() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], "{\"status\":\"ok\"}")
}

/// Where each server stands, with the last lines it printed, masked.
pub(super) async fn servers(State(front): State<Arc<Front>>) -> impl IntoResponse {
    let reports: Vec<UpstreamReport> =
        front.gateway.fleet.all().iter().map(|upstream| upstream.report()).collect();
    let text = serde_json::to_string(&reports).unwrap_or_else(|_| "[]".to_owned());
    ([(CONTENT_TYPE, "application/json")], text)
}

/// What there is of search by meaning.
pub(super) async fn index(State(front): State<Arc<Front>>) -> impl IntoResponse {
    let status = serde_json::to_string(&front.gateway.vectors.status());
    ([(CONTENT_TYPE, "application/json")], status.unwrap_or_else(|_| "{}".to_owned()))
}

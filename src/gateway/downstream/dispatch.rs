//! What is done for each message of a client.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::forward::{Origin, refusal};
use super::gateway::Gateway;
use super::initialize::initialize;
use super::session::{Outlet, Session};
use crate::domain::EntryKind;
use crate::gateway::wire::{Message, Reply, code, error, response};

/// Most messages of one batch.
const LARGEST_BATCH: usize = 100;

impl Gateway {
    /// Takes what a client sent: one message, or a batch of the revisions that
    /// know batches. Returns the answer, if there is to be one. Messages about the
    /// request, such as progress, go to `outlet`.
    pub async fn take(
        &self,
        session: &Arc<Session>,
        bytes: &Bytes,
        outlet: &Arc<dyn Outlet>,
    ) -> Option<Bytes> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Some(error("null", code::PARSE_ERROR, "the message is not valid UTF-8"));
        };
        let text = text.trim_start_matches('\u{feff}').trim();
        let origin = Origin { session, outlet };
        if text.starts_with('[') {
            return self.take_batch(origin, text).await;
        }
        match Message::parse(text) {
            Ok(message) => self.take_one(origin, &message).await,
            Err(reason) if reason.is_data() => {
                Some(error("null", code::INVALID_REQUEST, "the message is no JSON-RPC request"))
            }
            Err(reason) => {
                // Position only: the text of the error may repeat what was sent.
                let place = format!("not JSON: error in column {}", reason.column());
                Some(error("null", code::PARSE_ERROR, &place))
            }
        }
    }

    async fn take_batch(&self, origin: Origin<'_>, text: &str) -> Option<Bytes> {
        let Ok(batch) = serde_json::from_str::<Vec<&RawValue>>(text) else {
            return Some(error("null", code::PARSE_ERROR, "the batch is not JSON"));
        };
        if batch.is_empty() || batch.len() > LARGEST_BATCH {
            let reason = format!("a batch holds 1 to {LARGEST_BATCH} messages");
            return Some(error("null", code::INVALID_REQUEST, &reason));
        }
        let answers = batch.into_iter().map(|item| async move {
            match Message::parse(item.get()) {
                Ok(message) => self.take_one(origin, &message).await,
                Err(_) => Some(error("null", code::INVALID_REQUEST, "no JSON-RPC request")),
            }
        });
        let answers = futures_util::future::join_all(answers).await;
        let answers: Vec<Bytes> = answers.into_iter().flatten().collect();
        if answers.is_empty() {
            return None;
        }
        let joined = answers.join(&b","[..]);
        Some(Bytes::from([b"[", joined.as_slice(), b"]"].concat()))
    }

    async fn take_one(&self, origin: Origin<'_>, message: &Message<'_>) -> Option<Bytes> {
        let is_versioned = message.jsonrpc.is_some_and(|version| version.get() == "\"2.0\"");
        let id = message.id.map(RawValue::get);
        let method = match (message.method.as_deref(), id) {
            (Some(method), Some(_)) => method,
            (Some(method), None) => {
                take_notification(origin.session, method, message.params);
                return None;
            }
            // An answer to a request: none was made, so it is nobody's.
            (None, Some(_)) if message.result.is_some() || message.error.is_some() => return None,
            (None, _) => {
                return Some(error("null", code::INVALID_REQUEST, "the message has no `method`"));
            }
        };
        let id = id.filter(|id| is_legal_id(id));
        let Some(id) = id.filter(|_| is_versioned) else {
            let reason =
                "a request needs \"jsonrpc\": \"2.0\" and an `id` that is a text or an integer";
            return Some(error(id.unwrap_or("null"), code::INVALID_REQUEST, reason));
        };
        if let Some(answer) = self.answer_at_once(origin.session, id, method, message.params) {
            return Some(answer);
        }
        if let Some(kind) = listed_by(method) {
            origin.session.touch();
            self.opened().await;
            return Some(response(id, self.catalog.view().list(kind)));
        }
        let Some(begun) = origin.session.begin(id) else {
            let reason = format!("id {id} belongs to a request that is still under way");
            return Some(error(id, code::INVALID_REQUEST, &reason));
        };
        let reply = async {
            match method {
                "tools/call" => self.call_tool(origin, message.params).await,
                "prompts/get" => self.get_prompt(origin, message.params).await,
                "resources/read" => self.read_resource(origin, message.params).await,
                _ => refusal(code::METHOD_NOT_FOUND, &format!("no method `{method}`")),
            }
        };
        // A cancelled request is never answered; dropping it cancels it upstream.
        let token = begun.token.clone();
        let reply: Reply = token.run_until_cancelled(reply).await?;
        Some(reply.to_response(id))
    }

    /// The handshake, `ping`, and what comes too early.
    fn answer_at_once(
        &self,
        session: &Session,
        id: &str,
        method: &str,
        params: Option<&RawValue>,
    ) -> Option<Bytes> {
        match method {
            "ping" => Some(response(id, "{}")),
            "initialize" => {
                let (result, client) = initialize(params, &self.catalog.servers());
                Some(if session.greet(client) {
                    response(id, &result)
                } else {
                    error(id, code::INVALID_REQUEST, "this session is initialized already")
                })
            }
            _ if !session.is_greeted() => {
                let reason = "the session is not initialized; send `initialize` first";
                Some(error(id, code::INVALID_REQUEST, reason))
            }
            _ => None,
        }
    }
}

/// What a list request lists.
fn listed_by(method: &str) -> Option<EntryKind> {
    match method {
        "tools/list" => Some(EntryKind::Tool),
        "prompts/list" => Some(EntryKind::Prompt),
        "resources/list" => Some(EntryKind::Resource),
        "resources/templates/list" => Some(EntryKind::Template),
        _ => None,
    }
}

fn take_notification(session: &Session, method: &str, params: Option<&RawValue>) {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Cancelled<'a> {
        #[serde(borrow)]
        request_id: &'a RawValue,
    }
    session.touch();
    if method == "notifications/cancelled"
        && let Some(params) = params
        && let Ok(cancelled) = serde_json::from_str::<Cancelled<'_>>(params.get())
    {
        session.cancel(cancelled.request_id.get());
    }
}

fn is_legal_id(id: &str) -> bool {
    id.starts_with('"')
        || id.strip_prefix('-').unwrap_or(id).bytes().all(|byte| byte.is_ascii_digit())
}

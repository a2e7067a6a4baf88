//! Requests that go upstream: found, let through, passed on, logged.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::gateway::Gateway;
use super::record::Record;
use super::rewrite::{Target, with_token};
use super::session::{Outlet, Session};
use crate::catalog::{Route, Switch};
use crate::domain::{CallStatus, ExposedName, OWN_SERVER, ServerName, split_resource_uri};
use crate::gateway::builtin::{SEARCH_TOOLS, SearchArguments, search_tools, tool_error};
use crate::gateway::upstream::{Limits, ProgressSink, RequestError};
use crate::gateway::wire::{Reply, code, error_object, notification};

/// The session and where its messages about one request go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin<'a> {
    pub(super) session: &'a Arc<Session>,
    pub(super) outlet: &'a Arc<dyn Outlet>,
}

/// What goes upstream.
struct Passage<'a> {
    method: &'a str,
    target: &'a Target<'a>,
    server: &'a ServerName,
    original: &'a str,
}

impl Gateway {
    /// `tools/call`.
    pub(super) async fn call_tool(&self, origin: Origin<'_>, params: Option<&RawValue>) -> Reply {
        let target = match Target::open(params, "name") {
            Ok(target) => target,
            Err(reason) => return refusal(code::INVALID_PARAMS, &reason),
        };
        if target.name == ExposedName::own(SEARCH_TOOLS).as_str() {
            return self.search(origin, &target).await;
        }
        self.opened().await;
        if let Err((server, error)) = self.listed_server_of(&target.name).await {
            let record = Record::begin(&self.log, origin.session, server.as_str(), "tool", "");
            finish(record, &Err(error.clone()));
            return Reply::Result(tool_error(&sentence(&server, &error), error.class()).into());
        }
        let view = self.catalog.view();
        let begin = |server: &str, name: &str| {
            Record::begin(&self.log, origin.session, server, "tool", name)
        };
        let Some(route) = view.tool(&target.name) else {
            // The name is the client's own text, so the log does not repeat it.
            begin("", "").finish(CallStatus::Error, Some("unknown-tool"));
            let sentence = unknown_tool(&target.name, &view.resembling(&target.name));
            return refusal(code::INVALID_PARAMS, &sentence);
        };
        let Route { server, original, switch } = route;
        let record = begin(server.as_str(), original);
        let switched_off = match switch {
            Switch::On => None,
            Switch::ToolOff => Some(("tool", target.name.as_str())),
            Switch::ServerOff => Some(("server", server.as_str())),
        };
        if let Some((noun, name)) = switched_off {
            record.finish(CallStatus::Denied, Some("disabled"));
            let sentence = format!(
                "{noun} `{name}` is disabled; the user can switch it on again with `coffer enable {name}`"
            );
            return refusal(code::DENIED, &sentence);
        }
        let passage = Passage { method: "tools/call", target: &target, server, original };
        let outcome = self.pass_on(origin, &passage).await;
        finish(record, &outcome);
        match outcome {
            Ok(reply) => reply,
            Err(error) => {
                Reply::Result(tool_error(&sentence(server, &error), error.class()).into())
            }
        }
    }

    /// `prompts/get`.
    pub(super) async fn get_prompt(&self, origin: Origin<'_>, params: Option<&RawValue>) -> Reply {
        let target = match Target::open(params, "name") {
            Ok(target) => target,
            Err(reason) => return refusal(code::INVALID_PARAMS, &reason),
        };
        let view = self.catalog.view();
        let Some(Route { server, original, .. }) = view.prompt(&target.name) else {
            return refusal(code::INVALID_PARAMS, &format!("no prompt named `{}`", target.name));
        };
        let passage = Passage { method: "prompts/get", target: &target, server, original };
        let record = Record::begin(&self.log, origin.session, server.as_str(), "prompt", original);
        let outcome = self.pass_on(origin, &passage).await;
        finish(record, &outcome);
        outcome.unwrap_or_else(|error| failed(server, &error))
    }

    /// `resources/read`.
    pub(super) async fn read_resource(
        &self,
        origin: Origin<'_>,
        params: Option<&RawValue>,
    ) -> Reply {
        let target = match Target::open(params, "uri") {
            Ok(target) => target,
            Err(reason) => return refusal(code::INVALID_PARAMS, &reason),
        };
        let known =
            split_resource_uri(&target.name).filter(|(server, _)| self.fleet.get(server).is_some());
        let Some((server, original)) = known else {
            let sentence = format!(
                "no resource `{}`; resources are named `coffer://<server>/<uri>`, see resources/list",
                target.name
            );
            return refusal(code::INVALID_PARAMS, &sentence);
        };
        let passage =
            Passage { method: "resources/read", target: &target, server: &server, original };
        let record = Record::begin(&self.log, origin.session, server.as_str(), "resource", "");
        let outcome = self.pass_on(origin, &passage).await;
        finish(record, &outcome);
        outcome.unwrap_or_else(|error| failed(&server, &error))
    }

    async fn search(&self, origin: Origin<'_>, target: &Target<'_>) -> Reply {
        let record = Record::begin(&self.log, origin.session, OWN_SERVER, "tool", SEARCH_TOOLS);
        let arguments = target
            .arguments
            .and_then(|raw| serde_json::from_str::<Map<String, Value>>(raw.get()).ok())
            .unwrap_or_default();
        let arguments = match SearchArguments::read(&arguments) {
            Ok(arguments) => arguments,
            Err(sentence) => {
                record.finish(CallStatus::Error, Some("bad-arguments"));
                return Reply::Result(tool_error(&sentence, "bad-arguments").into());
            }
        };
        self.opened().await;
        let meaning = self.vectors.embed(&arguments.query).await;
        let answer = search_tools(&self.catalog.view(), &self.search_context(meaning), arguments);
        record.finish(CallStatus::Ok, None);
        Reply::Result(answer.into())
    }

    /// Makes sure that the server which `name` begins with has been listed: a tool of
    /// a server that has never been reached is not unknown, only out of reach.
    async fn listed_server_of(&self, name: &str) -> Result<(), (ServerName, RequestError)> {
        if self.catalog.view().tool(name).is_some() {
            return Ok(());
        }
        let servers = self.fleet.all();
        let named = servers.iter().find(|upstream| upstream.is_named_in(name));
        let Some(upstream) = named else { return Ok(()) };
        let limit = self.settings.list_timeout;
        upstream
            .listed(self.settings.start_timeout, limit)
            .await
            .map_err(|error| (upstream.name().clone(), error))?;
        self.catalog.settled().await;
        Ok(())
    }

    /// Passes a request on and returns the reply unchanged.
    async fn pass_on(
        &self,
        origin: Origin<'_>,
        passage: &Passage<'_>,
    ) -> Result<Reply, RequestError> {
        let progress = passage.target.token().map(|token| {
            let (token, outlet) = (token.to_owned(), origin.outlet.clone());
            ProgressSink(Arc::new(move |params: &str| {
                if let Some(params) = with_token(params, &token) {
                    outlet.send(notification("notifications/progress", Some(&params)));
                }
            }))
        });
        let limits =
            Limits { silence: self.settings.call_timeout, total: self.settings.longest_call };
        let params = |id| Some(passage.target.for_upstream(passage.original, id));
        let session = &origin.session.id;
        let connection = self.fleet.connection(passage.server, session).await?;
        match connection.request(passage.method, params, progress.clone(), limits).await {
            // The server has just ended, and is asked again once it is back.
            Err(RequestError::NotSent) => {
                let connection = self.fleet.connection(passage.server, session).await?;
                connection.request(passage.method, params, progress, limits).await
            }
            outcome => outcome,
        }
    }
}

fn finish(record: Record, outcome: &Result<Reply, RequestError>) {
    match outcome {
        Ok(reply @ Reply::Result(_)) if reply.is_tool_error() => {
            record.finish(CallStatus::Error, Some("tool-error"));
        }
        Ok(Reply::Result(_)) => record.finish(CallStatus::Ok, None),
        Ok(Reply::Error(_)) => record.finish(CallStatus::Error, Some("protocol-error")),
        Err(error @ RequestError::Timeout { .. }) => {
            record.finish(CallStatus::Timeout, Some(error.class()));
        }
        Err(error) => record.finish(CallStatus::Error, Some(error.class())),
    }
}

/// A failure in words for a model: which server, what happened, what to try.
fn sentence(server: &ServerName, error: &RequestError) -> String {
    let advice = match error {
        RequestError::Unreachable(_) => {
            "Try again in a moment, use another tool, or ask the user to run `coffer test` for it."
        }
        RequestError::NotSent => "It is started again; repeat this call.",
        RequestError::Died => {
            "It is started again for the next call; check before you repeat this one."
        }
        RequestError::Timeout { .. } => {
            "The call was cancelled, but may have taken effect; check before you repeat it."
        }
        RequestError::TooLarge { .. } => "Ask for less at a time.",
        RequestError::Empty | RequestError::Refused { .. } | RequestError::Http(_) => {
            "Try again in a moment, or use another tool."
        }
    };
    let happened = error.to_string();
    let stop = if happened.ends_with(['?', '.', '!']) { "" } else { "." };
    format!("Server `{server}` {happened}{stop} {advice}")
}

fn failed(server: &ServerName, error: &RequestError) -> Reply {
    let code = match error {
        RequestError::Unreachable(_) | RequestError::Http(_) => code::UNREACHABLE,
        RequestError::Died
        | RequestError::NotSent
        | RequestError::TooLarge { .. }
        | RequestError::Refused { .. }
        | RequestError::Empty => code::DIED,
        RequestError::Timeout { .. } => code::TIMEOUT,
    };
    refusal(code, &sentence(server, error))
}

fn unknown_tool(name: &str, resembling: &[&str]) -> String {
    let name: String = name.chars().take(100).collect();
    match resembling {
        [] => format!("no tool named `{name}`; coffer__search_tools finds tools by what they do"),
        names => format!("no tool named `{name}`; did you mean `{}`?", names.join("`, `")),
    }
}

pub(super) fn refusal(code: i32, message: &str) -> Reply {
    Reply::Error(error_object(code, message).into())
}

//! `coffer call`: one call, as an agent would make it.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

use super::arguments::CallArguments;
use super::context::{Context, runtime, servers_of};
use super::error::{CliError, Kind};
use super::output;
use crate::app::{Running, Start, Which, kept_catalog};
use crate::catalog::Route;
use crate::domain::ExposedName;
use crate::gateway::{Outlet, SEARCH_TOOLS, Session, code};

/// Nothing is asked for that would need it.
#[derive(Debug)]
struct NoOutlet;

impl Outlet for NoOutlet {
    fn send(&self, _: Bytes) -> bool {
        false
    }
}

pub(super) fn run(context: &Context, arguments: &CallArguments) -> Result<(), CliError> {
    let given = serde_json::from_str::<&RawValue>(&arguments.arguments)
        .ok()
        .filter(|raw| raw.get().starts_with('{'))
        .ok_or_else(|| {
            CliError::new(Kind::Invalid, "the arguments are no JSON object").hint(format!(
                "for example: coffer call {} '{{\"key\": \"value\"}}'",
                arguments.name
            ))
        })?;
    let config = context.config()?;
    let ad_hoc = servers_of(arguments.config.as_deref())?;
    let which = server_of(context, &ad_hoc, &arguments.name)?;
    let start = Start { config: &config, variables: &context.variables, ad_hoc, which };
    let name = Value::from(arguments.name.as_str());
    let message = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{{\"name\":{name},\"arguments\":{}}}}}",
        given.get()
    );
    let (answer, is_let_through) = runtime()?.block_on(async {
        let running = Running::start(start)?;
        let answer = ask(&running, message).await;
        let view = running.gateway.catalog.view();
        let is_let_through = view.tool(&arguments.name).is_some_and(Route::is_enabled);
        running.shut_down().await;
        Ok::<_, CliError>((answer, is_let_through))
    })?;
    report(&answer, is_let_through, arguments.json)
}

/// The server whose tool is called; without a kept catalogue, by the name's beginning.
fn server_of(
    context: &Context,
    ad_hoc: &[crate::domain::Server],
    name: &str,
) -> Result<Which, CliError> {
    if name == ExposedName::own(SEARCH_TOOLS).as_str() {
        return Ok(Which::NoServer);
    }
    let snapshot = context.snapshot()?;
    let catalog = kept_catalog(&snapshot, ad_hoc);
    if let Some(route) = catalog.view().tool(name) {
        return Ok(Which::One(route.server.clone()));
    }
    let servers = catalog.servers();
    let by_beginning = servers.iter().map(|known| &known.server.name).find(|server| {
        name.strip_prefix(server.as_str()).is_some_and(|rest| rest.starts_with("__"))
    });
    by_beginning.cloned().map(Which::One).ok_or_else(|| {
        let error = CliError::new(Kind::NotFound, format!("no tool is called `{name}`"));
        match catalog.view().resembling(name).first() {
            Some(nearest) => error.hint(format!("did you mean `{nearest}`?")),
            None => error.hint("`coffer tools` shows all tools"),
        }
    })
}

async fn ask(running: &Running, message: String) -> Bytes {
    let outlet: Arc<dyn Outlet> = Arc::new(NoOutlet);
    let session = Session::new("command-line", outlet.clone());
    let hello = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{{}},\"clientInfo\":{{\"name\":\"coffer-cli\",\"version\":\"{}\"}}}}}}",
        env!("CARGO_PKG_VERSION")
    );
    running.gateway.take(&session, &Bytes::from(hello), &outlet).await;
    let answer = running.gateway.take(&session, &Bytes::from(message), &outlet).await;
    running.gateway.leave(&session);
    answer.unwrap_or_default()
}

/// `is_let_through`: an error then is the server's own, whatever its code.
fn report(answer: &[u8], is_let_through: bool, json: bool) -> Result<(), CliError> {
    #[derive(serde::Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        result: Option<&'a RawValue>,
        error: Option<Value>,
    }
    let answer: Answer<'_> = serde_json::from_slice(answer)?;
    if let Some(error) = answer.error {
        let kind = match error["code"].as_i64().and_then(|code| i32::try_from(code).ok()) {
            Some(code::INVALID_PARAMS) if !is_let_through => Kind::NotFound,
            Some(code::DENIED) if !is_let_through => Kind::Refused,
            Some(_) | None => Kind::Unexpected,
        };
        let message = error["message"].as_str().unwrap_or("the server answered with an error");
        return Err(CliError::new(kind, message));
    }
    let raw = answer.result.map(RawValue::get).unwrap_or("null");
    let result: Value = serde_json::from_str(raw)?;
    if json {
        output::raw(raw);
    } else {
        print_content(&result);
    }
    if result["isError"] != true {
        return Ok(());
    }
    let class = result["_meta"]["coffer/error"].as_str();
    let kind = match class {
        Some("timeout") => Kind::Timeout,
        Some(_) => Kind::Unavailable,
        None => Kind::Unexpected,
    };
    Err(CliError::new(kind, "the call ended in an error"))
}

fn print_content(result: &Value) {
    for block in result["content"].as_array().into_iter().flatten() {
        let text = block["text"].as_str();
        output::line(&text.map_or_else(|| block.to_string(), ToOwned::to_owned));
    }
    let is_bare = result["content"].as_array().is_none_or(Vec::is_empty);
    if is_bare && !result["structuredContent"].is_null() {
        output::line(&result["structuredContent"].to_string());
    }
}

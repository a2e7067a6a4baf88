//! `coffer serve`

use std::net::SocketAddr;

use super::arguments::ServeArguments;
use super::context::{Context, runtime, servers_of};
use super::error::{CliError, Kind};
use super::output;
use crate::app::{Listening, Start, Which, serve_http};
use crate::config::Layer;

pub(super) fn run(context: &Context, arguments: ServeArguments) -> Result<(), CliError> {
    let flags = Layer { bind: arguments.bind, port: arguments.port, ..Layer::default() };
    let config = context.config_with(flags)?;
    if arguments.no_token && !config.bind.is_loopback() {
        let message =
            format!("`--no-token` is for loopback addresses, and {} is none", config.bind);
        return Err(CliError::new(Kind::Refused, message)
            .hint("leave `--no-token` away, or bind to 127.0.0.1"));
    }
    let ad_hoc = servers_of(arguments.config.as_deref())?;
    let address = SocketAddr::new(config.bind, config.port);
    let start = Start { config: &config, variables: &context.variables, ad_hoc, which: Which::All };
    let token_file = config.folders.token();
    runtime()?.block_on(serve_http(start, address, arguments.no_token, |listening| {
        announce(listening, &token_file.display().to_string());
    }))?;
    Ok(())
}

fn announce(listening: &Listening, token_file: &str) {
    let url = format!("http://{}/mcp", listening.address);
    output::note(&format!("Coffer serves {url}"));
    if listening.token.is_some() {
        output::note(&format!(
            "Agents send `Authorization: Bearer TOKEN`; the token is in {token_file}\n\
             For example: claude mcp add --transport http coffer {url} --header \"Authorization: Bearer $(cat {token_file})\""
        ));
    } else {
        output::note("No token is required: every program on this machine can use it.");
    }
}

//! `coffer stdio`

use super::arguments::StdioArguments;
use super::context::{Context, runtime, servers_of};
use super::error::CliError;
use crate::app::{Start, Which, serve_standalone};

pub(super) fn run(context: &Context, arguments: &StdioArguments) -> Result<(), CliError> {
    if !arguments.standalone {
        tracing::info!("there is no shared gateway yet; everything runs in this process");
    }
    let config = context.config()?;
    let ad_hoc = servers_of(arguments.config.as_deref())?;
    let start = Start { config: &config, variables: &context.variables, ad_hoc, which: Which::All };
    runtime()?.block_on(serve_standalone(start))?;
    Ok(())
}

//! `coffer example-server`

use std::path::PathBuf;

use super::context::{Context, runtime};
use super::error::{CliError, Kind};
use crate::example_server::serve_stdio;

pub(super) fn run(context: &Context, folder: Option<PathBuf>) -> Result<(), CliError> {
    let folder = match folder {
        Some(folder) => folder,
        None => context.config()?.folders.example(),
    };
    runtime()?
        .block_on(serve_stdio(&folder))
        .map_err(|error| CliError::new(Kind::Unexpected, error.to_string()))
}

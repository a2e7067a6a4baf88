//! Logging set-up: standard error only, in one format.

use std::io;

use tracing_subscriber::EnvFilter;

/// How much is logged when nothing is said: what somebody should look at.
const DEFAULT_FILTER: &str = "warn";

/// Sends log lines that pass `filter` to standard error. A filter that cannot be
/// read counts as the default. Only the first call has an effect.
pub fn start(filter: Option<&str>) {
    let filter = filter.and_then(|text| EnvFilter::try_new(text).ok());
    let filter = filter.unwrap_or_else(|| EnvFilter::new(DEFAULT_FILTER));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::IsTerminal::is_terminal(&io::stderr()))
        .finish();
    let _already_set = tracing::subscriber::set_global_default(subscriber);
}

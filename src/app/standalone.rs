//! The gateway behind standard input and output: everything in one process.

use super::running::{AppError, Running, Start, system};
use super::signals::Signals;
use crate::gateway::serve_stdio;
use crate::http::new_secret;

/// Serves one client on standard input and output until it leaves.
pub async fn serve_standalone(start: Start<'_>) -> Result<(), AppError> {
    // First of all, so that a signal during the start ends everything in order.
    let mut signals = Signals::listen().map_err(|source| system("listening to signals", source))?;
    let running = Running::start(start)?;
    let session = new_secret().unwrap_or_else(|_| "stdio".to_owned());
    let stop = running.stop.clone();
    let signalled = async {
        signals.asked_to_end().await;
        stop.cancel();
        std::future::pending::<()>().await;
    };
    let served = tokio::select! {
        served = serve_stdio(&running.gateway, &session, &running.tasks, &stop) => served,
        () = signalled => Ok(()),
    };
    running.shut_down().await;
    served.map_err(|source| system("serving standard input and output", source))
}

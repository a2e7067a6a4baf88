//! The gateway behind standard input and output: everything in one process.

use super::running::{AppError, Running, Start};
use super::signals::asked_to_end;
use crate::gateway::serve_stdio;
use crate::http::new_secret;

/// Serves one client on standard input and output until it leaves.
pub async fn serve_standalone(start: Start<'_>) -> Result<(), AppError> {
    let running = Running::start(start)?;
    let session = new_secret().unwrap_or_else(|_| "stdio".to_owned());
    let stop = running.stop.clone();
    let signalled = async {
        asked_to_end().await;
        stop.cancel();
        std::future::pending::<()>().await;
    };
    let served = tokio::select! {
        served = serve_stdio(&running.gateway, &session, &running.tasks, &stop) => served,
        () = signalled => Ok(()),
    };
    running.shut_down().await;
    served.map_err(|source| AppError::System {
        what: "serving standard input and output".to_owned(),
        source,
    })
}

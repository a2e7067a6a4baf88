//! What asks the program to end.

use tokio::signal::unix::{SignalKind, signal};

/// Waits for SIGINT, SIGTERM or SIGHUP.
pub(super) async fn asked_to_end() {
    let signals = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
        signal(SignalKind::hangup()),
    );
    match signals {
        (Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)) => {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
        }
        _ => {
            tracing::warn!("signals cannot be heard; the program ends with its input");
            std::future::pending::<()>().await;
        }
    }
}

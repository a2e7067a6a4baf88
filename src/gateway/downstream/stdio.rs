//! The transport over standard input and output: one session, the process's own.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::gateway::Gateway;
use super::session::{Outlet, Session};
use crate::gateway::wire::{Line, LineReader, Outbox, code, error};
use crate::sys::Pipe;

/// Serves one client until its input ends or `stop`; answers under way are
/// cancelled then.
pub async fn serve_stdio(
    gateway: &Arc<Gateway>,
    session_id: &str,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) -> io::Result<()> {
    let (stdout, pump) = Pipe::stdout()?;
    let outbox = Outbox::new(stdout);
    let draining = {
        let outbox = outbox.clone();
        tasks.spawn(async move { outbox.drain().await })
    };
    let mut lines = LineReader::new(Pipe::stdin()?, gateway.settings.largest_message);
    let outlet: Arc<dyn Outlet> = outbox.clone();
    let session = Session::new(session_id, outlet.clone());
    gateway.join(&session);
    let requests = TaskTracker::new();
    loop {
        stop.run_until_cancelled(outbox.room()).await;
        // A client that reads nothing has lost answers; it must see the end.
        if outbox.is_closed() {
            break;
        }
        let line = match stop.run_until_cancelled(lines.next()).await {
            None => break,
            Some(Ok(Some(Line::Whole(line)))) => line,
            Some(Ok(Some(Line::TooLong(_)))) => {
                let limit = gateway.settings.largest_message >> 20;
                let reason = format!("the message is larger than {limit} MiB");
                outbox.send(error("null", code::INVALID_REQUEST, &reason));
                continue;
            }
            Some(Ok(None) | Err(_)) => break,
        };
        let (gateway, session, outbox) = (gateway.clone(), session.clone(), outbox.clone());
        let mut answering =
            Box::pin(async move { answer(&gateway, &session, &outbox, &line).await });
        // Begun before the next line is read, so that a cancellation that follows
        // at once finds its request; what has to wait goes on by itself.
        let begun = poll_fn(|context| Poll::Ready(answering.as_mut().poll(context))).await;
        if begun.is_pending() {
            requests.spawn(answering);
        }
    }
    // A client that closes its input may still read what it asked for a moment ago.
    requests.close();
    let _cut_short = tokio::time::timeout(FAREWELL, requests.wait()).await;
    gateway.leave(&session);
    requests.wait().await;
    outbox.close();
    let _nobody_reads = tokio::time::timeout(FAREWELL, draining).await;
    drop((session, outlet, outbox));
    if let Some(pump) = pump {
        let joining = tokio::task::spawn_blocking(move || pump.join());
        let _nobody_reads = tokio::time::timeout(FAREWELL, joining).await;
    }
    Ok(())
}

/// What requests and answers under way get when the input has ended.
const FAREWELL: std::time::Duration = std::time::Duration::from_millis(500);

async fn answer(
    gateway: &Arc<Gateway>,
    session: &Arc<Session>,
    outbox: &Arc<Outbox>,
    line: &Bytes,
) {
    let outlet: Arc<dyn Outlet> = outbox.clone();
    if let Some(answer) = gateway.take(session, line, &outlet).await {
        outbox.send(answer);
    }
}

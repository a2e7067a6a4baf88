//! Keeps one server connected and its lists fresh, until it is stopped.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::backoff::{PROVEN_AFTER, pause_after};
use super::connection::{Connection, Event, Link, Sizes};
use super::error::{NO_MESSAGES, StartError};
use super::fleet::FleetParts;
use super::http::HttpLink;
use super::listing::list_all;
use super::process::{Launch, Process};
use super::ring::Ring;
use super::state::{ListingState, Phase, Upstream};
use crate::domain::{Manifest, Server, StdioTransport, Transport};

/// A connection with what is needed to end it.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) connection: Arc<Connection>,
    pub(super) process: Option<Process>,
    pub(super) events: UnboundedReceiver<Event>,
}

impl Opened {
    pub(super) async fn close(self) {
        self.connection.say_goodbye().await;
        self.connection.close();
        if let Some(process) = self.process {
            process.stop().await;
        }
    }
}

/// How much longer than its start timeout a server is given before it is stopped:
/// a first start may have to download it, and would begin anew each time.
const PATIENCE: u32 = 10;

/// Starts or reaches `server` and shakes hands. On failure, or on `stop`, nothing
/// is left behind.
pub(super) async fn open(
    server: &Server,
    parts: &FleetParts,
    stop: &CancellationToken,
    keep_ring: impl FnOnce(Arc<Ring>),
) -> Result<Opened, StartError> {
    let environment = parts.environment.clone();
    let transport = server.transport.expanded(&|name| environment.get(name))?;
    let ring = Arc::new(Ring::new(transport.masker()));
    keep_ring(ring.clone());
    let start_timeout = parts.start_timeout(server) * PATIENCE;
    let sizes = Sizes { largest_message: parts.settings.largest_message, start_timeout };
    let (sender, events) = unbounded_channel();
    let registered = match &server.transport {
        Transport::Stdio(registered) => registered.clone(),
        Transport::Http(_) => StdioTransport::default(),
    };
    let (process, connection) = match transport {
        Transport::Stdio(transport) => {
            let launch = Launch {
                server: server.name.clone(),
                transport,
                registered,
                environment,
                guard: parts.guard.clone(),
                sizes,
                tasks: parts.tasks.clone(),
            };
            let (process, connection) = launch.start(&ring, sender)?;
            (Some(process), connection)
        }
        Transport::Http(transport) => {
            let link = Link::Http(Box::new(HttpLink::new(&transport, parts.tasks.clone())?));
            (None, Connection::new(server.name.clone(), link, ring, sizes, sender))
        }
    };
    let opened = Opened { connection, process, events };
    let greeted = stop.run_until_cancelled(opened.connection.greet()).await;
    match greeted.unwrap_or(Err(StartError::Stopping)) {
        Ok(()) => Ok(opened),
        Err(error) => {
            opened.close().await;
            Err(error)
        }
    }
}

/// Runs one server until `stop`.
pub(super) async fn supervise(upstream: Arc<Upstream>, parts: FleetParts, stop: CancellationToken) {
    let mut failures = 0;
    let mut known = Manifest::default();
    while !stop.is_cancelled() {
        upstream.set(Phase::Starting, None, None);
        let error = match attempt(&upstream, &parts, &stop).await {
            Ok(opened) => {
                let begin = Instant::now();
                serve(&upstream, &parts, (opened, &mut known), &stop).await;
                if begin.elapsed() > PROVEN_AFTER {
                    failures = 0;
                }
                StartError::Lost
            }
            Err(error) => error,
        };
        if stop.is_cancelled() {
            break;
        }
        failures += 1;
        waits(&upstream, &parts, error, failures);
        tokio::select! {
            () = stop.cancelled() => {}
            () = sleep(pause_after(failures)) => {}
            () = upstream.wanted.notified() => {}
            () = upstream.relist.notified() => {}
        }
    }
    upstream.set(Phase::Stopped, None, None);
}

/// One attempt, in its turn. A server that is slow to start is called unreachable
/// after its start timeout and makes room for others, but is not given up.
async fn attempt(
    upstream: &Upstream,
    parts: &FleetParts,
    stop: &CancellationToken,
) -> Result<Opened, StartError> {
    let turn = stop.run_until_cancelled(parts.starts.acquire()).await;
    let mut opening = pin!(open(&upstream.server, parts, stop, |ring| upstream.keep_ring(ring)));
    let limit = parts.start_timeout(&upstream.server);
    tokio::select! {
        opened = &mut opening => return opened,
        () = sleep(limit) => {}
    }
    drop(turn);
    let hint = if upstream.ring().has_noise() { NO_MESSAGES } else { "; it may still be starting" };
    waits(upstream, parts, StartError::Silent { limit, hint }, 1);
    opening.await
}

/// Notes and tells that a server is not reachable.
fn waits(upstream: &Upstream, parts: &FleetParts, error: StartError, failures: u32) {
    let name = &upstream.server.name;
    tracing::warn!(server.name = %name, %error, failures, "server is not reachable");
    (parts.on_state)(name, Some(error.to_string()));
    upstream.set(Phase::Waiting { error, failures }, None, None);
}

/// Serves one connection until it ends or `stop`, keeping the lists fresh.
async fn serve(
    upstream: &Upstream,
    parts: &FleetParts,
    (mut opened, known): (Opened, &mut Manifest),
    stop: &CancellationToken,
) {
    let connection = opened.connection.clone();
    let pid = opened.process.as_ref().map(Process::id);
    let ready = |listing| upstream.set(Phase::Ready { listing }, Some(connection.clone()), pid);
    ready(ListingState::Pending);
    let name = &upstream.server.name;
    let working = async {
        let mut relist_at = Some(Instant::now());
        loop {
            let due = async {
                match relist_at {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                event = opened.events.recv() => match event {
                    None | Some(Event::Closed) => return,
                    Some(Event::Changed(_) | Event::Renewed) => {
                        // The first change sets the time: a server that changes without
                        // end is listed all the same.
                        let soon = Instant::now() + parts.settings.debounce;
                        relist_at = Some(relist_at.map_or(soon, |at| at.min(soon)));
                    }
                },
                () = upstream.relist.notified() => relist_at = Some(Instant::now()),
                () = due => {
                    relist_at = None;
                    match list_all(&connection, parts.settings.list_timeout, known).await {
                        Ok(manifest) => {
                            known.clone_from(&manifest);
                            (parts.on_manifest)(name, manifest);
                            (parts.on_state)(name, None);
                            ready(ListingState::Done);
                        }
                        Err(error) => {
                            let error = error.to_string();
                            tracing::warn!(server.name = %name, %error, "listing failed; the last known tools stay");
                            (parts.on_state)(name, Some(format!("its list of tools: it {error}")));
                            ready(ListingState::Failed(error));
                            relist_at = Some(Instant::now() + Duration::from_secs(30));
                        }
                    }
                }
            }
        }
    };
    let listening = async {
        if let Link::Http(link) = connection.link() {
            link.listen(&connection).await;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = working => {}
        () = listening => {}
        () = stop.cancelled() => {}
    }
    upstream.set(Phase::Starting, None, None);
    opened.close().await;
}

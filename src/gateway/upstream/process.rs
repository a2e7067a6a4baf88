//! The child process of a stdio server: started in a process group of its own,
//! and ended with all that it started.

use std::io;
use std::process::Stdio;
use std::sync::Arc;

use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::TaskTracker;

use super::connection::{Connection, Event, Link, Sizes};
use super::environment::Environment;
use super::error::StartError;
use super::ring::Ring;
use crate::domain::{ServerName, StdioTransport};
use crate::gateway::settings::STOP_GRACE;
use crate::gateway::wire::{Line, LineReader, Outbox};
use crate::sys::{Guard, Pipe, end_group, is_group_alive};

/// Pause between two looks at a group that was asked to end.
const LOOK_AGAIN: std::time::Duration = std::time::Duration::from_millis(20);

/// A line of standard error longer than this is cut.
const LONGEST_ERROR_LINE: usize = 64 * 1024;

/// What starting a child takes.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    pub(super) server: ServerName,
    pub(super) transport: StdioTransport,
    /// The settings as they were registered: what messages may show.
    pub(super) registered: StdioTransport,
    pub(super) environment: Environment,
    pub(super) guard: Option<Arc<Guard>>,
    pub(super) sizes: Sizes,
    pub(super) tasks: TaskTracker,
}

/// A running child.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: i32,
    guard: Option<Arc<Guard>>,
    is_over: bool,
}

/// Where nobody could stop it in order, as after a panic, it is killed.
impl Drop for Process {
    fn drop(&mut self) {
        if !self.is_over {
            end_group(self.group, true);
            self.forget();
        }
    }
}

impl Launch {
    /// Starts the child, and the tasks that carry its messages.
    pub(super) fn start(
        self,
        ring: &Arc<Ring>,
        events: tokio::sync::mpsc::UnboundedSender<Event>,
    ) -> Result<(Process, Arc<Connection>), StartError> {
        let program = self.registered.command.clone();
        let failed = |error: io::Error| StartError::Spawn {
            program: program.clone(),
            reason: error.to_string(),
        };
        let mut command = Command::new(&self.transport.command);
        command
            .args(&self.transport.args)
            .env_clear()
            .envs(self.environment.of_child(&self.transport))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(cwd) = &self.transport.cwd {
            if !std::path::Path::new(cwd).is_dir() {
                let shown = self.registered.cwd.as_deref().unwrap_or_default();
                let reason = format!("its working directory `{shown}` does not exist");
                return Err(StartError::Spawn { program, reason });
            }
            command.current_dir(cwd);
        }
        let mut child = command.spawn().map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                StartError::NoProgram(program.clone())
            } else {
                failed(error)
            }
        })?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).unwrap_or_default();
        if let Some(guard) = &self.guard {
            guard.watch(group);
        }
        let gone = || failed(io::Error::other("its pipes are missing"));
        let stdin = child.stdin.take().ok_or_else(gone)?.into_owned_fd().map_err(failed)?;
        let stdout = child.stdout.take().ok_or_else(gone)?.into_owned_fd().map_err(failed)?;
        let stderr = child.stderr.take().ok_or_else(gone)?.into_owned_fd().map_err(failed)?;
        let outbox = Outbox::new(Pipe::writing(stdin).map_err(failed)?);
        let output =
            LineReader::new(Pipe::reading(stdout).map_err(failed)?, self.sizes.largest_message);
        let errors = LineReader::new(Pipe::reading(stderr).map_err(failed)?, LONGEST_ERROR_LINE);
        let link = Link::Stdio(outbox.clone());
        let connection = Connection::new(self.server, link, ring.clone(), self.sizes, events);
        self.tasks.spawn(async move { outbox.drain().await });
        self.tasks.spawn(read_output(output, connection.clone()));
        self.tasks.spawn(read_errors(errors, ring.clone()));
        Ok((Process { child, group, guard: self.guard, is_over: false }, connection))
    }
}

async fn read_output(mut lines: LineReader, connection: Arc<Connection>) {
    loop {
        match lines.next().await {
            Ok(Some(Line::Whole(line))) => {
                connection.receive(&line, None);
            }
            Ok(Some(Line::TooLong(id))) => connection.refuse_oversize(id),
            Ok(None) | Err(_) => break,
        }
    }
    connection.close();
}

async fn read_errors(mut lines: LineReader, ring: Arc<Ring>) {
    while let Ok(Some(line)) = lines.next().await {
        match line {
            Line::Whole(line) => ring.push(&line),
            Line::TooLong(_) => ring.push(b"(a line too long to be kept)"),
        }
    }
}

impl Process {
    /// The id of the process, which is also that of its group.
    pub(super) fn id(&self) -> i32 {
        self.group
    }

    /// Ends the child and its group, politely first: its input has been closed,
    /// which is all that a container's client understands; then TERM; then KILL.
    pub(super) async fn stop(mut self) {
        let ended = timeout(STOP_GRACE, self.child.wait()).await.is_ok();
        if !ended {
            end_group(self.group, false);
            let ended = timeout(STOP_GRACE, self.child.wait()).await.is_ok();
            if !ended {
                end_group(self.group, true);
                if let Err(error) = self.child.wait().await {
                    tracing::warn!(%error, "waiting for a killed child");
                }
            }
        }
        // The launcher is gone; what it started may still be there.
        if is_group_alive(self.group) {
            end_group(self.group, false);
            let end = Instant::now() + STOP_GRACE;
            while is_group_alive(self.group) && Instant::now() < end {
                sleep(LOOK_AGAIN).await;
            }
            end_group(self.group, true);
        }
        self.is_over = true;
        self.forget();
    }

    fn forget(&self) {
        if let Some(guard) = &self.guard {
            guard.forget(self.group);
        }
    }
}

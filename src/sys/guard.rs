//! The guard: a small process that ends the children of a gateway that was killed.
//!
//! It holds the reading end of a pipe. When the gateway dies, however that
//! happens, the pipe ends and the guard ends every process group it was told of.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// What a group gets between being asked and being killed.
const GRACE: Duration = Duration::from_secs(2);

/// Pause between two looks at a group that was asked to end.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The gateway's side of the guard.
#[derive(Debug)]
pub struct Guard {
    to_guard: Mutex<ChildStdin>,
    /// Held so that the guard is known to be ours; it ends with the pipe.
    _process: Child,
}

impl Guard {
    /// Starts the guard process.
    #[expect(clippy::disallowed_methods, reason = "one of the two places that start a process")]
    pub fn start() -> io::Result<Self> {
        // The link stays valid when the program file is replaced by an update.
        let program = if cfg!(target_os = "linux") {
            "/proc/self/exe".into()
        } else {
            std::env::current_exe()?
        };
        let mut process = Command::new(program)
            .arg("__guard")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .spawn()?;
        let to_guard =
            process.stdin.take().ok_or_else(|| io::Error::other("the guard has no pipe"))?;
        Ok(Self { to_guard: Mutex::new(to_guard), _process: process })
    }

    /// Has the group ended when the gateway dies.
    pub fn watch(&self, group: i32) {
        self.tell(&format!("+{group}\n"));
    }

    /// Forgets a group that has ended.
    pub fn forget(&self, group: i32) {
        self.tell(&format!("-{group}\n"));
    }

    fn tell(&self, line: &str) {
        let Ok(mut pipe) = self.to_guard.lock() else { return };
        if let Err(error) = pipe.write_all(line.as_bytes()) {
            tracing::warn!(%error, "the guard process is gone; children may outlive a killed gateway");
        }
    }
}

/// The guard's own loop, until its input ends and the groups are gone.
pub fn run_guard(input: impl BufRead) {
    let mut groups = BTreeSet::new();
    for line in input.lines().map_while(Result::ok) {
        match line.split_at_checked(1) {
            Some(("+", group)) => drop(group.parse::<i32>().map(|group| groups.insert(group))),
            Some(("-", group)) => drop(group.parse::<i32>().map(|group| groups.remove(&group))),
            Some(_) | None => {}
        }
    }
    for group in &groups {
        end_group(*group, false);
    }
    let mut waited = Duration::ZERO;
    while waited < GRACE && groups.iter().any(|group| is_group_alive(*group)) {
        std::thread::sleep(LOOK_AGAIN);
        waited += LOOK_AGAIN;
    }
    for group in &groups {
        end_group(*group, true);
    }
}

/// Asks a process group to end, or kills it when `now` is true.
pub fn end_group(group: i32, now: bool) {
    let signal = if now { Signal::KILL } else { Signal::TERM };
    if let Some(group) = Pid::from_raw(group) {
        // An error means that nobody is left in the group.
        let _gone = kill_process_group(group, signal);
    }
}

/// Whether any process of the group is left.
pub fn is_group_alive(group: i32) -> bool {
    Pid::from_raw(group).is_some_and(|group| test_kill_process_group(group).is_ok())
}

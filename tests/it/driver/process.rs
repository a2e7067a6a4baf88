//! Processes seen from outside.

use std::time::{Duration, Instant};

/// Longest wait for something that is bound to happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether a process exists and is no zombie.
pub(crate) fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| {
        let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
        state.is_some_and(|state| state != 'Z' && state != 'X')
    })
}

/// Sends a signal to one process, by its id.
pub(crate) fn kill(pid: i32, signal: &str) {
    let status = std::process::Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(status.unwrap().success(), "kill {signal} {pid}");
}

/// Looks again and again until `holds`; fails when it never does.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "never came true: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until none of the processes is left.
#[track_caller]
pub(crate) fn wait_until_gone(pids: &[i32]) {
    wait_until(&format!("{pids:?} are gone"), || !pids.iter().any(|pid| is_alive(*pid)));
}

//! What the system knows of processes, and what fakes wrote down of themselves.

use std::fs;
use std::path::Path;

use crate::driver::wait_until;

/// A process of the table.
struct Entry {
    pid: i32,
    parent: i32,
    state: String,
}

fn table() -> Vec<Entry> {
    let pids = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok()?.parse::<i32>().ok());
    // A process that has just gone is none.
    pids.filter_map(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?.to_owned();
        Some(Entry { pid, parent: fields.next()?.parse().ok()?, state })
    })
    .collect()
}

/// The living children of a process.
pub(crate) fn children_of(pid: i32) -> Vec<i32> {
    let children = table().into_iter().filter(|entry| entry.parent == pid && entry.state != "Z");
    children.map(|entry| entry.pid).collect()
}

/// Ended children that their parent has not asked after.
pub(crate) fn zombies_of(pid: i32) -> Vec<i32> {
    let zombies = table().into_iter().filter(|entry| entry.parent == pid && entry.state == "Z");
    zombies.map(|entry| entry.pid).collect()
}

/// Resident memory of a process in KiB.
pub(crate) fn resident(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The lines that a fake has written so far; none before it has begun.
pub(crate) fn lines_of(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(ToOwned::to_owned).collect()
}

/// The ids that fakes have noted so far: the last word of each line.
pub(crate) fn pids_in(path: &Path) -> Vec<i32> {
    let id = |line: &String| line.rsplit(' ').next().unwrap().parse().unwrap();
    lines_of(path).iter().map(id).collect()
}

/// The ids once `count` have been noted.
#[track_caller]
pub(crate) fn wait_for_pids(path: &Path, count: usize) -> Vec<i32> {
    wait_until(&format!("{count} processes have begun"), || pids_in(path).len() >= count);
    pids_in(path)
}

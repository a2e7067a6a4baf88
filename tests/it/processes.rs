//! Processes behind a launcher: none is left, however a server or the gateway ends (D018).

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::driver::{
    Home, HttpClient, StdioClient, fake, is_alive, kill, wait_until, wait_until_gone,
};
use crate::process_table::{children_of, lines_of, pids_in, wait_for_pids, zombies_of};

/// What the launcher is told to make it worse than it is.
const RUDE: &[&str] = &["--ignore-term", "--ignore-end"];

/// Longest orderly end with a server that ignores everything.
const PATIENCE: Duration = Duration::from_secs(8);

/// A gateway with a server behind a launcher: launcher, server and helper.
struct Tree {
    home: Home,
    client: StdioClient,
    pids: Vec<i32>,
    /// Everything else that the gateway has started: its guard.
    others: Vec<i32>,
}

impl Tree {
    #[track_caller]
    fn grow(flags: &[&str]) -> Self {
        let home = Home::new();
        let path = pidfile(&home);
        home.add("tree", &fake("launcher", &[&[path.to_str().unwrap()], flags].concat()));
        let mut client = home.stdio();
        client.wait_for_tool("tree__work");
        let pids = wait_for_pids(&path, 3);
        assert_eq!(client.call_text("tree__work", &json!({})), "worked");
        let mut others = children_of(client.pid());
        others.retain(|pid| !pids.contains(pid));
        assert!(!others.is_empty(), "there is no guard");
        Self { home, client, pids, others }
    }

    /// Checks that the gateway ends in time, with 0, and nothing outlives it.
    #[track_caller]
    fn check_orderly_end(mut self) {
        let begin = Instant::now();
        assert_eq!(self.client.wait(), 0, "{}", self.client.stderr());
        assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
        // Nothing is left for the guard to do: all are gone when the gateway is.
        let left: Vec<&i32> = self.pids.iter().filter(|pid| is_alive(**pid)).collect();
        assert!(left.is_empty(), "{left:?} of {:?} outlived it", self.pids);
        wait_until_gone(&self.others);
        assert_eq!(lines_of(&pidfile(&self.home)).len(), 3, "it was started again");
    }
}

fn pidfile(home: &Home) -> PathBuf {
    home.file("pids")
}

#[track_caller]
fn check_signal(signal: &str, flags: &[&str]) {
    let tree = Tree::grow(flags);
    kill(tree.client.pid(), signal);
    tree.check_orderly_end();
}

/// Checks that a command ends the server's processes while the gateway goes on.
#[track_caller]
fn check_command(command: &str, flags: &[&str]) {
    let mut tree = Tree::grow(flags);
    tree.home.ok(&[command, "tree"]);
    wait_until_gone(&tree.pids);
    wait_until("none is a zombie", || zombies_of(tree.client.pid()).is_empty());
    assert!(!tree.client.tool_names().contains(&"tree__work".to_owned()));
    assert!(tree.client.call("tree__work", &json!({}))["error"].is_object());
    assert_eq!(pids_in(&pidfile(&tree.home)).len(), 3, "it was started again");
    assert_eq!(tree.client.finish(), 0);
}

#[test]
fn the_end_of_input_ends_every_process_behind_a_launcher() {
    let mut tree = Tree::grow(&[]);
    tree.client.close_input();
    tree.check_orderly_end();
}

#[test]
fn the_end_of_input_ends_processes_that_ignore_everything() {
    let mut tree = Tree::grow(RUDE);
    tree.client.close_input();
    tree.check_orderly_end();
}

#[test]
fn sigterm_ends_every_process_behind_a_launcher() {
    check_signal("-TERM", &[]);
}

#[test]
fn sigterm_ends_processes_that_ignore_everything() {
    check_signal("-TERM", RUDE);
}

#[test]
fn sigint_ends_every_process_behind_a_launcher() {
    check_signal("-INT", &[]);
}

#[test]
fn sighup_ends_every_process_behind_a_launcher() {
    check_signal("-HUP", &[]);
}

#[test]
fn removing_a_server_ends_every_process_behind_its_launcher() {
    check_command("remove", &[]);
}

#[test]
fn switching_a_server_off_ends_processes_that_ignore_everything() {
    check_command("disable", RUDE);
}

#[test]
fn a_killed_gateway_leaves_no_process_behind() {
    for flags in [&[][..], RUDE] {
        let mut tree = Tree::grow(flags);
        kill(tree.client.pid(), "-KILL");
        tree.client.wait();
        wait_until_gone(&tree.pids);
        wait_until_gone(&tree.others);
    }
}

#[test]
fn a_launcher_that_leaves_its_server_behind_does_not_lose_it() {
    for end in ["-TERM", "-KILL"] {
        let home = Home::new();
        let path = pidfile(&home);
        home.add("tree", &fake("launcher", &[path.to_str().unwrap(), "--leave", "--ignore-end"]));
        let mut client = home.stdio();
        client.wait_for_tool("tree__work");
        let pids = wait_for_pids(&path, 3);
        let launcher = pids_of(&home, "launcher")[0];
        wait_until("the launcher has ended", || !is_alive(launcher));
        assert_eq!(client.call_text("tree__work", &json!({})), "worked");
        assert_eq!(lines_of(&path).len(), 3, "it was started again");
        kill(client.pid(), end);
        client.wait();
        wait_until_gone(&pids);
    }
}

/// The ids of the processes of one role.
fn pids_of(home: &Home, role: &str) -> Vec<i32> {
    let lines = lines_of(&pidfile(home));
    lines.iter().filter_map(|line| line.strip_prefix(role)?.trim().parse().ok()).collect()
}

#[test]
fn a_server_that_crashes_takes_its_launcher_and_helper_with_it() {
    let mut tree = Tree::grow(&["--ignore-term"]);
    kill(pids_of(&tree.home, "server")[0], "-KILL");
    wait_until_gone(&tree.pids);
    let next = wait_for_pids(&pidfile(&tree.home), 6);
    assert_eq!(tree.client.call_text("tree__work", &json!({})), "worked");
    wait_until("none is a zombie", || zombies_of(tree.client.pid()).is_empty());
    assert_eq!(tree.client.finish(), 0);
    wait_until_gone(&next);
}

#[test]
fn a_gateway_behind_http_ends_every_process_with_sigterm() {
    let home = Home::new();
    let path = pidfile(&home);
    home.add("tree", &fake("launcher", &[path.to_str().unwrap()]));
    let client = HttpClient::start(&home, &[]);
    let pids = wait_for_pids(&path, 3);
    let others = children_of(client.pid());
    assert_eq!(client.terminate(), 0);
    wait_until_gone(&[pids, others].concat());
}

/// A command that starts a server of the rudest kind for itself.
#[track_caller]
fn check_starting_command(arguments: &[&str]) {
    let home = Home::new();
    let path = pidfile(&home);
    home.add("tree", &fake("launcher", &[&[path.to_str().unwrap()], RUDE].concat()));
    home.run(arguments);
    let pids = pids_in(&path);
    let left: Vec<&i32> = pids.iter().filter(|pid| is_alive(**pid)).collect();
    assert!(left.is_empty() && pids.len() == 3, "{left:?} of {pids:?}");
}

#[test]
fn a_test_of_a_server_leaves_no_process_behind() {
    check_starting_command(&["test", "tree"]);
}

#[test]
fn a_call_on_the_command_line_leaves_no_process_behind() {
    check_starting_command(&["call", "tree__work"]);
}

//! Servers that will not go, and what else may hold up the end (D019).

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::driver::{Home, StdioClient, fake, is_alive, kill, wait_until_gone};
use crate::process_table::{children_of, wait_for_pids};

/// Longest orderly end with servers that ignore everything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(8);

/// Registers stubborn servers that all note their ids in one file.
#[track_caller]
pub(crate) fn register(home: &Home, flags: &[&[&str]]) {
    let pids = home.file("pids");
    for (number, flags) in flags.iter().enumerate() {
        let arguments = [&[pids.to_str().unwrap()], *flags].concat();
        home.add(&format!("stubborn-{number}"), &fake("stubborn", &arguments));
    }
}

#[track_caller]
pub(crate) fn check_none_left(pids: &[i32]) {
    let left: Vec<&i32> = pids.iter().filter(|pid| is_alive(**pid)).collect();
    assert!(left.is_empty(), "{left:?} of {pids:?} outlived the gateway");
}

// D019

/// Several servers, each in another way; `end` asks the gateway to end.
#[track_caller]
fn check_that_all_end(end: impl Fn(&mut StdioClient)) {
    let home = Home::new();
    register(&home, &[&[], &["--spin"], &[], &["--mute"]]);
    let mut client = home.stdio();
    for number in 0..3 {
        client.wait_for_tool(&format!("stubborn-{number}__work"));
    }
    let pids = wait_for_pids(&home.file("pids"), 4);
    let begin = Instant::now();
    end(&mut client);
    assert_eq!(client.wait(), 0);
    assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
    check_none_left(&pids);
}

#[test]
fn the_end_of_input_ends_servers_that_ignore_everything_together_in_bounded_time() {
    check_that_all_end(StdioClient::close_input);
}

#[test]
fn sigterm_ends_servers_that_ignore_everything_together_in_bounded_time() {
    check_that_all_end(|client| kill(client.pid(), "-TERM"));
}

#[test]
fn sigint_ends_servers_that_ignore_everything_together_in_bounded_time() {
    check_that_all_end(|client| kill(client.pid(), "-INT"));
}

#[test]
fn a_killed_gateway_leaves_no_busy_server_behind() {
    let home = Home::new();
    register(&home, &[&["--spin"], &["--mute"]]);
    let mut client = home.stdio();
    client.wait_for_tool("stubborn-0__work");
    let pids = wait_for_pids(&home.file("pids"), 2);
    let guard = children_of(client.pid());
    kill(client.pid(), "-KILL");
    client.wait();
    wait_until_gone(&pids);
    wait_until_gone(&guard);
}

#[test]
fn a_second_signal_does_not_cut_the_orderly_end_short() {
    let home = Home::new();
    register(&home, &[&[], &["--mute"]]);
    let mut client = home.stdio();
    client.wait_for_tool("stubborn-0__work");
    let pids = wait_for_pids(&home.file("pids"), 2);
    for signal in ["-INT", "-INT", "-TERM"] {
        kill(client.pid(), signal);
    }
    assert_eq!(client.wait(), 0);
    check_none_left(&pids);
}

#[test]
fn a_client_that_reads_nothing_does_not_hold_up_the_end() {
    let home = Home::new();
    register(&home, &[&[]]);
    home.add("big", &fake("big_answers", &["--list", "3000000"]));
    home.ok(&["test", "big"]);
    let mut command = home.program();
    command.args(["stdio", "--standalone"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut gateway = command.spawn().unwrap();
    let mut input = gateway.stdin.take().unwrap();
    for id in 0..5 {
        let list = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" });
        writeln!(input, "{list}").unwrap();
    }
    let pids = wait_for_pids(&home.file("pids"), 1);
    let pid = i32::try_from(gateway.id()).unwrap();
    let children = children_of(pid);
    let begin = Instant::now();
    kill(pid, "-TERM");
    assert_eq!(gateway.wait().unwrap().code(), Some(0));
    assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
    check_none_left(&pids);
    wait_until_gone(&children);
}

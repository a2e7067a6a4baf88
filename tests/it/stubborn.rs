//! Servers that will not go, and ends that come at a bad moment (D019, D027).

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::driver::{Home, HttpClient, fake, is_alive, kill, wait_until, wait_until_gone};
use crate::process_table::{children_of, pids_in, wait_for_pids, zombies_of};

/// Longest orderly end with servers that ignore everything.
const PATIENCE: Duration = Duration::from_secs(8);

/// Registers stubborn servers that all note their ids in one file.
#[track_caller]
fn register(home: &Home, flags: &[&[&str]]) {
    let pids = home.file("pids");
    for (number, flags) in flags.iter().enumerate() {
        let arguments = [&[pids.to_str().unwrap()], *flags].concat();
        home.add(&format!("stubborn-{number}"), &fake("stubborn", &arguments));
    }
}

#[track_caller]
fn check_none_left(pids: &[i32]) {
    let left: Vec<&i32> = pids.iter().filter(|pid| is_alive(**pid)).collect();
    assert!(left.is_empty(), "{left:?} of {pids:?} outlived the gateway");
}

// D019

#[test]
fn servers_that_ignore_everything_are_ended_together_in_bounded_time() {
    for end in ["input", "-TERM", "-INT"] {
        let home = Home::new();
        register(&home, &[&[], &["--spin"], &[], &["--mute"]]);
        let mut client = home.stdio();
        for number in 0..3 {
            client.wait_for_tool(&format!("stubborn-{number}__work"));
        }
        let pids = wait_for_pids(&home.file("pids"), 4);
        let begin = Instant::now();
        if end == "input" {
            client.close_input();
        } else {
            kill(client.pid(), end);
        }
        assert_eq!(client.wait(), 0, "{end}");
        assert!(begin.elapsed() < PATIENCE, "{end}: {:?}", begin.elapsed());
        check_none_left(&pids);
    }
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

// D027

#[test]
fn failed_handshakes_leave_neither_process_nor_zombie_however_often_they_are_tried() {
    let home = Home::new();
    let pids = home.file("pids");
    for number in 0..8 {
        let mode = if number % 2 == 0 { "refuse" } else { "exit" };
        let arguments = ["--pids", pids.to_str().unwrap(), "--mode", mode];
        home.add(&format!("fails-{number}"), &fake("slow_start", &arguments));
    }
    let mut client = home.stdio();
    // Each is tried at once and again after a pause.
    let tried = wait_for_pids(&pids, 16);
    wait_until("none is left", || !tried.iter().any(|pid| is_alive(*pid)));
    wait_until("none is a zombie", || zombies_of(client.pid()).is_empty());
    assert_eq!(children_of(client.pid()).len(), 1, "only the guard is left");
    assert_eq!(client.request("ping", &json!({}))["result"], json!({}));
    assert_eq!(client.finish(), 0);
}

#[test]
fn each_command_on_a_failing_handshake_leaves_nothing_behind() {
    let home = Home::new();
    let pids = home.file("pids");
    let arguments = ["--pids", pids.to_str().unwrap(), "--mode", "refuse"];
    home.add("fails", &fake("slow_start", &arguments));
    for _ in 0..5 {
        assert_eq!(home.run(&["test", "fails"]).code, 6);
        assert!(!pids_in(&pids).iter().any(|pid| is_alive(*pid)), "one is left");
    }
    assert!(pids_in(&pids).len() >= 5);
}

#[test]
fn switching_off_and_on_leaves_the_last_process_alone() {
    let home = Home::new();
    let pids = home.file("pids");
    home.add("swift", &fake("slow_start", &["--pids", pids.to_str().unwrap()]));
    let mut client = home.stdio();
    client.wait_for_tool("swift__work");
    for round in 1..=4 {
        home.ok(&["disable", "swift"]);
        home.ok(&["enable", "swift"]);
        // Two changes at once may be seen as none, so a process is not always replaced.
        client.wait_for_tool("swift__work");
        assert_eq!(client.call_text("swift__work", &json!({})), "worked", "round {round}");
    }
    home.ok(&["disable", "swift"]);
    wait_until("it is off", || !client.tool_names().contains(&"swift__work".to_owned()));
    wait_until_gone(&pids_in(&pids));
    home.ok(&["enable", "swift"]);
    client.wait_for_tool("swift__work");
    assert_eq!(client.call_text("swift__work", &json!({})), "worked");
    let all = pids_in(&pids);
    let alive = || all.iter().filter(|pid| is_alive(**pid)).count();
    wait_until("one is alive", || alive() == 1);
    wait_until("none is a zombie", || zombies_of(client.pid()).is_empty());
    assert_eq!(client.finish(), 0);
    check_none_left(&all);
}

#[test]
fn a_server_that_is_switched_off_or_removed_while_it_starts_is_ended() {
    for command in ["disable", "remove"] {
        let home = Home::new();
        register(&home, &[&["--mute"]]);
        let client = home.stdio();
        let pids = wait_for_pids(&home.file("pids"), 1);
        home.ok(&[command, "stubborn-0"]);
        wait_until_gone(&pids);
        wait_until("none is a zombie", || zombies_of(client.pid()).is_empty());
        assert_eq!(client.finish(), 0);
        assert_eq!(pids_in(&home.file("pids")).len(), 1, "it was started again");
    }
}

#[test]
fn a_server_that_is_replaced_under_its_name_is_ended_before_long() {
    let home = Home::new();
    register(&home, &[&[]]);
    let mut client = home.stdio();
    client.wait_for_tool("stubborn-0__work");
    let old = wait_for_pids(&home.file("pids"), 1);
    home.ok(&["remove", "stubborn-0"]);
    home.add("stubborn-0", &fake("mcp_server", &[]));
    client.wait_for_tool("stubborn-0__echo");
    assert!(!client.tool_names().contains(&"stubborn-0__work".to_owned()));
    assert_eq!(client.call_text("stubborn-0__echo", &json!({})), "{}");
    wait_until_gone(&old);
    assert_eq!(client.finish(), 0);
}

#[test]
fn a_signal_during_the_start_ends_what_has_begun() {
    for (signal, flags) in [("-INT", &["--mute"][..]), ("-TERM", &["--mute", "--spin"])] {
        let home = Home::new();
        register(&home, &[flags, flags]);
        let mut client = home.stdio_silent(&[]);
        let pids = wait_for_pids(&home.file("pids"), 2);
        let begin = Instant::now();
        kill(client.pid(), signal);
        assert_eq!(client.wait(), 0, "{signal}");
        assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
        check_none_left(&pids);
    }
}

#[test]
fn a_signal_during_the_start_of_a_gateway_behind_http_ends_what_has_begun() {
    let home = Home::new();
    register(&home, &[&["--mute"]]);
    let client = HttpClient::start(&home, &[]);
    let pids = wait_for_pids(&home.file("pids"), 1);
    assert_eq!(client.terminate(), 0);
    check_none_left(&pids);
}

#[test]
fn the_end_of_input_before_the_handshake_ends_everything() {
    let home = Home::new();
    register(&home, &[&["--mute"], &[]]);
    let client = home.stdio_silent(&[]);
    let pids = wait_for_pids(&home.file("pids"), 2);
    assert_eq!(client.finish(), 0);
    check_none_left(&pids);
}

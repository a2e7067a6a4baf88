//! Ends that come at a bad moment, and starts that fail: nothing is left of them (D027).

use std::process::Stdio;
use std::time::Instant;

use serde_json::json;

use crate::driver::{Home, HttpClient, fake, is_alive, kill, wait_until, wait_until_gone};
use crate::process_table::{children_of, pids_in, wait_for_pids, zombies_of};
use crate::stubborn::{PATIENCE, check_none_left, register};

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

/// A command on a server that has not answered yet, and never will.
#[track_caller]
fn check_ended_while_it_starts(command: &str) {
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

#[test]
fn a_server_that_is_switched_off_while_it_starts_is_ended() {
    check_ended_while_it_starts("disable");
}

#[test]
fn a_server_that_is_removed_while_it_starts_is_ended() {
    check_ended_while_it_starts("remove");
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

#[track_caller]
fn check_signal_during_the_start(signal: &str, flags: &[&str]) {
    let home = Home::new();
    register(&home, &[flags, flags]);
    let mut client = home.stdio_silent(&[]);
    let pids = wait_for_pids(&home.file("pids"), 2);
    let begin = Instant::now();
    kill(client.pid(), signal);
    assert_eq!(client.wait(), 0);
    assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
    check_none_left(&pids);
}

#[test]
fn sigint_during_the_start_ends_what_has_begun() {
    check_signal_during_the_start("-INT", &["--mute"]);
}

#[test]
fn sigterm_during_the_start_ends_what_has_begun() {
    check_signal_during_the_start("-TERM", &["--mute", "--spin"]);
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

#[test]
fn a_server_that_closes_its_output_and_lives_on_is_ended_and_replaced() {
    let home = Home::new();
    let pids = home.file("pids");
    home.add("odd", &fake("odd_framing", &["closed", pids.to_str().unwrap()]));
    let mut client = home.stdio();
    client.wait_for_tool("odd__say");
    let say = |words: &str| json!({ "text": words });
    assert_eq!(client.call_text("odd__say", &say("last words")), "last words");
    wait_until_gone(&wait_for_pids(&pids, 1)[..1]);
    wait_for_pids(&pids, 2);
    assert_eq!(client.call_text("odd__say", &say("hello")), "hello");
    wait_until("none is a zombie", || zombies_of(client.pid()).is_empty());
    assert_eq!(client.finish(), 0);
}

#[test]
fn a_call_while_a_lost_server_is_being_ended_waits_for_the_next() {
    let home = Home::new();
    home.add("odd", &fake("odd_framing", &["closed"]));
    let mut client = home.stdio();
    client.wait_for_tool("odd__say");
    let say = |words: &str| json!({ "text": words });
    assert_eq!(client.call_text("odd__say", &say("last words")), "last words");
    let answer = client.call_text("odd__say", &say("hello"));
    // It may have been sent before the end of the output was seen; it is never refused.
    assert!(answer == "hello" || answer.contains("ended during the call"), "{answer}");
    assert_eq!(client.call_text("odd__say", &say("again")), "again");
    assert_eq!(client.finish(), 0);
}

#[test]
fn a_gateway_whose_guard_was_killed_goes_on_and_ends_in_order() {
    let home = Home::new();
    let mut client = home.stdio();
    let guard = children_of(client.pid());
    assert_eq!(guard.len(), 1, "{guard:?}");
    kill(guard[0], "-KILL");
    wait_until_gone(&guard);
    register(&home, &[&[]]);
    client.wait_for_tool("stubborn-0__work");
    assert_eq!(client.call_text("stubborn-0__work", &json!({})), "worked");
    let pids = wait_for_pids(&home.file("pids"), 1);
    assert_eq!(client.finish(), 0);
    check_none_left(&pids);
}

#[test]
fn a_command_that_is_interrupted_leaves_nothing_behind() {
    for signal in ["-INT", "-TERM"] {
        let home = Home::new();
        register(&home, &[&["--mute"]]);
        let mut command = home.program();
        command.args(["test", "stubborn-0"]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut testing = command.spawn().unwrap();
        let pid = i32::try_from(testing.id()).unwrap();
        let pids = wait_for_pids(&home.file("pids"), 1);
        let children = children_of(pid);
        kill(pid, signal);
        testing.wait().unwrap();
        wait_until_gone(&[pids, children].concat());
    }
}

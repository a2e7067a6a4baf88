//! Commands beside a running gateway.

use std::process::Stdio;

use serde_json::json;

use crate::driver::{Home, HttpClient, wait_until, wait_until_gone};
use crate::offering::{connect, names, register, tools};

fn desk() -> Home {
    let home = Home::new();
    connect(&home, "desk", &tools("seal_letter | Close a letter\nstamp_letter | Stamp it"));
    home
}

/// The process of a server, once the running gateway has started it.
#[track_caller]
fn pid_of(home: &Home, server: &str) -> i32 {
    let mut pid = None;
    wait_until("the server has a process", || {
        pid = home.json(&["show", server, "--json"])["running"]["pid"].as_i64();
        pid.is_some()
    });
    i32::try_from(pid.unwrap()).unwrap()
}

#[test]
fn switching_a_server_off_ends_its_process_and_on_starts_another() {
    let home = desk();
    let mut gateway = HttpClient::greeted(&home, &[]);
    let first = pid_of(&home, "desk");
    home.ok(&["disable", "desk__seal_letter"]);
    home.ok(&["tag", "desk", "office"]);
    wait_until("the decisions have arrived", || {
        let found = gateway.call("coffer__search_tools", &json!({ "query": "letter" }));
        found["result"]["structuredContent"]["total_searched"] == 1
    });
    assert_eq!(pid_of(&home, "desk"), first, "a switch of a tool restarts nothing");
    home.ok(&["disable", "desk"]);
    wait_until_gone(&[first]);
    home.ok(&["enable", "desk"]);
    assert_ne!(pid_of(&home, "desk"), first);
    home.ok(&["remove", "desk"]);
    wait_until("the gateway has forgotten it", || {
        let listed = gateway.request("tools/list", &json!({}));
        listed["result"]["tools"].as_array().map(Vec::len) == Some(1)
    });
    assert_eq!(gateway.terminate(), 0);
}

#[test]
fn a_tag_given_beside_a_running_gateway_narrows_its_searches() {
    let home = desk();
    register(&home, "shelf", &tools("read_letter | Read a letter"));
    let mut client = home.stdio();
    client.wait_for_tool("shelf__read_letter");
    home.ok(&["tag", "shelf", "books"]);
    let arguments = json!({ "query": "letter", "tags": ["books"] });
    wait_until("the tag is known", || client.search(&arguments)["total_searched"] == 1);
    assert_eq!(names(&client.search(&arguments)), ["shelf__read_letter"]);
}

#[test]
fn a_followed_log_ends_when_its_reader_has_gone() {
    let home = desk();
    let (reader, writer) = std::io::pipe().unwrap();
    let mut follower = home.program();
    follower.args(["log", "--follow"]).stdin(Stdio::null()).stdout(writer).stderr(Stdio::null());
    let mut child = follower.spawn().unwrap();
    drop((follower, reader));
    let mut has_ended = false;
    let end = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while !has_ended && std::time::Instant::now() < end {
        // It can notice only when there is something to print.
        home.ok(&["call", "desk__seal_letter"]);
        has_ended = child.try_wait().unwrap().is_some();
    }
    let _ended_before = child.kill();
    child.wait().unwrap();
    assert!(has_ended, "it goes on for nobody");
}

#[test]
fn the_search_tool_can_be_called_as_an_agent_would() {
    let home = desk();
    let outcome = home.ok(&["call", "coffer__search_tools", "{\"query\": \"seal a letter\"}"]);
    assert!(outcome.stdout.contains("desk__seal_letter"), "{outcome:?}");
}

#[test]
fn a_refresh_reaches_a_running_gateway() {
    let home = desk();
    let mut client = home.stdio();
    client.wait_for_tool("desk__seal_letter");
    crate::offering::offer(&home, "desk", &tools("burn_letter | Burn it"));
    home.ok(&["refresh", "desk"]);
    client.wait_for_tool("desk__burn_letter");
    assert_eq!(client.tool_names(), ["coffer__search_tools", "desk__burn_letter"]);
}

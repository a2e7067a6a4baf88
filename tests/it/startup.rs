//! The start: nobody waits for a server that is slow, and none is given up (D028 to D030).

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::calls::{serving, text};
use crate::driver::{Home, HttpClient, StdioClient, fake, wait_until};
use crate::pages::row;
use crate::process_table::{lines_of, wait_for_pids};

/// Registers a slow server by the arguments of the fake.
#[track_caller]
fn add(home: &Home, name: &str, arguments: &[&str]) {
    home.add(name, &fake("slow_start", arguments));
}

/// An address that takes connections and never says a word.
fn silent_endpoint(home: &Home, name: &str) -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    home.ok(&["add", name, "--no-connect", "--url", &url]);
    listener
}

/// Five servers of which one is good.
#[track_caller]
fn register_mixed(home: &Home) -> TcpListener {
    let never = home.file("never");
    let never = never.to_str().unwrap();
    add(home, "good", &[]);
    add(home, "mute", &["--mode", "mute"]);
    add(home, "ends", &["--mode", "exit"]);
    add(home, "unlisted", &["--mode", "slow-list", "--gate", never]);
    silent_endpoint(home, "silent")
}

// D028

#[test]
fn bad_servers_hold_up_neither_the_handshake_nor_the_good_one() {
    let home = Home::new();
    let _listener = register_mixed(&home);
    let begin = Instant::now();
    let mut client = home.stdio();
    assert!(begin.elapsed() < Duration::from_secs(1), "handshake: {:?}", begin.elapsed());
    let names = client.tool_names();
    assert!(begin.elapsed() < Duration::from_secs(4), "list: {:?}", begin.elapsed());
    assert_eq!(names, ["coffer__search_tools", "good__work"]);
    assert_eq!(client.call_text("good__work", &json!({})), "worked");
    assert!(begin.elapsed() < Duration::from_secs(5), "call: {:?}", begin.elapsed());
    assert_eq!(client.finish(), 0);
}

#[test]
fn a_slow_server_comes_later_with_a_notice() {
    let home = Home::new();
    let gate = home.file("gate");
    add(&home, "good", &[]);
    add(&home, "slow", &["--gate", gate.to_str().unwrap()]);
    let mut client = home.stdio();
    client.wait_for_tool("good__work");
    assert!(!client.tool_names().contains(&"slow__work".to_owned()));
    fs::write(&gate, "").unwrap();
    client.wait_for(|message| message["method"] == "notifications/tools/list_changed");
    assert!(client.tool_names().contains(&"slow__work".to_owned()));
    assert_eq!(client.call_text("slow__work", &json!({})), "worked");
}

#[test]
fn the_first_list_waits_a_moment_for_servers_that_are_quick() {
    let home = Home::new();
    add(&home, "quick", &["--delay", "0.1"]);
    let mut client = home.stdio();
    assert_eq!(client.tool_names(), ["coffer__search_tools", "quick__work"]);
}

#[test]
fn a_slow_server_that_is_known_is_listed_at_once_and_a_call_waits_for_it() {
    let home = Home::new();
    let gate = home.file("gate");
    add(&home, "slow", &["--gate", gate.to_str().unwrap()]);
    fs::write(&gate, "").unwrap();
    home.ok(&["test", "slow"]);
    fs::remove_file(&gate).unwrap();
    let mut client = home.stdio();
    let begin = Instant::now();
    assert_eq!(client.tool_names(), ["coffer__search_tools", "slow__work"]);
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    let found = client.search(&json!({ "query": "slow work" }));
    assert_eq!(found["tools"][0]["status"], "cold", "{found}");
    assert!(found["notices"].to_string().contains("`slow`"), "{found}");
    let call = client.ask("tools/call", &json!({ "name": "slow__work", "arguments": {} }));
    assert_eq!(client.request("ping", &json!({}))["result"], json!({}));
    fs::write(&gate, "").unwrap();
    assert_eq!(text(&client.answer(call)), "worked");
}

#[test]
fn each_server_is_told_with_the_phase_that_it_is_stuck_in() {
    let home = Home::with_settings("start-timeout-seconds = 1\nlist-timeout-seconds = 1\n");
    let _listener = register_mixed(&home);
    let client = serving(&home, "good__work");
    let phase = |name: &str| {
        let shown = home.json(&["show", name, "--json"]);
        shown["running"]["phase"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(phase("good"), "ready");
    wait_until("the mute one is called unreachable", || phase("mute") == "unreachable");
    let error = |name: &str| row(&home, name)["error"].as_str().unwrap_or_default().to_owned();
    for (name, told) in [
        ("mute", "`initialize`"),
        ("silent", "`initialize`"),
        ("ends", "ended before the handshake"),
        ("unlisted", "list of tools"),
    ] {
        wait_until(&format!("{name} is told with {told}"), || error(name).contains(told));
    }
    assert_eq!(phase("unlisted"), "not listed");
    assert_eq!(row(&home, "good")["state"], "ok");
    // A search says the same to a model.
    let mut client = client;
    let arguments = json!({ "query": "work" });
    let answer = client.call("coffer__search_tools", &arguments);
    let notices = answer["result"]["structuredContent"]["notices"].to_string();
    for name in ["mute", "ends", "unlisted", "silent"] {
        assert!(notices.contains(&format!("`{name}`")), "{name}: {notices}");
    }
    assert_eq!(client.terminate(), 0);
}

// D029

#[test]
fn a_gateway_with_dead_servers_alone_serves_and_takes_one_that_comes_up() {
    let home = Home::new();
    let script = home.file("late.py");
    home.add("late", &["python3".to_owned(), "-B".to_owned(), script.to_str().unwrap().to_owned()]);
    home.add("absent", &["/nowhere/at-all".to_owned()]);
    let closed = silent_endpoint(&home, "closed");
    drop(closed);
    let mut client = home.stdio();
    assert_eq!(client.tool_names(), ["coffer__search_tools"]);
    let found = client.search(&json!({ "query": "work" }));
    assert_eq!(found["total_searched"], 0, "{found}");
    write_script(&script);
    client.wait_for_tool("late__pid");
    assert!(client.call_text("late__pid", &json!({})).parse::<i32>().is_ok());
    assert_eq!(client.finish(), 0);
}

/// Writes a program that is the plain fake.
fn write_script(path: &Path) {
    let fake = &fake("mcp_server", &[])[1];
    let text = format!("import runpy\nrunpy.run_path({fake:?}, run_name=\"__main__\")\n");
    let draft = path.with_extension("draft");
    fs::write(&draft, text).unwrap();
    fs::rename(draft, path).unwrap();
}

#[test]
fn a_gateway_behind_http_starts_without_any_server() {
    let home = Home::new();
    home.add("absent", &["/nowhere/at-all".to_owned()]);
    let script = home.file("late.py");
    home.add("late", &["python3".to_owned(), "-B".to_owned(), script.to_str().unwrap().to_owned()]);
    let mut client = HttpClient::greeted(&home, &[]);
    assert_eq!(client.bare("GET", "/health").send().unwrap().status().as_u16(), 200);
    write_script(&script);
    wait_until("the server is there", || {
        client.request("tools/list", &json!({})).to_string().contains("late__echo")
    });
    let answer = client.call("late__echo", &json!({ "a": 1 }));
    assert_eq!(text(&answer), "{\"a\": 1}");
    assert_eq!(client.terminate(), 0);
}

// D030

#[test]
fn servers_that_all_take_longer_than_their_time_come_when_they_are_ready() {
    const COUNT: usize = 10;
    let home = Home::with_settings("start-timeout-seconds = 1\nparallel-starts = 5\n");
    let [gate, pids] = ["gate", "pids"].map(|name| home.file(name));
    for number in 0..COUNT {
        let [gate, pids] = [&gate, &pids].map(|path| path.to_str().unwrap());
        add(&home, &format!("cold-{number}"), &["--pids", pids, "--gate", gate]);
    }
    let mut client = home.stdio();
    // Those that take long make room, so that all begin although only five may at once.
    wait_for_pids(&pids, COUNT);
    wait_until("all are called unreachable", || {
        let error = |number| row(&home, &format!("cold-{number}"))["error"].to_string();
        (0..COUNT).all(|number| error(number).contains("may still be starting"))
    });
    fs::write(&gate, "").unwrap();
    wait_until("all are there", || client.tool_names().len() == COUNT + 1);
    for number in 0..COUNT {
        assert_eq!(client.call_text(&format!("cold-{number}__work"), &json!({})), "worked");
    }
    assert_eq!(lines_of(&pids).len(), COUNT, "one was started again");
    wait_until("all are noted as well", || {
        (0..COUNT).all(|number| row(&home, &format!("cold-{number}"))["state"] == "ok")
    });
    assert_eq!(client.finish(), 0);
}

#[test]
fn a_server_can_be_given_a_time_of_its_own() {
    let home = Home::with_settings("start-timeout-seconds = 1\n");
    let never = home.file("never");
    let never = never.to_str().unwrap();
    add(&home, "short", &["--gate", never]);
    let patient = fake("slow_start", &["--gate", never]);
    let patient: Vec<&str> = patient.iter().map(String::as_str).collect();
    home.ok(&[&["add", "patient", "--no-connect", "--start-timeout", "60", "--"], &patient[..]]
        .concat());
    let client: StdioClient = home.stdio();
    wait_until("the short one is noted", || row(&home, "short")["state"] == "unreachable");
    assert_eq!(row(&home, "patient")["state"], "unknown");
    assert_eq!(home.json(&["show", "patient", "--json"])["start_timeout_seconds"], 60);
    assert_eq!(client.finish(), 0);
}

#[test]
fn a_server_that_fails_the_first_time_is_tried_again_by_itself() {
    let home = Home::new();
    let [once, pids] = ["once", "pids"].map(|name| home.file(name));
    let [first, noted] = [&once, &pids].map(|path| path.to_str().unwrap());
    add(&home, "flaky", &["--pids", noted, "--mode", "exit", "--once", first]);
    let mut client = home.stdio();
    assert_eq!(client.tool_names(), ["coffer__search_tools"]);
    client.wait_for_tool("flaky__work");
    assert_eq!(lines_of(&pids).len(), 2);
    assert_eq!(client.call_text("flaky__work", &json!({})), "worked");
    wait_until("it is noted as well", || row(&home, "flaky")["state"] == "ok");
    let shown: Value = row(&home, "flaky");
    assert!(shown["error"].is_null(), "{shown}");
}

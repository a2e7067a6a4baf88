//! Servers that all clients share, and servers that give each client its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::calls::{serving, text};
use crate::driver::{FakeHttp, Home, HttpClient, Reply, fake, kill, wait_until, wait_until_gone};

#[track_caller]
fn add_counter(home: &Home, options: &[&str]) {
    let command = fake("counter", &[]);
    let mut arguments = [&["add", "counter", "--no-connect"], options, &["--"]].concat();
    arguments.extend(command.iter().map(String::as_str));
    home.ok(&arguments);
}

/// Adds a per-client server that is known already and takes its time from now on.
/// Returns the file with the ids of its processes.
#[track_caller]
fn add_sleepy(home: &Home, seconds: &str) -> PathBuf {
    let (pause, pids) = (home.file("pause"), home.file("pids"));
    let command = fake("counter", &[pause.to_str().unwrap(), pids.to_str().unwrap()]);
    let mut arguments = vec!["add", "sleepy", "--per-client", "--"];
    arguments.extend(command.iter().map(String::as_str));
    home.ok(&arguments);
    fs::write(pause, seconds).unwrap();
    pids
}

fn pids(file: &Path) -> Vec<i32> {
    fs::read_to_string(file).unwrap().lines().map(|line| line.parse().unwrap()).collect()
}

/// A call that is sent from a thread of its own.
fn call_aside(client: &HttpClient, tool: &str) -> JoinHandle<Reply> {
    let params = json!({ "name": tool, "arguments": {} });
    let call = json!({ "jsonrpc": "2.0", "id": "aside", "method": "tools/call", "params": params });
    let request = client.prepared("POST").body(call.to_string());
    std::thread::spawn(move || HttpClient::send(request))
}

/// Calls in one of several sessions with the same gateway.
#[track_caller]
fn call_in(client: &mut HttpClient, session: Option<&String>, tool: &str) -> String {
    client.session = session.cloned();
    text(&client.call(&format!("counter__{tool}"), &json!({}))).to_owned()
}

// D040

#[test]
fn a_shared_server_has_one_state_for_all_clients() {
    let home = Home::new();
    add_counter(&home, &[]);
    assert_eq!(home.json(&["show", "counter", "--json"])["per_client"], false);
    let mut client = serving(&home, "counter__pid");
    let first = client.session.clone();
    client.greet();
    let second = client.session.clone();
    call_in(&mut client, first.as_ref(), "increment");
    call_in(&mut client, first.as_ref(), "increment");
    assert_eq!(call_in(&mut client, second.as_ref(), "value"), "2");
    let pid = call_in(&mut client, first.as_ref(), "pid");
    assert_eq!(call_in(&mut client, second.as_ref(), "pid"), pid);
}

#[test]
fn a_per_client_server_keeps_the_state_of_one_client_from_another() {
    let home = Home::new();
    add_counter(&home, &["--per-client"]);
    assert_eq!(home.json(&["show", "counter", "--json"])["per_client"], true);
    let mut client = serving(&home, "counter__pid");
    let first = client.session.clone();
    client.greet();
    let second = client.session.clone();
    call_in(&mut client, first.as_ref(), "increment");
    call_in(&mut client, first.as_ref(), "increment");
    assert_eq!(call_in(&mut client, second.as_ref(), "value"), "0");
    assert_eq!(call_in(&mut client, first.as_ref(), "value"), "2");
    let pids = [&first, &second].map(|session| call_in(&mut client, session.as_ref(), "pid"));
    assert_ne!(pids[0], pids[1]);
    client.greet();
    let third = client.session.clone();
    assert_eq!(call_in(&mut client, third.as_ref(), "value"), "0", "a new session, a new state");
    let last = call_in(&mut client, third.as_ref(), "pid");
    assert_eq!(client.terminate(), 0);
    let pids: Vec<i32> = pids.iter().chain([&last]).map(|pid| pid.parse().unwrap()).collect();
    wait_until_gone(&pids);
}

#[test]
fn the_first_calls_of_a_session_share_one_process_of_its_own() {
    let home = Home::new();
    add_counter(&home, &["--per-client"]);
    let mut client = home.stdio();
    client.wait_for_tool("counter__pid");
    let params = json!({ "name": "counter__pid", "arguments": {} });
    let ids: Vec<u64> = (0..6).map(|_| client.ask("tools/call", &params)).collect();
    let mut pids: Vec<String> =
        ids.into_iter().map(|id| text(&client.answer(id)).to_owned()).collect();
    pids.dedup();
    assert_eq!(pids.len(), 1, "{pids:?}");
    assert_eq!(client.finish(), 0);
    wait_until_gone(&[pids[0].parse().unwrap()]);
}

#[test]
fn a_process_of_one_client_that_died_is_replaced_at_the_next_call() {
    let home = Home::new();
    add_counter(&home, &["--per-client"]);
    let mut client = serving(&home, "counter__pid");
    let session = client.session.clone();
    call_in(&mut client, session.as_ref(), "increment");
    let pid: i32 = call_in(&mut client, session.as_ref(), "pid").parse().unwrap();
    kill(pid, "-KILL");
    wait_until("a new process answers", || {
        let answer = client.call("counter__pid", &json!({}));
        answer["result"]["isError"] != true && text(&answer) != pid.to_string()
    });
    assert_eq!(call_in(&mut client, session.as_ref(), "value"), "0");
}

#[test]
fn a_per_client_server_over_http_has_a_session_for_each_client() {
    let (home, web) = (Home::new(), FakeHttp::start("http_server", &[]));
    home.ok(&["add", "web", "--per-client", "--no-connect", "--url", &web.url]);
    let mut client = serving(&home, "web__work");
    let listed = web.count(" initialize ");
    for _ in 0..2 {
        assert_eq!(text(&client.call("web__work", &json!({}))), "done");
        assert_eq!(text(&client.call("web__work", &json!({}))), "done");
        client.greet();
    }
    let used = || {
        let mut used: Vec<String> = web.seen();
        used.retain(|line| line.contains("tools/call"));
        let session = |line: &String| line.split("session=").nth(1).unwrap()[..3].to_owned();
        used.iter().map(session).collect::<Vec<String>>()
    };
    wait_until("all calls are seen", || used().len() == 4);
    let used = used();
    assert!(used[0] == used[1] && used[2] == used[3] && used[0] != used[2], "{used:?}");
    assert_eq!(web.count(" initialize "), listed + 2);
}

#[test]
fn a_per_client_server_that_starts_slowly_holds_up_no_call_to_another() {
    let home = Home::new();
    add_counter(&home, &["--per-client"]);
    let pids_file = add_sleepy(&home, "5");
    let mut client = serving(&home, "counter__value");
    let before = pids(&pids_file).len();
    let waiting = call_aside(&client, "sleepy__value");
    wait_until("its own process starts", || pids(&pids_file).len() > before);
    let begin = Instant::now();
    assert_eq!(text(&client.call("counter__value", &json!({}))), "0");
    client.greet();
    assert_eq!(text(&client.call("counter__value", &json!({}))), "0");
    assert!(begin.elapsed() < Duration::from_secs(3), "the calls took {:?}", begin.elapsed());
    assert_eq!(text(&waiting.join().unwrap().json()), "0");
}

#[test]
fn a_per_client_server_that_starts_slowly_holds_up_no_end_of_another_session() {
    let home = Home::new();
    let pids_file = add_sleepy(&home, "5");
    let mut client = serving(&home, "sleepy__value");
    let before = pids(&pids_file).len();
    let waiting = call_aside(&client, "sleepy__value");
    wait_until("its own process starts", || pids(&pids_file).len() > before);
    client.greet();
    let begin = Instant::now();
    assert_eq!(HttpClient::send(client.prepared("DELETE")).status, 204);
    assert!(begin.elapsed() < Duration::from_secs(2), "the end took {:?}", begin.elapsed());
    assert!(!waiting.is_finished());
    assert_eq!(client.terminate(), 0);
    waiting.join().unwrap();
}

#[test]
fn a_session_that_ends_ends_a_process_of_its_own_that_is_still_starting() {
    let home = Home::new();
    let pids_file = add_sleepy(&home, "30");
    let client = serving(&home, "sleepy__value");
    wait_until("the shared process starts", || pids(&pids_file).len() == 2);
    let waiting = call_aside(&client, "sleepy__value");
    wait_until("its own process starts", || pids(&pids_file).len() == 3);
    assert_eq!(HttpClient::send(client.prepared("DELETE")).status, 204);
    let own = pids(&pids_file)[2];
    wait_until_gone(&[own]);
    waiting.join().unwrap();
    assert_eq!(client.terminate(), 0);
    wait_until_gone(&pids(&pids_file));
}

#[test]
fn a_call_that_waits_for_a_start_is_not_lost_with_the_call_that_began_it() {
    let home = Home::new();
    let pids_file = add_sleepy(&home, "2");
    let client = serving(&home, "sleepy__value");
    let before = pids(&pids_file).len();
    let first = call_aside(&client, "sleepy__value");
    wait_until("its own process starts", || pids(&pids_file).len() > before);
    let params = json!({ "name": "sleepy__value", "arguments": {} });
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
    let request = client.prepared("POST").body(call.to_string());
    let second = std::thread::spawn(move || HttpClient::send(request));
    let params = json!({ "requestId": "aside" });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    assert_eq!(client.post(&cancel).status, 202);
    first.join().unwrap();
    assert_eq!(text(&second.join().unwrap().json()), "0");
}

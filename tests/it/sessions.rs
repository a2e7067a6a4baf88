//! Many clients and many calls at a time: whose state, whose answer, whose turn.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::driver::{Home, HttpClient, StdioClient, fake, wait_until_gone};

/// The text of a tool's result.
#[track_caller]
fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[track_caller]
fn add_counter(home: &Home, options: &[&str]) {
    let command = fake("counter", &[]);
    let mut arguments = [&["add", "counter", "--no-connect"], options, &["--"]].concat();
    arguments.extend(command.iter().map(String::as_str));
    home.ok(&arguments);
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
    let mut client = HttpClient::greeted(&home, &[]);
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
    let mut client = HttpClient::greeted(&home, &[]);
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

// D041

#[test]
fn equal_ids_of_many_clients_never_mix_up_their_answers() {
    let home = Home::new();
    home.add("echo", &fake("echo_delay", &[]));
    let mut client = HttpClient::greeted(&home, &[]);
    text(&client.call("echo__echo", &json!({ "text": "warm" })));
    let mut sessions = Vec::new();
    for _ in 0..20 {
        client.greet();
        sessions.push(client.session.take().unwrap());
    }
    let client = &client;
    std::thread::scope(|scope| {
        for (at, session) in sessions.iter().enumerate() {
            scope.spawn(move || {
                for id in 1..=20 {
                    let said = format!("client {at}, request {id}");
                    let arguments = json!({ "text": said, "ms": (at * 7 + id * 13) % 20 });
                    let params = json!({ "name": "echo__echo", "arguments": arguments });
                    let call = json!({
                        "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params
                    });
                    let request = client.prepared("POST").header("mcp-session-id", session);
                    let answer = HttpClient::send(request.body(call.to_string())).json();
                    assert_eq!((&answer["id"], text(&answer)), (&json!(id), said.as_str()));
                }
            });
        }
    });
}

#[test]
fn an_id_comes_back_as_it_was_sent() {
    let home = Home::new();
    home.add("echo", &fake("echo_delay", &[]));
    let mut client = home.stdio();
    client.wait_for_tool("echo__echo");
    let ids = [
        json!(1),
        json!("1"),
        json!(0),
        json!(-1),
        json!(9_007_199_254_740_993_u64),
        json!(""),
        json!("ünï\"\\\n"),
        json!("x".repeat(10_000)),
    ];
    for (at, id) in ids.iter().enumerate() {
        let arguments = json!({ "text": at.to_string(), "ms": 80 - 10 * at });
        let params = json!({ "name": "echo__echo", "arguments": arguments });
        client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    }
    for (at, id) in ids.iter().enumerate() {
        let answer = client.wait_for(|message| message["id"] == *id && message["error"].is_null());
        assert_eq!(text(&answer), at.to_string(), "{id}");
    }
}

#[test]
fn an_id_that_is_null_or_no_id_at_all_is_refused() {
    let home = Home::new();
    let mut client = home.stdio();
    for id in [json!(null), json!(1.5), json!({ "a": 1 }), json!([1]), json!(true)] {
        client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" }));
        let answer = client.wait_for(|message| message["error"].is_object());
        assert_eq!(answer["error"]["code"], -32600, "{id}: {answer}");
    }
    assert!(client.request("ping", &json!({}))["result"].is_object());
}

// D042

/// Sends calls all at once; returns how long it took until all were answered.
#[track_caller]
fn all_at_once(client: &mut StdioClient, calls: &[Value]) -> Duration {
    let begin = Instant::now();
    let ids: Vec<u64> = calls
        .iter()
        .map(|arguments| {
            client.ask("tools/call", &json!({ "name": "echo__echo", "arguments": arguments }))
        })
        .collect();
    for (id, arguments) in ids.into_iter().zip(calls) {
        let answer = client.answer(id);
        // No `assert_eq`: the text may have megabytes.
        assert!(text(&answer) == arguments["text"].as_str().unwrap(), "call {id} was garbled");
    }
    begin.elapsed()
}

#[test]
fn calls_to_one_server_run_side_by_side() {
    let home = Home::new();
    home.add("echo", &fake("echo_delay", &[]));
    let mut client = home.stdio();
    client.wait_for_tool("echo__echo");
    let calls: Vec<Value> =
        (0..8).map(|at| json!({ "text": format!("call {at}"), "ms": 400 })).collect();
    let took = all_at_once(&mut client, &calls);
    assert!(took < Duration::from_millis(8 * 400 / 2), "{took:?}");
}

#[test]
fn a_slow_call_holds_up_neither_ping_nor_lists_nor_other_calls() {
    let home = Home::new();
    home.add("echo", &fake("echo_delay", &[]));
    let mut client = home.stdio();
    client.wait_for_tool("echo__echo");
    let slow = json!({ "name": "echo__echo", "arguments": { "text": "slow", "ms": 5_000 } });
    let id = client.ask("tools/call", &slow);
    let begin = Instant::now();
    assert!(client.request("ping", &json!({}))["result"].is_object());
    assert!(client.tool_names().contains(&"echo__echo".to_owned()));
    assert_eq!(client.call_text("echo__echo", &json!({ "text": "quick" })), "quick");
    assert!(begin.elapsed() < Duration::from_millis(2_500), "{:?}", begin.elapsed());
    client.notify("notifications/cancelled", &json!({ "requestId": id }));
}

#[test]
fn a_slow_call_does_not_hold_up_the_handshake_of_another_client() {
    let home = Home::new();
    home.add("echo", &fake("echo_delay", &[]));
    let mut client = HttpClient::greeted(&home, &[]);
    text(&client.call("echo__echo", &json!({ "text": "warm" })));
    let params = json!({ "name": "echo__echo", "arguments": { "text": "slow", "ms": 4_000 } });
    let slow = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let request = client.prepared("POST").body(slow.to_string());
    let working = std::thread::spawn(move || HttpClient::send(request));
    let begin = Instant::now();
    client.greet();
    assert!(client.request("tools/list", &json!({}))["result"].is_object());
    assert_eq!(text(&client.call("echo__echo", &json!({ "text": "quick" }))), "quick");
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    assert!(!working.is_finished());
    assert_eq!(text(&working.join().unwrap().json()), "slow");
}

#[test]
fn megabytes_from_many_callers_at_once_arrive_whole() {
    let home = Home::new();
    home.add("echo", &fake("echo_delay", &[]));
    let mut client = home.stdio();
    client.wait_for_tool("echo__echo");
    let calls: Vec<Value> =
        ["a", "é", "漢", "🦀"].iter().map(|c| json!({ "text": c.repeat(1_000_000) })).collect();
    all_at_once(&mut client, &calls);
}

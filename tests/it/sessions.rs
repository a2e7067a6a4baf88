//! Many clients and many calls at a time: whose answer, whose turn.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::calls::{serving, text};
use crate::driver::{Home, HttpClient, StdioClient, fake};

// D041

#[test]
fn equal_ids_of_many_clients_never_mix_up_their_answers() {
    let home = Home::new();
    home.add("echo", &fake("echo_delay", &[]));
    let mut client = serving(&home, "echo__echo");
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
fn equal_progress_tokens_of_two_clients_never_mix_up_their_progress() {
    let home = Home::new();
    home.add("steps", &fake("progresses", &[]));
    let mut client = serving(&home, "steps__count");
    let sessions = [(); 2].map(|()| {
        client.greet();
        client.session.take().unwrap()
    });
    let client = &client;
    std::thread::scope(|scope| {
        for (label, session) in ["left", "right"].into_iter().zip(&sessions) {
            scope.spawn(move || {
                let params = json!({
                    "name": "steps__count",
                    "arguments": { "steps": 20, "label": label },
                    "_meta": { "progressToken": "same" }
                });
                let call = json!({
                    "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params
                });
                let request = client.prepared("POST").header("mcp-session-id", session);
                let reply = HttpClient::send(request.body(call.to_string()));
                let events: Vec<Value> = reply
                    .body
                    .lines()
                    .filter_map(|line| line.strip_prefix("data: "))
                    .map(|data| serde_json::from_str(data).unwrap())
                    .collect();
                let (answer, progress) = events.split_last().unwrap();
                assert_eq!(text(answer), label);
                assert_eq!(progress.len(), 20, "{reply:?}");
                for (step, event) in progress.iter().enumerate() {
                    let expected =
                        json!({ "progressToken": "same", "progress": step, "message": label });
                    assert_eq!(event["params"], expected, "{label}");
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
        client
            .send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
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
fn a_call_whose_arguments_look_like_a_handshake_holds_up_nothing() {
    let home = Home::new();
    home.add("echo", &fake("echo_delay", &[]));
    let mut client = home.stdio();
    client.wait_for_tool("echo__echo");
    for said in ["initialize", "notifications/cancelled"] {
        let arguments = json!({ "text": said, "ms": 5_000 });
        let params = json!({ "name": "echo__echo", "arguments": arguments });
        let id = client.ask("tools/call", &params);
        let begin = Instant::now();
        assert!(client.request("ping", &json!({}))["result"].is_object());
        client.notify("notifications/cancelled", &json!({ "requestId": id }));
        assert!(begin.elapsed() < Duration::from_secs(2), "{said}: {:?}", begin.elapsed());
    }
}

#[test]
fn a_slow_call_does_not_hold_up_the_handshake_of_another_client() {
    let home = Home::new();
    home.add("echo", &fake("echo_delay", &[]));
    let mut client = serving(&home, "echo__echo");
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

#[test]
fn megabytes_from_two_http_clients_at_once_arrive_whole() {
    let home = Home::new();
    home.add("echo", &fake("echo_delay", &[]));
    let client = serving(&home, "echo__echo");
    let client = &client;
    std::thread::scope(|scope| {
        for unit in ["x", "漢"] {
            scope.spawn(move || {
                let said = unit.repeat(5_000_000 / unit.len());
                let params = json!({ "name": "echo__echo", "arguments": { "text": said } });
                let call = json!({
                    "jsonrpc": "2.0", "id": unit, "method": "tools/call", "params": params
                });
                assert!(text(&client.post(&call).json()) == said, "`{unit}` was garbled");
            });
        }
    });
}

#[test]
fn a_message_over_the_limit_is_refused_and_the_session_goes_on() {
    let home = Home::with_settings("largest-message-mib = 1\n");
    home.add("echo", &fake("echo_delay", &[]));
    let mut client = serving(&home, "echo__echo");
    let params = json!({ "name": "echo__echo", "arguments": { "text": "x".repeat(2_000_000) } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    assert_eq!(client.post(&call).status, 413);
    assert_eq!(text(&client.call("echo__echo", &json!({ "text": "small" }))), "small");
}

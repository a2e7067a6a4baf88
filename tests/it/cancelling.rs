//! Calls that are taken back, or run out of time.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::calls::{failure, serving, text};
use crate::driver::{FakeHttp, Home, HttpClient, StdioClient, fake, wait_until};

/// Registers a server with a slow tool; returns the file in which it keeps a log.
#[track_caller]
fn add_slow(home: &Home, name: &str, options: &[&str]) -> PathBuf {
    let log = home.file(&format!("{name}.log"));
    let arguments = [&[log.to_str().unwrap()], options].concat();
    home.add(name, &fake("slow_work", &arguments));
    log
}

fn lines(log: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().map(ToOwned::to_owned).collect()
}

/// Waits for a line that begins with `word`; returns what follows.
#[track_caller]
fn wait_for(log: &Path, word: &str) -> String {
    let mut rest = None;
    wait_until(&format!("`{word}` in the log"), || {
        rest = lines(log)
            .iter()
            .find_map(|line| line.strip_prefix(word)?.strip_prefix(' ').map(ToOwned::to_owned));
        rest.is_some()
    });
    rest.unwrap()
}

fn count(log: &Path, word: &str) -> usize {
    lines(log).iter().filter(|line| line.starts_with(word)).count()
}

fn work(server: &str, seconds: f64) -> Value {
    json!({ "name": format!("{server}__work"), "arguments": { "seconds": seconds } })
}

/// Everything that comes until the answer to a new `ping`.
#[track_caller]
fn until_ping(client: &mut StdioClient) -> Vec<Value> {
    let id = client.ask("ping", &json!({}));
    let mut messages = Vec::new();
    loop {
        let message: Value = serde_json::from_str(&client.line()).unwrap();
        if message["id"] == id {
            return messages;
        }
        messages.push(message);
    }
}

fn is_answer(message: &Value) -> bool {
    message.get("id").is_some()
}

// D043

#[test]
fn a_cancelled_call_is_cancelled_upstream_under_its_own_id_and_nowhere_else() {
    let home = Home::new();
    let (left, right) = (add_slow(&home, "left", &[]), add_slow(&home, "right", &[]));
    let mut client = home.stdio();
    client.wait_for_tool("left__work");
    client.wait_for_tool("right__work");
    let first = client.ask("tools/call", &work("left", 20.0));
    let second = client.ask("tools/call", &work("right", 1.5));
    let began = wait_for(&left, "began");
    wait_for(&right, "began");
    let begin = Instant::now();
    client.notify("notifications/cancelled", &json!({ "requestId": first, "reason": "enough" }));
    assert_eq!(wait_for(&left, "cancelled"), began);
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    assert_eq!(client.answer(second)["result"]["content"][0]["text"], "worked");
    assert_eq!(count(&right, "cancelled"), 0);
    let rows = home.logged(2);
    let status = |server: &str| {
        rows.iter().find(|row| row["server"] == server).map(|row| row["status"].clone())
    };
    assert_eq!(status("left"), Some(json!("cancelled")), "{rows:?}");
    assert_eq!(status("right"), Some(json!("ok")), "{rows:?}");
}

#[test]
fn a_cancelled_call_is_never_answered_though_its_result_comes_late() {
    let home = Home::new();
    let log = add_slow(&home, "slow", &["--late"]);
    let mut client = home.stdio();
    client.wait_for_tool("slow__work");
    let id = client.ask("tools/call", &work("slow", 20.0));
    wait_for(&log, "began");
    client.notify("notifications/cancelled", &json!({ "requestId": id }));
    wait_for(&log, "late");
    // An answer to a later call proves that the late one has been read.
    assert_eq!(
        client.call("slow__work", &json!({ "seconds": 0 }))["result"]["isError"],
        json!(null)
    );
    let after = until_ping(&mut client);
    assert!(!after.iter().any(is_answer), "{after:?}");
}

#[test]
fn cancelling_what_is_unknown_or_over_changes_nothing() {
    let home = Home::new();
    let log = add_slow(&home, "slow", &[]);
    let mut client = home.stdio();
    client.wait_for_tool("slow__work");
    let id = client.ask("tools/call", &work("slow", 0.0));
    assert_eq!(client.answer(id)["result"]["content"][0]["text"], "worked");
    for params in [
        json!({ "requestId": id }),
        json!({ "requestId": 4_711 }),
        json!({ "requestId": "never" }),
        json!({ "requestId": null }),
        json!({}),
    ] {
        client.notify("notifications/cancelled", &params);
    }
    let after = until_ping(&mut client);
    assert!(!after.iter().any(is_answer), "{after:?}");
    client.request("tools/call", &work("slow", 0.0));
    assert_eq!(count(&log, "cancelled"), 0);
}

#[test]
fn a_client_that_closes_its_input_cancels_what_it_asked_for() {
    let home = Home::new();
    let log = add_slow(&home, "slow", &[]);
    let mut client = home.stdio();
    client.wait_for_tool("slow__work");
    client.ask("tools/call", &work("slow", 20.0));
    let began = wait_for(&log, "began");
    assert_eq!(client.finish(), 0);
    assert_eq!(wait_for(&log, "cancelled"), began);
    assert_eq!(home.logged(1)[0]["status"], "cancelled");
}

#[test]
fn an_http_client_that_hangs_up_cancels_what_it_asked_for() {
    let home = Home::new();
    let log = add_slow(&home, "slow", &[]);
    let client = serving(&home, "slow__work");
    // The gateway may notice late that the first is gone, so each has an id of its own.
    for (id, params) in [
        (77, work("slow", 20.0)),
        (78, {
            let mut streamed = work("slow", 20.0);
            streamed["_meta"] = json!({ "progressToken": "p" });
            streamed
        }),
    ] {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let request = client.prepared("POST").timeout(Duration::from_millis(600));
        let hung_up = request.body(call.to_string()).send().and_then(|response| response.text());
        assert!(hung_up.is_err(), "{hung_up:?}");
    }
    wait_until("both calls are cancelled upstream", || count(&log, "cancelled") == 2);
    assert_eq!(count(&log, "began"), 2);
    let rows = home.logged(2);
    assert!(rows.iter().all(|row| row["status"] == "cancelled"), "{rows:?}");
}

#[test]
fn a_call_over_http_can_be_cancelled_by_another_message_of_its_session() {
    let home = Home::new();
    let log = add_slow(&home, "slow", &[]);
    let client = serving(&home, "slow__work");
    let call = json!({ "jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": work("slow", 20.0) });
    let request = client.prepared("POST").body(call.to_string());
    let working = std::thread::spawn(move || HttpClient::send(request));
    wait_for(&log, "began");
    let params = json!({ "requestId": "c" });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    assert_eq!(client.post(&cancel).status, 202);
    let reply = working.join().unwrap();
    assert!(!reply.body.contains("worked"), "{reply:?}");
    wait_for(&log, "cancelled");
}

#[test]
fn a_client_cannot_cancel_what_another_asked_for_under_the_same_id() {
    let home = Home::new();
    let log = add_slow(&home, "slow", &[]);
    let mut client = serving(&home, "slow__work");
    let call =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": work("slow", 1.0) });
    let request = client.prepared("POST").body(call.to_string());
    let working = std::thread::spawn(move || HttpClient::send(request));
    wait_for(&log, "began");
    client.greet();
    let params = json!({ "requestId": 1 });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    assert_eq!(client.post(&cancel).status, 202);
    assert_eq!(text(&working.join().unwrap().json()), "worked");
    assert_eq!(count(&log, "cancelled"), 0);
}

#[test]
fn a_call_to_an_http_server_is_cancelled_there_too() {
    let home = Home::new();
    let web = FakeHttp::start("http_errors", &[]);
    home.ok(&["add", "web", "--no-connect", "--url", &web.url]);
    let mut client = home.stdio();
    client.wait_for_tool("web__hang");
    let id = client.ask("tools/call", &json!({ "name": "web__hang", "arguments": {} }));
    wait_until("the call has come", || web.count("tools/call") == 1);
    client.notify("notifications/cancelled", &json!({ "requestId": id }));
    wait_until("it is cancelled", || web.count("notifications/cancelled") == 1);
    let seen = web.seen();
    let own = seen.iter().find_map(|line| line.split("tools/call id=").nth(1)).unwrap();
    let own = own.split(' ').next().unwrap();
    assert!(seen.iter().any(|line| line.ends_with(&format!("cancels={own}"))), "{seen:#?}");
}

// D044

#[test]
fn a_call_out_of_time_is_cancelled_upstream_told_in_words_and_never_repeated() {
    let home = Home::with_settings("call-timeout-seconds = 1\n");
    let log = add_slow(&home, "slow", &["--late"]);
    let mut client = home.stdio();
    client.wait_for_tool("slow__work");
    let answer = client.request("tools/call", &work("slow", 20.0));
    let words = failure(&answer, "timeout");
    assert!(words.contains("`slow`") && words.contains("1 s"), "{words}");
    assert_eq!(wait_for(&log, "cancelled"), wait_for(&log, "began"));
    wait_for(&log, "late");
    assert_eq!(
        client.call("slow__work", &json!({ "seconds": 0 }))["result"]["isError"],
        json!(null)
    );
    assert_eq!(count(&log, "began"), 2, "one for each call of the client");
    let after = until_ping(&mut client);
    assert!(!after.iter().any(is_answer), "{after:?}");
    assert_eq!(home.logged(2)[0]["status"], "timeout");
}

#[test]
fn a_cancellation_at_the_moment_of_the_answer_breaks_nothing() {
    let home = Home::new();
    add_slow(&home, "slow", &[]);
    let mut client = home.stdio();
    client.wait_for_tool("slow__work");
    let mut ids = Vec::new();
    for round in 0..300_u64 {
        let id = client.ask("tools/call", &work("slow", 0.0));
        // From at once to after the answer: the round trip takes about a millisecond.
        let until = Instant::now() + Duration::from_micros(round * 10);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        client.notify("notifications/cancelled", &json!({ "requestId": id }));
        ids.push(id);
    }
    let answers: Vec<Value> = until_ping(&mut client).into_iter().filter(is_answer).collect();
    let mut answered: Vec<u64> =
        answers.iter().map(|message| message["id"].as_u64().unwrap()).collect();
    let all = answered.len();
    answered.sort_unstable();
    answered.dedup();
    assert_eq!(answered.len(), all, "nothing is answered twice");
    assert!(answered.iter().all(|id| ids.contains(id)));
    let last = client.request("tools/call", &work("slow", 0.0));
    assert_eq!(last["result"]["content"][0]["text"], "worked");
    assert_eq!(home.logged(301).len(), 301);
}

#[test]
fn a_handshake_out_of_time_is_not_cancelled() {
    let home = Home::with_settings("start-timeout-seconds = 1\n");
    let log = add_slow(&home, "deaf", &["--deaf"]);
    let outcome = home.run(&["test", "deaf"]);
    assert_ne!(outcome.code, 0);
    assert!(outcome.stderr.contains("within 1 s"), "{outcome:?}");
    assert_eq!(count(&log, "got initialize"), 1, "{:?}", lines(&log));
    assert_eq!(count(&log, "got notifications/cancelled"), 0, "{:?}", lines(&log));
}

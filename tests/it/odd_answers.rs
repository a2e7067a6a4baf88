//! Servers that answer under a wrong id, twice, or not at all; clients that use one twice.

use serde_json::{Value, json};

use crate::calls::{failure, serving, text};
use crate::driver::{Home, HttpClient, StdioClient, fake, wait_until};

/// A client of a server that answers calls in an odd style.
#[track_caller]
fn client_of(home: &Home, style: &str) -> StdioClient {
    home.add("odd", &fake("bad_ids", &[style]));
    let mut client = home.stdio();
    client.wait_for_tool("odd__work");
    client
}

/// Calls, and checks that exactly one answer comes.
#[track_caller]
fn only_answer(client: &mut StdioClient) -> Value {
    let params = json!({ "name": "odd__work", "arguments": { "say": "mine" } });
    let id = client.ask("tools/call", &params);
    let answer = client.answer(id);
    // The tool `plain` is answered properly, after whatever came too much.
    let plain = client.ask("tools/call", &json!({ "name": "odd__plain", "arguments": {} }));
    loop {
        let message: Value = serde_json::from_str(&client.line()).unwrap();
        assert_ne!(message["id"], id, "a second answer: {message}");
        if message["id"] == plain {
            assert_eq!(message["result"]["content"][0]["text"], "plain", "{message}");
            return answer;
        }
    }
}

#[track_caller]
fn check_that_it_works(style: &str) {
    let home = Home::new();
    let answer = only_answer(&mut client_of(&home, style));
    assert_eq!(text(&answer), "mine", "{style}");
}

#[track_caller]
fn check_that_it_runs_out_of_time_and_says_why(style: &str) {
    let home = Home::with_settings("call-timeout-seconds = 1\n");
    let answer = only_answer(&mut client_of(&home, style));
    let text = failure(&answer, "timeout");
    assert!(text.contains("`odd`") && text.contains("belong to no request"), "{style}: {text}");
}

// D047

#[test]
fn an_answer_whose_id_became_a_text_is_accepted() {
    check_that_it_works("text");
}

#[test]
fn an_answer_without_a_version_is_accepted() {
    check_that_it_works("no-version");
}

#[test]
fn an_answer_that_comes_twice_is_passed_on_once() {
    check_that_it_works("twice");
}

#[test]
fn an_answer_that_comes_before_an_unrelated_one_is_not_mixed_up_with_it() {
    check_that_it_works("stray-first");
}

#[test]
fn a_server_that_answers_everything_under_id_0_times_out_with_a_reason() {
    check_that_it_runs_out_of_time_and_says_why("zero");
}

#[test]
fn an_error_under_id_null_times_out_with_a_reason() {
    check_that_it_runs_out_of_time_and_says_why("null-error");
}

#[test]
fn an_answer_with_result_and_error_is_one_answer() {
    let home = Home::new();
    let answer = only_answer(&mut client_of(&home, "both"));
    let has = |member: &str| !answer[member].is_null();
    assert!(has("result") != has("error"), "{answer}");
}

#[test]
fn an_answer_with_neither_result_nor_error_is_a_failure_in_words() {
    let home = Home::new();
    let answer = only_answer(&mut client_of(&home, "neither"));
    let text = failure(&answer, "bad-answer");
    assert!(text.contains("`odd`"), "{text}");
}

#[test]
fn an_id_in_use_is_refused_and_the_first_request_keeps_its_answer() {
    let home = Home::new();
    home.add("echo", &fake("echo_delay", &[]));
    let mut client = home.stdio();
    client.wait_for_tool("echo__echo");
    let call = |said: &str| {
        let params = json!({ "name": "echo__echo", "arguments": { "text": said, "ms": 500 } });
        json!({ "jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": params })
    };
    client.send(&call("first"));
    client.send(&call("second"));
    let mut answers = [0; 2].map(|_| client.wait_for(|message| message["id"] == "same"));
    answers.sort_by_key(|answer| answer["error"].is_object());
    assert!(["first", "second"].contains(&text(&answers[0])), "{answers:?}");
    assert_eq!(answers[1]["error"]["code"], -32600, "{answers:?}");
    client.send(&call("third"));
    let again = client.wait_for(|message| message["id"] == "same");
    assert_eq!(text(&again), "third");
}

#[test]
fn an_id_in_use_over_http_is_refused_at_once() {
    let home = Home::new();
    let log = home.file("slow.log");
    home.add("slow", &fake("slow_work", &[log.to_str().unwrap()]));
    let client = serving(&home, "slow__work");
    let call = |seconds: u64| {
        let params = json!({ "name": "slow__work", "arguments": { "seconds": seconds } });
        json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params })
    };
    let request = client.prepared("POST").body(call(2).to_string());
    let working = std::thread::spawn(move || HttpClient::send(request));
    wait_until("the first call has begun", || {
        std::fs::read_to_string(&log).is_ok_and(|log| log.contains("began"))
    });
    assert_eq!(client.post(&call(0)).json()["error"]["code"], -32600);
    assert!(!working.is_finished());
    let first = working.join().unwrap().json();
    assert_eq!(text(&first), "worked");
}

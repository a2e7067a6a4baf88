//! JSON that one side wrote over many lines, where a line is a message for the other.

use serde_json::{Value, json};

use crate::calls::{serving, text};
use crate::driver::{FakeHttp, Home, HttpClient, fake};

#[test]
fn what_an_http_server_prints_over_many_lines_is_one_line_for_a_stdio_client() {
    let (home, web) = (Home::new(), FakeHttp::start("http_server", &["--pretty"]));
    home.ok(&["add", "web", "--no-connect", "--url", &web.url]);
    let mut client = home.stdio();
    // The client fails on any line that is no JSON.
    client.wait_for_tool("web__work");
    assert_eq!(client.call_text("web__work", &json!({})), "done");
    let refused = client.request("prompts/get", &json!({ "name": "web__none" }));
    assert!(refused["error"].is_object(), "{refused}");
}

#[test]
fn an_error_that_an_http_server_prints_over_many_lines_is_one_line_for_a_stdio_client() {
    let (home, web) = (Home::new(), FakeHttp::start("http_errors", &["--pretty"]));
    home.ok(&["add", "errors", "--no-connect", "--url", &web.url]);
    let mut client = home.stdio();
    client.wait_for_tool("errors__refused");
    let answer = client.call("errors__refused", &json!({}));
    assert_eq!(answer["error"]["data"], json!({ "field": "size" }), "{answer}");
}

#[test]
fn what_an_http_client_writes_over_many_lines_is_one_line_for_a_stdio_server() {
    let home = Home::new();
    home.add("echo", &fake("echo_delay", &[]));
    let client = serving(&home, "echo__echo");
    let arguments = json!({ "text": "many lines", "more": { "deep": [1, 2] } });
    let params = json!({ "name": "echo__echo", "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let pretty = serde_json::to_string_pretty(&call).unwrap();
    for body in [pretty.clone(), pretty.replace('\n', "\r\n"), format!("\n{pretty}\n\n")] {
        let reply = HttpClient::send(client.prepared("POST").body(body));
        assert_eq!(text(&reply.json()), "many lines");
    }
}

#[test]
fn what_an_http_server_prints_over_many_lines_is_one_answer_on_a_stream() {
    let (home, web) = (Home::new(), FakeHttp::start("http_server", &["--pretty"]));
    home.ok(&["add", "web", "--no-connect", "--url", &web.url]);
    let client = serving(&home, "web__work");
    let params = json!({ "name": "web__work", "_meta": { "progressToken": 1 } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let reply = client.post(&call);
    let data: Vec<&str> =
        reply.body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let answer: Value = serde_json::from_str(&data.join("\n")).unwrap();
    assert_eq!(text(&answer), "done");
}

//! Results and errors on their way down: unchanged, whole, and never mixed up.

use std::fs;

use serde_json::{Value, json};

use crate::calls::{failure, serving, text};
use crate::driver::{FakeHttp, Home, StdioClient, fake};

/// A client of a server that says exactly what it is told to say.
#[track_caller]
fn client_of(home: &Home, tools: &[Value], results: &[(&str, String)]) -> StdioClient {
    let path = home.file("verbatim.json");
    let results: serde_json::Map<String, Value> =
        results.iter().map(|(name, raw)| ((*name).to_owned(), json!(raw))).collect();
    fs::write(&path, json!({ "tools": tools, "results": results }).to_string()).unwrap();
    home.add("zoo", &fake("verbatim", &[path.to_str().unwrap()]));
    let mut client = home.stdio();
    for tool in tools {
        client.wait_for_tool(&format!("zoo__{}", tool["name"].as_str().unwrap()));
    }
    client
}

/// Calls a tool and returns the answer as it was written.
#[track_caller]
fn raw_answer(client: &mut StdioClient, name: &str) -> (u64, String) {
    let params = json!({ "name": format!("zoo__{name}"), "arguments": {} });
    let id = client.ask("tools/call", &params);
    loop {
        let line = client.line();
        // News of a list may come between.
        if !line.contains("\"method\":\"notifications/") {
            return (id, line);
        }
    }
}

fn tool(name: &str) -> Value {
    json!({ "name": name, "description": "Shows an animal", "inputSchema": { "type": "object" } })
}

/// Checks that results come through as they are, to the byte.
#[track_caller]
fn check_unchanged(results: &[(&str, &str)]) {
    let home = Home::new();
    let tools: Vec<Value> = results.iter().map(|(name, _)| tool(name)).collect();
    let owned: Vec<(&str, String)> =
        results.iter().map(|(name, raw)| (*name, (*raw).to_owned())).collect();
    let mut client = client_of(&home, &tools, &owned);
    for (name, raw) in results {
        let (id, line) = raw_answer(&mut client, name);
        let expected = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{raw}}}");
        assert_eq!(line, expected, "{name}");
    }
}

// D051

#[test]
fn every_kind_of_content_comes_through_unchanged() {
    check_unchanged(&[
        (
            "text",
            r#"{"content":[{"type":"text","text":"a\u00e9\n","annotations":{"audience":["user"],"priority":1.0}}]}"#,
        ),
        (
            "image",
            r#"{"content":[{"type":"image","data":"aGk=","mimeType":"image/png","_meta":{"k":[1]}}]}"#,
        ),
        ("audio", r#"{"content":[{"type":"audio","data":"aGk=","mimeType":"audio/wav"}]}"#),
        (
            "embedded",
            r#"{"content":[{"type":"resource","resource":{"uri":"file:///a","text":"t","mimeType":"text/plain"}}]}"#,
        ),
        (
            "link",
            r#"{"content":[{"type":"resource_link","uri":"file:///a","name":"a","title":"A","size":3}]}"#,
        ),
        (
            "structured",
            r#"{"content":[],"structuredContent":{"rows":[{"n":1}],"total":1},"_meta":{"vendor/x":{"y":null}},"unknownField":1}"#,
        ),
        (
            "flagged",
            r#"{"content":[{"type":"text","text":"no"}],"isError":false,"structuredContent":null}"#,
        ),
    ]);
}

#[test]
fn a_definition_keeps_every_field_but_its_name() {
    let home = Home::new();
    let animal = json!({
        "name": "animal",
        "title": "An animal",
        "description": "Shows an animal",
        "inputSchema": { "type": "object", "properties": { "kind": { "type": "string" } } },
        "outputSchema": { "type": "object", "properties": { "legs": { "type": "integer" } } },
        "annotations": { "readOnlyHint": true, "x-unknown": [1, 2], "title": "Animal" },
        "icons": [{ "src": "data:image/png;base64,aGk=", "sizes": ["16x16"], "mimeType": "image/png" }],
        "execution": { "taskSupport": "optional" },
        "_meta": { "vendor/rank": 9_007_199_254_740_993_u64 },
        "futureField": { "deep": [null, { "a": -0.0 }] }
    });
    let mut client = client_of(&home, std::slice::from_ref(&animal), &[]);
    let mut expected = animal;
    expected["name"] = json!("zoo__animal");
    let listed = client.tools().into_iter().find(|tool| tool["name"] == "zoo__animal");
    assert_eq!(listed, Some(expected));
}

// D054

#[test]
fn results_that_a_strict_type_would_refuse_come_through_unchanged() {
    check_unchanged(&[
        ("fraction", r#"{"content":[{"type":"text","text":"x","annotations":{"priority":0.6}}]}"#),
        ("whole", r#"{"content":[{"type":"text","text":"x","annotations":{"priority":1}}]}"#),
        (
            "audience",
            r#"{"content":[{"type":"text","text":"x","annotations":{"audience":["system"]}}]}"#,
        ),
        ("contentless", r#"{"structuredContent":{"a":1}}"#),
        ("future", r#"{"content":[{"type":"x-future","payload":{"a":[1,2]},"extra":true}]}"#),
        ("mimeless", r#"{"content":[{"type":"image","data":"aGk="}]}"#),
        (
            "textblob",
            r#"{"content":[{"type":"resource","resource":{"uri":"a:b","text":"t","blob":"aGk=","z":1}}]}"#,
        ),
        (
            "numbers",
            r#"{"content":[],"structuredContent":{"a":9007199254740993,"b":1e400,"c":1.10,"d":-0}}"#,
        ),
        ("order", r#"{"z":1,"content":[],"a":{"y":1,"x":2},"z2":[]}"#),
        ("spaces", r#"{ "content" : [ ] , "k":  "v" }"#),
        ("escapes", r#"{"content":[{"type":"text","text":"\ud83e\udd80 \/ \u0000"}]}"#),
        ("empty", r#"{}"#),
    ]);
}

// D052

/// The answers of one server of errors, checked.
#[track_caller]
fn check_errors(mut call: impl FnMut(&str) -> Value) {
    let failed = call("failed");
    assert_eq!(failed["result"]["isError"], true, "{failed}");
    assert_eq!(text(&failed), "disk is full");
    assert!(failed["result"]["_meta"].is_null(), "{failed}");
    let refused = json!({ "code": -32602, "message": "wrong shape", "data": { "field": "size" } });
    assert_eq!(call("refused")["error"], refused);
    assert_eq!(call("unknown")["error"], json!({ "code": -32601, "message": "not here" }));
    let answer = call("empty");
    assert!(failure(&answer, "bad-answer").contains("`errors`"), "{answer}");
    let answer = call("hang");
    let words = failure(&answer, "timeout");
    assert!(words.contains("`errors`") && words.contains("1 s"), "{words}");
}

#[track_caller]
fn check_rows(home: &Home, expected: &[(&str, &str, Option<&str>)]) {
    let rows: Vec<Value> = home
        .logged(expected.len())
        .iter()
        .map(|row| json!([row["name"], row["status"], row["error_class"]]))
        .collect();
    let expected: Vec<Value> = expected.iter().map(|row| json!(row)).collect();
    assert_eq!(rows, expected);
}

#[test]
fn failures_of_a_stdio_server_stay_apart() {
    let home = Home::with_settings("call-timeout-seconds = 1\n");
    home.add("errors", &fake("stdio_errors", &[]));
    let mut client = home.stdio();
    client.wait_for_tool("errors__crash");
    check_errors(|name| client.call(&format!("errors__{name}"), &json!({})));
    let crashed = client.call("errors__crash", &json!({}));
    assert!(failure(&crashed, "died").contains("`errors`"), "{crashed}");
    check_rows(
        &home,
        &[
            ("failed", "error", Some("tool-error")),
            ("refused", "error", Some("protocol-error")),
            ("unknown", "error", Some("protocol-error")),
            ("empty", "error", Some("bad-answer")),
            ("hang", "timeout", Some("timeout")),
            ("crash", "error", Some("died")),
        ],
    );
}

#[test]
fn failures_of_an_http_server_stay_apart() {
    let home = Home::with_settings("call-timeout-seconds = 1\n");
    let web = FakeHttp::start("http_errors", &[]);
    home.ok(&["add", "errors", "--no-connect", "--url", &web.url]);
    let mut client = serving(&home, "errors__broken");
    check_errors(|name| client.call(&format!("errors__{name}"), &json!({})));
    let broken = client.call("errors__broken", &json!({}));
    assert!(failure(&broken, "http-error").contains("`errors`"), "{broken}");
    check_rows(
        &home,
        &[
            ("failed", "error", Some("tool-error")),
            ("refused", "error", Some("protocol-error")),
            ("unknown", "error", Some("protocol-error")),
            ("empty", "error", Some("bad-answer")),
            ("hang", "timeout", Some("timeout")),
            ("broken", "error", Some("http-error")),
        ],
    );
}

#[test]
fn an_unknown_tool_is_a_bad_parameter_with_a_suggestion() {
    let home = Home::new();
    let mut client = client_of(&home, &[tool("list_animals")], &[]);
    let answer = client.call("zoo__list_animal", &json!({}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("`zoo__list_animals`"), "{message}");
}

#[test]
fn a_call_that_makes_no_sense_is_a_bad_parameter() {
    let home = Home::new();
    let mut client = client_of(&home, &[tool("animal")], &[("animal", "{}".to_owned())]);
    for (method, params) in [
        ("tools/call", json!({})),
        ("tools/call", json!([])),
        ("tools/call", json!({ "name": 7 })),
        ("tools/call", json!({ "name": "" })),
        ("tools/call", json!({ "name": "animal" })),
        ("prompts/get", json!({ "name": "zoo__none" })),
        ("resources/read", json!({ "uri": "file:///etc/passwd" })),
        ("resources/read", json!({})),
    ] {
        let answer = client.request(method, &params);
        assert_eq!(answer["error"]["code"], -32602, "{method} {params}: {answer}");
    }
    assert_eq!(client.call("zoo__animal", &json!({}))["result"], json!({}));
}

#[test]
fn a_server_that_is_down_is_named_in_band() {
    let home = Home::new();
    let web = FakeHttp::start("http_errors", &[]);
    home.ok(&["add", "errors", "--url", &web.url]);
    drop(web);
    let mut client = home.stdio();
    let answer = client.call("errors__failed", &json!({}));
    let words = failure(&answer, "unreachable");
    assert!(words.contains("`errors`") && words.contains("coffer test"), "{words}");
}

// D053

#[test]
fn a_large_result_is_never_cut() {
    let sizes = [("kilobytes", 9_000, "x"), ("cjk", 200_000, "漢"), ("crabs", 12_000_000, "🦀")];
    let home = Home::new();
    let tools = sizes.map(|(name, ..)| tool(name));
    let results = sizes.map(|(name, count, unit)| {
        let said = json!({ "content": [{ "type": "text", "text": unit.repeat(count) }] });
        (name, said.to_string())
    });
    let mut client = client_of(&home, &tools, &results);
    for (name, raw) in &results {
        let (id, line) = raw_answer(&mut client, name);
        // No `assert_eq`: the text has megabytes.
        let is_whole = line == format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{raw}}}");
        assert!(is_whole, "{name}: {} bytes came of {}", line.len(), raw.len());
    }
}

#[test]
fn a_result_over_the_limit_is_a_failure_that_names_the_limit_and_harms_no_other() {
    let home = Home::with_settings("largest-message-mib = 1\n");
    let huge = json!({ "content": [{ "type": "text", "text": "🦀".repeat(600_000) }] });
    let small = json!({ "content": [{ "type": "text", "text": "small" }] });
    let results = [("huge", huge.to_string()), ("small", small.to_string())];
    let mut client = client_of(&home, &[tool("huge"), tool("small")], &results);
    let answer = client.call("zoo__huge", &json!({}));
    let words = failure(&answer, "too-large");
    assert!(words.contains("1 MiB") && words.contains("`zoo`"), "{words}");
    assert_eq!(client.call_text("zoo__small", &json!({})), "small");
}

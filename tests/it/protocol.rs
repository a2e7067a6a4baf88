//! The handshake on both sides, and what servers ask of their client.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::calls::{serving, text};
use crate::driver::{FakeHttp, Home, HttpClient, StdioClient, fake};

fn hello(version: &Value, capabilities: &Value) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": capabilities,
        "clientInfo": { "name": "test-client", "version": "1.2" }
    })
}

// D045

/// Lets the server ask; returns what it was told.
#[track_caller]
fn asked(client: &mut StdioClient, server: &str, method: &str) -> Value {
    let begin = Instant::now();
    let told = client.call_text(&format!("{server}__ask"), &json!({ "method": method }));
    assert!(begin.elapsed() < Duration::from_secs(3), "{method} took {:?}", begin.elapsed());
    serde_json::from_str(&told).unwrap()
}

#[test]
fn what_a_server_asks_of_its_client_is_refused_at_once_and_ping_is_answered() {
    let (home, web) = (Home::new(), FakeHttp::start("http_asks", &[]));
    home.ok(&["add", "web", "--no-connect", "--url", &web.url]);
    home.add("local", &fake("asks_client", &[]));
    for capabilities in
        [json!({}), json!({ "sampling": {}, "elicitation": {}, "roots": { "listChanged": true } })]
    {
        let mut client = home.stdio_silent(&[]);
        client.request("initialize", &hello(&json!("2025-06-18"), &capabilities));
        client.notify("notifications/initialized", &json!({}));
        for server in ["local", "web"] {
            client.wait_for_tool(&format!("{server}__ask"));
            for method in ["roots/list", "sampling/createMessage", "elicitation/create"] {
                let told = asked(&mut client, server, method);
                assert_eq!(told["error"]["code"], -32601, "{server} {method}: {told}");
                let reason = told["error"]["message"].as_str().unwrap();
                assert!(reason.contains(method), "{reason}");
            }
            let told = asked(&mut client, server, "ping");
            assert_eq!(told["result"], json!({}), "{server}: {told}");
        }
    }
}

#[test]
fn a_server_is_promised_only_what_the_gateway_can_keep() {
    let home = Home::new();
    home.add("local", &fake("asks_client", &[]));
    let mut client = home.stdio_silent(&[]);
    let capabilities = json!({ "sampling": {}, "elicitation": {}, "roots": {} });
    client.request("initialize", &hello(&json!("2025-06-18"), &capabilities));
    client.notify("notifications/initialized", &json!({}));
    client.wait_for_tool("local__greeting");
    let told: Value =
        serde_json::from_str(&client.call_text("local__greeting", &json!({}))).unwrap();
    assert_eq!(told["capabilities"], json!({}));
    assert_eq!(told["clientInfo"]["name"], "coffer");
}

// D046

#[test]
fn a_client_gets_its_own_version_when_it_is_spoken_and_the_latest_otherwise() {
    let home = Home::new();
    for (wanted, agreed) in [
        (json!("2024-11-05"), "2024-11-05"),
        (json!("2025-03-26"), "2025-03-26"),
        (json!("2025-06-18"), "2025-06-18"),
        (json!("2025-11-25"), "2025-11-25"),
        (json!("2099-12-31"), "2025-11-25"),
        (json!("1900-01-01"), "2025-11-25"),
        (json!("latest"), "2025-11-25"),
        (json!(7), "2025-11-25"),
        (json!(null), "2025-11-25"),
    ] {
        let mut client = home.stdio_silent(&[]);
        let answer = client.request("initialize", &hello(&wanted, &json!({})));
        assert_eq!(answer["result"]["protocolVersion"], agreed, "{wanted}: {answer}");
        client.notify("notifications/initialized", &json!({}));
        assert!(!client.tools().is_empty(), "{wanted}");
    }
}

#[test]
fn a_server_of_any_version_is_used_and_each_side_agrees_on_its_own() {
    let home = Home::new();
    for (name, version) in [("old", "2024-11-05"), ("new", "2099-12-31"), ("none", "none")] {
        home.add(name, &fake("other_version", &[version]));
    }
    let mut client = home.stdio_silent(&[]);
    client.greet("2025-03-26");
    for (name, version) in
        [("old", Some("2024-11-05")), ("new", Some("2099-12-31")), ("none", None)]
    {
        let tool = format!("{name}__work");
        client.wait_for_tool(&tool);
        assert_eq!(client.call_text(&tool, &json!({})), "done", "{name}");
        let report = home.json(&["test", name, "--json"]);
        assert_eq!(report["protocol_version"], json!(version), "{report}");
    }
}

#[test]
fn an_http_server_hears_the_version_that_was_agreed_on() {
    let (home, web) = (Home::new(), FakeHttp::start("http_server", &["2025-03-26"]));
    home.ok(&["add", "web", "--no-connect", "--url", &web.url]);
    let mut client = home.stdio();
    client.wait_for_tool("web__work");
    assert_eq!(client.call_text("web__work", &json!({})), "done");
    let seen = web.seen();
    for line in seen.iter().filter(|line| !line.contains(" initialize ")) {
        assert!(line.contains("version=2025-03-26"), "{line}");
    }
    assert!(seen.iter().any(|line| line.contains("notifications/initialized")), "{seen:#?}");
}

#[test]
fn a_version_header_counts_only_after_the_handshake() {
    let home = Home::new();
    let mut client = HttpClient::start(&home, &[]);
    let params = hello(&json!("2025-06-18"), &json!({}));
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let odd = client.prepared("POST").header("mcp-protocol-version", "garbage");
    assert_eq!(HttpClient::send(odd.body(hello.to_string())).status, 200);
    client.greet();
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }).to_string();
    let with = |version: &str| {
        let request = client.prepared("POST").header("mcp-protocol-version", version);
        HttpClient::send(request.body(ping.clone())).status
    };
    assert_eq!(with("2025-06-18"), 200);
    assert_eq!(with("2025-03-26"), 200);
    assert_eq!(with("garbage"), 400);
    assert_eq!(with("1900-01-01"), 400);
    assert_eq!(HttpClient::send(client.prepared("POST").body(ping.clone())).status, 200);
}

// D049

#[test]
fn the_advice_of_servers_neither_delays_the_handshake_nor_bursts_it() {
    let home = Home::new();
    home.add("silent", &fake("instructs", &["0"]));
    home.add("brief", &fake("instructs", &["300"]));
    home.add("endless", &fake("instructs", &["50000"]));
    home.add("sleepy", &fake("instructs", &["10", "--delay", "60"]));
    let begin = Instant::now();
    let mut client = home.stdio_silent(&[]);
    let before = client.greet("2025-06-18");
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    for name in ["silent", "brief", "endless"] {
        client.wait_for_tool(&format!("{name}__work"));
    }
    let after = home.stdio_silent(&[]).greet("2025-06-18");
    for greeting in [before, after] {
        let advice = greeting["instructions"].as_str().unwrap();
        assert!(advice.chars().count() <= 800, "{} characters", advice.chars().count());
        assert!(advice.contains("coffer__search_tools"), "{advice}");
        for name in ["silent", "brief", "endless", "sleepy"] {
            assert!(advice.contains(name), "`{name}` in {advice}");
        }
    }
}

#[test]
fn the_advice_stays_bounded_with_many_servers() {
    let home = Home::new();
    for at in 0..60 {
        let name = format!("a-rather-long-name-{at:04}");
        home.ok(&["add", &name, "--no-connect", "--url", "http://127.0.0.1:9/mcp"]);
    }
    let greeting = home.stdio_silent(&[]).greet("2025-06-18");
    let advice = greeting["instructions"].as_str().unwrap();
    assert!(advice.chars().count() <= 800, "{advice}");
    assert!(advice.contains("coffer__search_tools"), "{advice}");
}

// D050

#[test]
fn a_server_may_talk_before_its_handshake_is_answered() {
    let home = Home::new();
    home.add("early", &fake("early_messages", &[]));
    let mut client = home.stdio();
    client.wait_for_tool("early__seen");
    let seen: Vec<String> =
        serde_json::from_str(&client.call_text("early__seen", &json!({}))).unwrap();
    let at = |what: &str| seen.iter().position(|method| method == what);
    assert_eq!(at("initialize"), Some(0), "{seen:?}");
    assert!(seen.contains(&"answer to early-ping".to_owned()), "{seen:?}");
    let initialized = at("notifications/initialized").unwrap();
    let asked = seen.iter().position(|method| method.ends_with("/list"));
    assert!(initialized < asked.unwrap(), "{seen:?}");
    for line in ["initialize", "notifications/initialized"] {
        assert_eq!(seen.iter().filter(|method| *method == line).count(), 1, "{seen:?}");
    }
}

#[test]
fn a_shared_process_is_greeted_once_for_all_clients() {
    let home = Home::new();
    home.add("early", &fake("early_messages", &[]));
    let mut client = serving(&home, "early__seen");
    for _ in 0..3 {
        client.greet();
        let answer = client.call("early__seen", &json!({}));
        let seen: Vec<String> = serde_json::from_str(text(&answer)).unwrap();
        assert_eq!(seen.iter().filter(|method| *method == "initialize").count(), 1, "{seen:?}");
    }
}

#[test]
fn a_client_may_ping_before_the_handshake_and_ask_nothing_else() {
    let home = Home::new();
    let mut client = home.stdio_silent(&[]);
    assert_eq!(client.request("ping", &json!({}))["result"], json!({}));
    for method in ["tools/list", "tools/call", "resources/list", "prompts/get"] {
        let code = client.request(method, &json!({}))["error"]["code"].clone();
        assert!(code == -32600 || code == -32002, "{method}: {code}");
    }
    client.greet("2025-06-18");
    assert!(!client.tools().is_empty());
}

#[test]
fn a_handshake_and_requests_may_come_in_one_piece() {
    let home = Home::new();
    home.add("local", &fake("other_version", &["2025-06-18"]));
    let mut client = home.stdio_silent(&[]);
    let params = hello(&json!("2025-06-18"), &json!({}));
    let call = json!({ "name": "local__work", "arguments": {} });
    let messages = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }),
        json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call }),
    ];
    client.send_raw(messages.map(|message| format!("{message}\n")).concat().as_bytes());
    assert_eq!(client.answer(1)["result"]["protocolVersion"], "2025-06-18");
    let listed = client.answer(2)["result"]["tools"].to_string();
    assert!(listed.contains("local__work"), "the first list waits for a new server: {listed}");
    assert_eq!(text(&client.answer(3)), "done");
}

#[test]
fn a_second_handshake_is_refused_and_the_session_goes_on() {
    let home = Home::new();
    let mut client = home.stdio();
    let again = client.request("initialize", &hello(&json!("2025-06-18"), &json!({})));
    assert_eq!(again["error"]["code"], -32600, "{again}");
    assert!(!client.tools().is_empty());
}

//! Bytes that are no UTF-8, from servers and from clients (D021, D022).

use serde_json::{Value, json};

use crate::calls::text;
use crate::driver::{Home, HttpClient, StdioClient, fake};

// D021

/// A client of the server with bad bytes.
#[track_caller]
fn bad(home: &Home) -> StdioClient {
    home.add("bad", &fake("bad_bytes", &[]));
    let mut client = home.stdio();
    client.wait_for_tool("bad__plain");
    client
}

#[test]
fn an_answer_in_another_encoding_ends_its_call_and_harms_no_other() {
    let home = Home::new();
    let mut client = bad(&home);
    for encoding in ["cp949", "euc_kr", "cp1252", "latin-1", "shift_jis"] {
        let call = json!({ "name": "bad__legacy", "arguments": { "encoding": encoding } });
        let broken = client.ask("tools/call", &call);
        let good = client.ask("tools/call", &json!({ "name": "bad__plain", "arguments": {} }));
        let answer = client.answer(broken);
        let said = text(&answer);
        assert!(
            answer["result"]["isError"] == true || said.contains("text"),
            "{encoding}: {answer}"
        );
        assert_eq!(text(&client.answer(good)), "fine", "{encoding}");
    }
}

#[test]
fn bytes_that_no_encoding_knows_end_their_call() {
    let home = Home::new();
    let mut client = bad(&home);
    let answer = client.call("bad__raw", &json!({}));
    let said = text(&answer);
    let is_replaced = said.starts_with('a') && said.ends_with('b') && said.contains('\u{fffd}');
    assert!(is_replaced || answer["result"]["isError"] == true, "{answer}");
    assert_eq!(client.call_text("bad__plain", &json!({})), "fine");
}

// D022

#[test]
fn a_line_that_is_no_utf8_is_refused_and_the_next_is_answered() {
    let home = Home::new();
    let mut client = home.stdio();
    let pieces: [&[u8]; 3] = [
        b"\xff\xfe\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"ping\",\"params\":{\"x\":\"\xc3\"}}\n",
        b"\x80\n",
    ];
    for bytes in pieces {
        client.send_raw(bytes);
        let refused = client.wait_for(|message| message.get("error").is_some());
        assert_eq!(refused["error"]["code"], -32700, "{refused}");
        assert_eq!(refused.get("id"), Some(&Value::Null), "{refused}");
        let answer = client.request("ping", &json!({}));
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
    assert_eq!(client.finish(), 0);
}

#[test]
fn arguments_that_are_no_utf8_are_never_passed_on_changed() {
    let home = Home::new();
    home.add("plain", &fake("mcp_server", &[]));
    let mut client = home.stdio();
    client.wait_for_tool("plain__echo");
    let head = b"{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"tools/call\",\"params\":{\"name\":\"plain__echo\",\"arguments\":{\"a\":\"";
    client.send_raw(&[&head[..], b"\xe9", b"\"}}}\n"].concat());
    let refused = client.wait_for(|message| message["id"].is_null() || message["id"] == 77);
    assert_eq!(refused["error"]["code"], -32700, "{refused}");
    assert_eq!(client.call_text("plain__echo", &json!({ "a": "é" })), "{\"a\": \"é\"}");
}

#[test]
fn a_body_that_is_no_utf8_is_refused_and_the_next_is_answered() {
    let home = Home::new();
    let mut client = HttpClient::greeted(&home, &[]);
    for body in [&b"\xff\xfe"[..], b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"] {
        let reply = HttpClient::send(client.prepared("POST").body(body.to_vec()));
        assert_eq!(reply.status, 400, "{reply:?}");
        let refused = reply.json();
        assert_eq!(refused["error"]["code"], -32700, "{refused}");
        assert_eq!(refused.get("id"), Some(&Value::Null), "{refused}");
        assert_eq!(client.request("ping", &json!({}))["result"], json!({}));
    }
    assert_eq!(client.terminate(), 0);
}

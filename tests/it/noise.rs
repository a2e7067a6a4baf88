//! Standard output that is not the protocol: a server's, which is forgiven, and the
//! gateway's own, which must not be (D017, D026).

use std::io::Read;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::calls::{serving, text};
use crate::driver::{Home, StdioClient, fake, wait_until};
use crate::process_table::{pids_in, resident};

#[track_caller]
fn add_noisy(home: &Home) {
    home.add("noisy", &fake("noisy", &[home.file("pids").to_str().unwrap()]));
}

// D017

#[test]
fn noise_before_between_and_on_the_line_of_messages_ends_no_session() {
    let home = Home::new();
    add_noisy(&home);
    let mut client = home.stdio();
    client.wait_for_tool("noisy__echo");
    for number in 0..30 {
        let words = format!("call {number}");
        let arguments = json!({ "text": words, "glued": number % 2 == 1 });
        assert_eq!(client.call_text("noisy__echo", &arguments), words);
    }
    assert_eq!(pids_in(&home.file("pids")).len(), 1, "it was started again");
}

#[test]
fn noise_is_shown_clipped_and_for_a_while_under_the_servers_name() {
    let home = Home::new();
    add_noisy(&home);
    let mut client = serving(&home, "noisy__echo");
    for _ in 0..20 {
        assert_eq!(text(&client.call("noisy__echo", &json!({ "text": "x" }))), "x");
    }
    let shown = home.json(&["show", "noisy", "--json"]);
    let lines = shown["running"]["output"].as_array().unwrap();
    assert!((5..=50).contains(&lines.len()), "{} lines", lines.len());
    let lines: Vec<&str> = lines.iter().map(|line| line.as_str().unwrap()).collect();
    assert!(lines.iter().any(|line| line.contains("ready 🚀")), "{lines:?}");
    assert!(lines.iter().all(|line| line.len() <= 2_000), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains('\u{1b}')), "{lines:?}");
    assert_eq!(client.terminate(), 0);
}

#[test]
fn noise_is_logged_with_the_servers_name_and_in_measure() {
    let mut home = Home::new();
    home.set("COFFER_LOG", "debug");
    add_noisy(&home);
    let mut client = home.stdio();
    client.wait_for_tool("noisy__echo");
    for _ in 0..50 {
        client.call_text("noisy__echo", &json!({ "text": "x" }));
    }
    wait_until("it is logged", || client.stderr().contains("noisy"));
    let log = client.stderr();
    assert!(log.lines().all(|line| line.len() < 4_000), "a line is not clipped");
    assert!(log.len() < 400_000, "{} bytes of log", log.len());
}

#[test]
fn a_flood_on_the_other_stream_blocks_nothing() {
    let home = Home::new();
    let pids = home.file("pids");
    home.add("noisy", &fake("noisy", &[pids.to_str().unwrap(), "--flood"]));
    let mut client = home.stdio();
    client.wait_for_tool("noisy__echo");
    for number in 0..3 {
        let words = format!("call {number}");
        assert_eq!(client.call_text("noisy__echo", &json!({ "text": words })), words);
    }
    assert_eq!(pids_in(&pids).len(), 1, "it was started again");
    assert!(resident(client.pid()) < 200_000, "{} KiB", resident(client.pid()));
    assert_eq!(client.finish(), 0);
}

// D026

/// Reads the gateway's output up to the answer to `id`, and checks every line of it.
#[track_caller]
fn check_lines(client: &mut StdioClient, id: u64) -> Value {
    loop {
        let line = client.line();
        let message: Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("no JSON on standard output ({error}): {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        assert!(message.get("id").is_some() || message.get("method").is_some(), "{line}");
        if message["id"] == id {
            return message;
        }
    }
}

#[test]
fn every_line_of_the_gateways_output_is_a_message_whatever_its_servers_print() {
    let mut home = Home::new();
    home.set("COFFER_LOG", "trace");
    add_noisy(&home);
    home.add("ends", &fake("slow_start", &["--mode", "exit"]));
    home.add("refuses", &fake("slow_start", &["--mode", "refuse"]));
    home.add("absent", &["/nowhere/at-all".to_owned()]);
    let mut client = home.stdio_silent(&[]);
    let greeting = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {} });
    let id = client.ask("initialize", &greeting);
    check_lines(&mut client, id);
    client.notify("notifications/initialized", &json!({}));
    wait_until("the noisy one is listed", || {
        let id = client.ask("tools/list", &json!({}));
        check_lines(&mut client, id).to_string().contains("noisy__echo")
    });
    client.send_raw(b"not JSON\n[]\n\"text\"\n");
    for name in ["noisy__echo", "ends__work", "coffer__search_tools", "absent__x"] {
        let arguments = json!({ "text": "hello", "query": "hello" });
        let id = client.ask("tools/call", &json!({ "name": name, "arguments": arguments }));
        check_lines(&mut client, id);
    }
    let log = client.stderr();
    assert!(log.contains("DEBUG") || log.contains("TRACE"), "{log}");
    assert_eq!(client.finish(), 0);
}

#[test]
fn all_output_up_to_the_end_is_messages_and_children_do_not_inherit_it() {
    let mut home = Home::new();
    home.set("COFFER_LOG", "trace");
    add_noisy(&home);
    home.add("ends", &fake("slow_start", &["--mode", "exit"]));
    let pids = home.file("tree");
    home.add("tree", &fake("launcher", &[pids.to_str().unwrap()]));
    let mut command = home.program();
    command.args(["stdio", "--standalone"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut gateway = command.spawn().unwrap();
    wait_until("all have begun", || {
        pids_in(&pids).len() == 3 && pids_in(&home.file("pids")).len() == 1
    });
    // The end of its output comes with its own end, so nobody else has it.
    drop(gateway.stdin.take());
    let mut output = String::new();
    gateway.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    assert!(gateway.wait().unwrap().success());
    for line in output.lines() {
        let message: Value = serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("no JSON on standard output ({error}): {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
    }
}

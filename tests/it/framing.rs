//! Messages in a stream of bytes, however large they are and however it is cut (D020, D025).

use serde_json::json;

use crate::calls::{failure, text};
use crate::driver::{Home, StdioClient, fake, wait_until};
use crate::process_table::resident;

/// A client of the server with large messages.
#[track_caller]
fn big(settings: &str, arguments: &[&str]) -> (Home, StdioClient) {
    let home = Home::with_settings(settings);
    home.add("big", &fake("big_answers", arguments));
    let mut client = home.stdio();
    client.wait_for_tool("big__big");
    (home, client)
}

/// Asks for so many bytes in pieces of `chunk` and checks that they come whole.
#[track_caller]
fn check_whole(client: &mut StdioClient, bytes: usize, chunk: usize) {
    let came = client.call_text("big__big", &json!({ "bytes": bytes, "chunk": chunk }));
    assert!(came.len() == bytes, "{} of {bytes} bytes in pieces of {chunk}", came.len());
    let letters = came.trim_start_matches('a');
    assert!(letters.chars().all(|c| c == '漢'), "{bytes} bytes in pieces of {chunk}");
}

// D020

#[test]
fn a_message_comes_whole_in_pieces_of_any_size() {
    let (_home, mut client) = big("", &[]);
    for (bytes, chunk) in [
        (70_000, 1),
        (70_001, 2),
        (70_000, 4_096),
        (65_537, 0),
        (5_000_000, 4_096),
        (5_000_001, 65_536),
        (5_000_002, 0),
    ] {
        check_whole(&mut client, bytes, chunk);
    }
}

#[test]
fn a_message_of_40_mb_comes_whole_and_leaves_no_memory_behind() {
    let (_home, mut client) = big("", &[]);
    check_whole(&mut client, 1_000, 0);
    let before = resident(client.pid());
    check_whole(&mut client, 40_000_000, 0);
    wait_until("the memory is returned", || resident(client.pid()) < before + 20_000);
    check_whole(&mut client, 1_000, 0);
}

#[test]
fn a_list_of_megabytes_is_read() {
    let (_home, mut client) = big("", &["--list", "5000000"]);
    let tools = client.tools();
    let listed = tools.iter().find(|tool| tool["name"] == "big__big").unwrap();
    assert_eq!(listed["description"].as_str().unwrap().len(), 5_000_000);
}

#[test]
fn an_argument_of_megabytes_goes_upstream() {
    let (_home, mut client) = big("", &[]);
    let length = client.call_text("big__length", &json!({ "text": "漢".repeat(2_000_000) }));
    assert_eq!(length, "2000000");
}

#[test]
fn a_message_over_the_limit_fails_its_own_call_and_no_other() {
    let (_home, mut client) = big("largest-message-mib = 1\n", &[]);
    let ask = |client: &mut StdioClient, bytes: usize, chunk: usize| {
        let arguments = json!({ "bytes": bytes, "chunk": chunk });
        client.ask("tools/call", &json!({ "name": "big__big", "arguments": arguments }))
    };
    for chunk in [0, 4_096] {
        let before = ask(&mut client, 30_000, 0);
        let over = ask(&mut client, 3_000_000, chunk);
        let after = ask(&mut client, 30_000, 0);
        let refused = client.answer(over);
        let told = failure(&refused, "too-large");
        assert!(told.contains("`big`") && told.contains("1 MiB"), "{told}");
        for id in [before, after] {
            assert_eq!(text(&client.answer(id)).len(), 30_000);
        }
        check_whole(&mut client, 1_000_000, chunk);
    }
}

#[test]
fn a_message_over_the_limit_fails_its_own_call_although_its_id_comes_last() {
    let settings = "largest-message-mib = 1\ncall-timeout-seconds = 4\n";
    let (_home, mut client) = big(settings, &[]);
    let refused = client.call("big__big", &json!({ "bytes": 3_000_000, "last": true }));
    failure(&refused, "too-large");
    check_whole(&mut client, 1_000, 0);
}

#[test]
fn a_message_over_the_limit_that_names_another_id_inside_fails_no_other_call() {
    let (_home, mut client) = big("largest-message-mib = 1\ncall-timeout-seconds = 4\n", &[]);
    let held = client.ask("tools/call", &json!({ "name": "big__hold", "arguments": {} }));
    let refused = client.call("big__big", &json!({ "bytes": 3_000_000, "last": true }));
    assert_eq!(text(&client.answer(held)), "held");
    failure(&refused, "too-large");
}

#[test]
fn a_client_that_sends_too_much_is_told_and_stays_connected() {
    let (_home, mut client) = big("largest-message-mib = 1\n", &[]);
    let arguments = json!({ "text": "x".repeat(3_000_000) });
    client.ask("tools/call", &json!({ "name": "big__length", "arguments": arguments }));
    let refused = client.wait_for(|message| message.get("error").is_some());
    assert!(refused["error"]["message"].as_str().unwrap().contains("1 MiB"), "{refused}");
    check_whole(&mut client, 1_000, 0);
}

// D025

#[test]
fn carriage_returns_and_several_messages_in_one_write_are_read() {
    for style in ["crlf", "glued"] {
        let home = Home::new();
        home.add("odd", &fake("odd_framing", &[style]));
        let mut client = home.stdio();
        client.wait_for_tool("odd__say");
        for words in ["first", "second"] {
            assert_eq!(client.call_text("odd__say", &json!({ "text": words })), words, "{style}");
        }
    }
}

#[test]
fn a_last_answer_without_a_line_feed_counts() {
    let home = Home::new();
    home.add("odd", &fake("odd_framing", &["last"]));
    let mut client = home.stdio();
    client.wait_for_tool("odd__say");
    assert_eq!(client.call_text("odd__say", &json!({ "text": "hello" })), "hello");
    assert_eq!(client.call_text("odd__say", &json!({ "text": "last words" })), "last words");
    // It has ended with that, and is started again for the next.
    assert_eq!(client.call_text("odd__say", &json!({ "text": "hello" })), "hello");
}

/// What `coffer test` tells of a server whose answers are not read.
#[track_caller]
fn tested(style: &str) -> String {
    let home = Home::with_settings("start-timeout-seconds = 2\n");
    home.add("odd", &fake("odd_framing", &[style]));
    let outcome = home.run(&["test", "odd"]);
    assert_eq!(outcome.code, 6, "{outcome:?}");
    assert!(outcome.stderr.contains("no answer to `initialize` within 2 s"), "{outcome:?}");
    outcome.stderr
}

#[test]
fn a_server_that_frames_by_headers_is_told_with_a_hint_and_what_it_sent() {
    let told = tested("headers");
    assert!(told.contains("no line of JSON"), "no hint: {told}");
    assert!(told.contains("Content-Length"), "{told}");
}

#[test]
fn a_server_that_flushes_nothing_is_told_as_silent_and_not_waited_for() {
    let told = tested("buffered");
    assert!(!told.contains("no line of JSON"), "{told}");
}

#[test]
fn a_client_may_cut_and_end_its_lines_as_it_likes() {
    let home = Home::new();
    let mut client = home.stdio();
    let ping = |id: u64| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}");
    let texts = [
        format!("\u{feff}{}\r\n", ping(101)),
        format!("\n\r\n  \n{}\n{}\n", ping(102), ping(103)),
        format!("  {}  \n", ping(104)),
    ];
    for text in texts {
        text.as_bytes().iter().for_each(|byte| client.send_raw(&[*byte]));
    }
    client.send_raw(ping(105).as_bytes());
    client.close_input();
    for id in 101..=105 {
        assert_eq!(client.answer(id)["result"], json!({}), "{id}");
    }
    assert_eq!(client.finish(), 0);
}

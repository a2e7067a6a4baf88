//! Upstream servers over HTTP: lost sessions, refusals, redirects.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::calls::failure;
use crate::driver::{FakeHttp, Home, StdioClient, wait_until};

/// Registers a fake as `web`, with a credential.
#[track_caller]
fn register(home: &Home, fake: &FakeHttp) {
    let header = "Authorization=Bearer upstream-key";
    home.ok(&["add", "web", "--no-connect", "--url", &fake.url, "--header", header]);
}

/// A client that sees the tools of a fake.
#[track_caller]
fn connected(home: &Home, fake: &FakeHttp) -> StdioClient {
    register(home, fake);
    let mut client = home.stdio();
    client.wait_for_tool("web__work");
    client
}

#[track_caller]
fn wait_for_count(fake: &FakeHttp, text: &str, count: usize) {
    wait_until(&format!("{count} times `{text}`"), || fake.count(text) >= count);
    assert_eq!(fake.count(text), count, "`{text}` in {:#?}", fake.seen());
}

// D031

#[track_caller]
fn check_that_a_forgotten_session_is_begun_anew_once(style: &str) {
    let (home, fake) = (Home::new(), FakeHttp::start("http_forgets", &[style]));
    let mut client = connected(&home, &fake);
    assert_eq!(client.call_text("web__work", &json!({})), "done");
    assert_eq!(client.call_text("web__forget", &json!({})), "done");
    let params = json!({ "name": "web__work", "arguments": {} });
    let ids: Vec<u64> = (0..6).map(|_| client.ask("tools/call", &params)).collect();
    for id in ids {
        let answer = client.answer(id);
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{style}: {answer}");
    }
    wait_for_count(&fake, "ran s2", 6);
    wait_for_count(&fake, "ran ", 7);
    wait_for_count(&fake, " initialize ", 2);
    wait_for_count(&fake, "notifications/initialized", 2);
    let seen = fake.seen();
    let at = |text: &[&str]| seen.iter().position(|line| text.iter().all(|t| line.contains(t)));
    let greeted = at(&["notifications/initialized", "session=s2"]);
    assert!(greeted < at(&["tools/call", "session=s2"]), "{seen:#?}");
    for line in seen.iter().filter(|line| line.contains(" initialize ")) {
        // A handshake names neither an old session nor a version agreed on in it.
        assert!(line.contains("session=- version=- "), "{line}");
    }
    client.wait_for_tool("web__later");
}

#[test]
fn a_forgotten_session_is_begun_anew_once_for_all_waiting_calls() {
    check_that_a_forgotten_session_is_begun_anew_once("404");
}

#[test]
fn a_404_with_a_json_rpc_body_means_a_forgotten_session_too() {
    check_that_a_forgotten_session_is_begun_anew_once("404-json");
}

#[test]
fn a_404_with_a_web_page_means_a_forgotten_session_too() {
    check_that_a_forgotten_session_is_begun_anew_once("404-html");
}

#[test]
fn a_410_means_a_forgotten_session_too() {
    check_that_a_forgotten_session_is_begun_anew_once("410");
}

#[test]
fn a_400_that_names_the_session_means_a_forgotten_session_too() {
    check_that_a_forgotten_session_is_begun_anew_once("400");
}

#[test]
fn calls_that_come_while_a_session_is_begun_anew_wait_for_it() {
    let (home, fake) = (Home::new(), FakeHttp::start("http_forgets", &["404", "--slow"]));
    let mut client = connected(&home, &fake);
    client.call_text("web__forget", &json!({}));
    let params = json!({ "name": "web__work", "arguments": {} });
    let mut ids = vec![client.ask("tools/call", &params)];
    for step in [" initialize ", "notifications/initialized"] {
        wait_until(&format!("the second {step}"), || fake.count(step) == 2);
        ids.extend([(); 3].map(|()| client.ask("tools/call", &params)));
    }
    for id in ids {
        let answer = client.answer(id);
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    }
    wait_for_count(&fake, "ran s2", 7);
    wait_for_count(&fake, " initialize ", 2);
}

#[test]
fn a_new_session_is_listened_to_though_the_stream_of_the_old_one_was_refused() {
    let (home, fake) = (Home::new(), FakeHttp::start("http_forgets", &["404", "--stream"]));
    let mut client = connected(&home, &fake);
    let listens = |session: &str| {
        let own = |line: &&String| line.contains("GET") && line.contains(session);
        fake.seen().iter().filter(own).count()
    };
    wait_until("the stream is open", || listens("session=s1") == 1);
    client.call_text("web__forget", &json!({}));
    wait_until("the old session is refused", || listens("session=s1") == 2);
    assert_eq!(client.call_text("web__work", &json!({})), "done");
    wait_until("the new session is listened to", || listens("session=s2") == 1);
}

#[test]
fn a_session_that_is_forgotten_twice_is_begun_anew_twice() {
    let (home, fake) = (Home::new(), FakeHttp::start("http_forgets", &["404"]));
    let mut client = connected(&home, &fake);
    for round in 2..5 {
        client.call_text("web__forget", &json!({}));
        assert_eq!(client.call_text("web__work", &json!({})), "done");
        wait_for_count(&fake, " initialize ", round);
    }
}

#[test]
fn a_session_lost_in_a_200_fails_that_call_and_the_next_one_works() {
    let (home, fake) = (Home::new(), FakeHttp::start("http_forgets", &["200"]));
    let mut client = connected(&home, &fake);
    client.call_text("web__forget", &json!({}));
    let lost = client.call("web__work", &json!({}));
    let is_failure = lost["error"].is_object() || lost["result"]["isError"] == true;
    assert!(is_failure, "{lost}");
    assert_eq!(fake.count("ran "), 0, "a call that may have run is never repeated");
    assert_eq!(client.call_text("web__work", &json!({})), "done");
    wait_for_count(&fake, "ran s2", 1);
    wait_for_count(&fake, " initialize ", 2);
    client.wait_for_tool("web__later");
}

// D034

#[test]
fn a_stale_credential_is_tried_twice_and_then_named() {
    let (home, fake) = (Home::new(), FakeHttp::start("http_status", &["calls", "401"]));
    let mut client = connected(&home, &fake);
    let answer = client.call("web__work", &json!({}));
    let text = failure(&answer, "http-error");
    for word in ["`web`", "401", "credential", "header"] {
        assert!(text.contains(word), "`{word}` in {text}");
    }
    assert!(!text.contains("upstream-key"), "{text}");
    wait_for_count(&fake, "tools/call", 2);
    client.call("web__work", &json!({}));
    wait_for_count(&fake, "tools/call", 4);
}

#[test]
fn a_credential_that_works_at_the_second_try_is_no_failure() {
    let (home, fake) = (Home::new(), FakeHttp::start("http_status", &["calls", "401,200"]));
    let mut client = connected(&home, &fake);
    assert_eq!(client.call_text("web__work", &json!({})), "done");
    wait_for_count(&fake, "tools/call", 2);
}

#[test]
fn a_pause_that_the_server_asks_for_is_kept() {
    let (home, fake) = (Home::new(), FakeHttp::start("http_status", &["calls", "429:2,200"]));
    let mut client = connected(&home, &fake);
    let begin = Instant::now();
    assert_eq!(client.call_text("web__work", &json!({})), "done");
    assert!(begin.elapsed() >= Duration::from_secs(2), "{:?}", begin.elapsed());
    wait_for_count(&fake, "tools/call", 2);
}

#[test]
fn a_pause_of_an_hour_is_passed_on_and_not_waited_for() {
    let (home, fake) = (Home::new(), FakeHttp::start("http_status", &["calls", "429:3600"]));
    let mut client = connected(&home, &fake);
    let answer = client.call("web__work", &json!({}));
    assert!(failure(&answer, "http-error").contains("3600"), "{answer}");
    wait_for_count(&fake, "tools/call", 1);
}

#[test]
fn a_server_that_is_busy_twice_is_tried_a_third_time() {
    let (home, fake) = (Home::new(), FakeHttp::start("http_status", &["calls", "503,503,200"]));
    let mut client = connected(&home, &fake);
    assert_eq!(client.call_text("web__work", &json!({})), "done");
    wait_for_count(&fake, "tools/call", 3);
}

#[test]
fn a_status_that_may_hide_a_call_that_ran_is_never_tried_again() {
    for status in ["500", "502", "504"] {
        let (home, fake) = (Home::new(), FakeHttp::start("http_status", &["calls", status]));
        let mut client = connected(&home, &fake);
        let answer = client.call("web__work", &json!({}));
        assert!(failure(&answer, "http-error").contains(status), "{answer}");
        wait_for_count(&fake, "tools/call", 1);
    }
}

#[test]
fn a_server_that_refuses_the_handshake_is_asked_twice_and_the_setting_is_named() {
    let (home, fake) = (Home::new(), FakeHttp::start("http_status", &["all", "401"]));
    register(&home, &fake);
    let outcome = home.run(&["test", "web"]);
    assert_ne!(outcome.code, 0);
    let text = format!("{} {}", outcome.stdout, outcome.stderr);
    assert!(text.contains("401") && text.contains("header"), "{text}");
    wait_for_count(&fake, "POST", 2);
}

// D037

#[test]
fn a_redirect_within_the_origin_keeps_method_body_and_credential() {
    for status in ["307", "308"] {
        let (home, fake) = (Home::new(), FakeHttp::start("http_redirects", &[status]));
        let mut client = connected(&home, &fake);
        assert_eq!(client.call_text("web__work", &json!({})), "done");
        wait_for_count(&fake, "POST /mcp/ tools/call", 1);
        let seen = fake.seen();
        let arrived = seen.iter().find(|line| line.contains("POST /mcp/ tools/call")).unwrap();
        assert!(arrived.contains("auth=Bearer upstream-key"), "{arrived}");
        assert!(arrived.contains("session=s1"), "{arrived}");
    }
}

#[test]
fn the_stream_and_the_end_of_a_session_follow_a_redirect_too() {
    let (home, fake) = (Home::new(), FakeHttp::start("http_redirects", &["307"]));
    let client = connected(&home, &fake);
    wait_until("the stream is asked for", || fake.count("GET /mcp/ ") == 1);
    assert_eq!(client.finish(), 0);
    wait_for_count(&fake, "DELETE /mcp/ ", 1);
}

#[test]
fn a_redirect_that_would_turn_a_post_into_a_get_is_refused_with_the_right_url() {
    for status in ["301", "302", "303"] {
        let (home, fake) = (Home::new(), FakeHttp::start("http_redirects", &[status]));
        register(&home, &fake);
        let outcome = home.run(&["test", "web"]);
        assert_ne!(outcome.code, 0, "{status}");
        let text = format!("{} {}", outcome.stdout, outcome.stderr);
        assert!(text.contains(&format!("{}/", fake.url)), "{status}: {text}");
        assert_eq!(fake.count("/mcp/ "), 0, "{:#?}", fake.seen());
    }
}

#[test]
fn a_credential_never_goes_to_another_origin() {
    let other = FakeHttp::start("http_server", &[]);
    let fake = FakeHttp::start("http_redirects", &["307", &other.url]);
    let home = Home::new();
    register(&home, &fake);
    let outcome = home.run(&["test", "web"]);
    assert_ne!(outcome.code, 0);
    let text = format!("{} {}", outcome.stdout, outcome.stderr);
    assert!(text.contains(&other.url), "{text}");
    wait_for_count(&fake, "POST", 1);
    assert_eq!(other.seen(), [""; 0]);
}

#[test]
fn a_redirect_to_another_scheme_is_not_followed() {
    let fake = FakeHttp::start("http_redirects", &["308", "https://127.0.0.1:9/mcp/"]);
    let home = Home::new();
    register(&home, &fake);
    let outcome = home.run(&["test", "web"]);
    assert_ne!(outcome.code, 0);
    let text = format!("{} {}", outcome.stdout, outcome.stderr);
    assert!(text.contains("https://127.0.0.1:9/mcp/"), "{text}");
}

#[test]
fn redirects_in_a_circle_come_to_an_end() {
    let (home, fake) = (Home::new(), FakeHttp::start("http_redirects", &["307", "loop"]));
    register(&home, &fake);
    let outcome = home.run(&["test", "web"]);
    assert_ne!(outcome.code, 0);
    let text = format!("{} {}", outcome.stdout, outcome.stderr);
    assert!(text.contains("redirect"), "{text}");
    assert!((2..=10).contains(&fake.count("POST")), "{:#?}", fake.seen());
}

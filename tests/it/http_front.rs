//! The HTTP front: sessions, their end, their number, and methods.

use reqwest::blocking::RequestBuilder;
use serde_json::{Value, json};

use crate::calls::{serving, text};
use crate::driver::{
    FakeHttp, Home, HttpClient, Reply, fake, is_alive, wait_until, wait_until_gone,
};

fn message(id: u64, method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {} })
}

/// A request in a session of that name.
fn in_session(client: &HttpClient, method: &str, session: Option<&str>) -> RequestBuilder {
    assert!(client.session.is_none(), "else two sessions would be named");
    let request = client.prepared(method);
    match session {
        Some(session) => request.header("mcp-session-id", session),
        None => request,
    }
}

fn ping(client: &HttpClient, session: Option<&str>) -> Reply {
    let body = message(1, "ping").to_string();
    HttpClient::send(in_session(client, "POST", session).body(body))
}

/// Shakes hands and returns the session, which the client itself forgets.
#[track_caller]
fn begin(client: &mut HttpClient) -> String {
    client.greet();
    client.session.take().expect("a handshake names its session")
}

// D032

#[test]
fn an_unknown_session_is_answered_with_404_before_anything_else() {
    let home = Home::new();
    let client = HttpClient::start(&home, &[]);
    let unknown = || in_session(&client, "POST", Some("gone"));
    let list = message(1, "tools/list").to_string();
    assert_eq!(HttpClient::send(unknown().body(list.clone())).status, 404);
    assert_eq!(HttpClient::send(unknown().body("{ this is no JSON")).status, 404);
    let wrong_version = unknown().header("mcp-protocol-version", "1900-01-01").body(list);
    assert_eq!(HttpClient::send(wrong_version).status, 404);
    for method in ["GET", "DELETE"] {
        let reply = HttpClient::send(in_session(&client, method, Some("gone")));
        assert_eq!(reply.status, 404, "{method}: {reply:?}");
    }
}

#[test]
fn a_handshake_with_a_stale_session_begins_a_fresh_one() {
    let home = Home::new();
    let mut client = HttpClient::start(&home, &[]);
    let old = begin(&mut client);
    HttpClient::send(in_session(&client, "DELETE", Some(&old)));
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {} });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let reply = HttpClient::send(in_session(&client, "POST", Some(&old)).body(hello.to_string()));
    assert_eq!(reply.status, 200, "{reply:?}");
    let fresh = reply.header("mcp-session-id").unwrap();
    assert_ne!(fresh, old);
    assert_eq!(ping(&client, Some(fresh)).status, 200);
}

#[test]
fn a_request_without_a_session_is_a_bad_request() {
    let home = Home::new();
    let client = HttpClient::start(&home, &[]);
    let list = message(1, "tools/list").to_string();
    let reply = HttpClient::send(in_session(&client, "POST", None).body(list));
    assert_eq!(reply.status, 400, "{reply:?}");
    assert!(reply.body.contains("initialize"), "{reply:?}");
    for method in ["GET", "DELETE"] {
        assert_eq!(HttpClient::send(in_session(&client, method, None)).status, 400, "{method}");
    }
}

#[test]
fn both_spellings_of_the_endpoint_are_served_without_a_redirect() {
    let home = Home::new();
    let mut client = HttpClient::start(&home, &[]);
    let session = begin(&mut client);
    for path in ["/mcp", "/mcp/"] {
        let request = client
            .bare("POST", path)
            .bearer_auth(client.token.as_ref().unwrap())
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .header("mcp-session-id", &session)
            .body(message(7, "ping").to_string());
        let reply = HttpClient::send(request);
        assert_eq!((reply.status, &reply.json()["id"]), (200, &json!(7)), "{path}");
    }
}

// D036

#[test]
fn a_stream_has_to_be_asked_for_by_its_type() {
    let home = Home::new();
    let mut client = HttpClient::start(&home, &[]);
    let session = begin(&mut client);
    let listen = |accept: &str| {
        let request = client
            .bare("GET", "/mcp")
            .bearer_auth(client.token.as_ref().unwrap())
            .header("mcp-session-id", &session)
            .header("accept", accept);
        request.send().unwrap()
    };
    assert_eq!(listen("application/json").status(), 406);
    let stream = listen("text/event-stream");
    assert_eq!(stream.status(), 200);
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
}

#[test]
fn only_a_request_that_wants_progress_is_answered_as_a_stream() {
    let home = Home::new();
    home.add("echo", &fake("echo_delay", &[]));
    let client = serving(&home, "echo__echo");
    let mut params = json!({ "name": "echo__echo", "arguments": { "text": "hi" } });
    let call = |params: &Value| json!({ "jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": params });
    let reply = client.post(&call(&params));
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(text(&reply.json()), "hi");
    params["_meta"] = json!({ "progressToken": "p-1" });
    let reply = client.post(&call(&params));
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    let data = reply.body.lines().find_map(|line| line.strip_prefix("data: "));
    let answer: Value = serde_json::from_str(data.unwrap_or_else(|| panic!("{reply:?}"))).unwrap();
    assert_eq!((&answer["id"], text(&answer)), (&json!(8), "hi"));
}

#[test]
fn an_unknown_method_is_refused_with_those_that_are_allowed() {
    let home = Home::new();
    let mut client = HttpClient::start(&home, &[]);
    let session = begin(&mut client);
    for method in ["PUT", "PATCH"] {
        let reply = HttpClient::send(in_session(&client, method, Some(&session)));
        assert_eq!(reply.status, 405, "{method}: {reply:?}");
        let allowed = reply.header("allow").unwrap();
        assert!(["GET", "POST", "DELETE"].iter().all(|verb| allowed.contains(verb)), "{allowed}");
    }
}

#[test]
fn the_end_of_a_session_ends_its_own_processes_and_comes_once() {
    let home = Home::new();
    let command = fake("counter", &[]);
    let mut add = vec!["add", "counter", "--per-client", "--no-connect", "--"];
    add.extend(command.iter().map(String::as_str));
    home.ok(&add);
    let mut client = serving(&home, "counter__pid");
    let pid = text(&client.call("counter__pid", &json!({}))).parse().unwrap();
    assert!(is_alive(pid));
    assert_eq!(HttpClient::send(client.prepared("DELETE")).status, 204);
    wait_until_gone(&[pid]);
    assert_eq!(HttpClient::send(client.prepared("DELETE")).status, 404);
    assert_eq!(client.post(&message(1, "ping")).status, 404);
}

// D038

#[test]
fn the_number_of_sessions_is_bounded_and_the_longest_silent_gives_way() {
    let home = Home::with_settings("most-sessions = 5\n");
    let mut client = HttpClient::start(&home, &[]);
    let sessions: Vec<String> = (0..40).map(|_| begin(&mut client)).collect();
    let alive = |session: &String| ping(&client, Some(session)).status == 200;
    let (gone, kept) = sessions.split_at(35);
    assert!(kept.iter().all(alive));
    for session in gone {
        assert_eq!(ping(&client, Some(session)).status, 404);
    }
}

#[test]
fn an_open_stream_keeps_its_session_when_others_give_way() {
    let home = Home::with_settings("most-sessions = 2\n");
    let mut client = HttpClient::start(&home, &[]);
    let listening = begin(&mut client);
    let stream = in_session(&client, "GET", Some(&listening)).send().unwrap();
    assert_eq!(stream.status(), 200);
    let silent = begin(&mut client);
    let newest = begin(&mut client);
    assert_eq!(ping(&client, Some(&silent)).status, 404);
    for session in [&listening, &newest] {
        assert_eq!(ping(&client, Some(session)).status, 200);
    }
    drop(stream);
}

#[test]
fn a_request_under_way_keeps_its_session_when_others_give_way() {
    let home = Home::with_settings("most-sessions = 2\n");
    let log = home.file("slow.log");
    home.add("slow", &fake("slow_work", &[log.to_str().unwrap()]));
    let mut client = serving(&home, "slow__work");
    let busy = client.session.take().unwrap();
    let params = json!({ "name": "slow__work", "arguments": { "seconds": 2 } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let request = in_session(&client, "POST", Some(&busy)).body(call.to_string());
    let working = std::thread::spawn(move || HttpClient::send(request));
    wait_until("the call has begun", || {
        std::fs::read_to_string(&log).is_ok_and(|text| text.contains("began"))
    });
    for _ in 0..4 {
        begin(&mut client);
    }
    let reply = working.join().unwrap();
    assert_eq!(text(&reply.json()), "worked");
    assert_eq!(ping(&client, Some(&busy)).status, 200);
}

#[test]
fn a_session_that_gives_way_ends_its_own_processes() {
    let home = Home::with_settings("most-sessions = 1\n");
    let command = fake("counter", &[]);
    let mut add = vec!["add", "counter", "--per-client", "--no-connect", "--"];
    add.extend(command.iter().map(String::as_str));
    home.ok(&add);
    let mut client = serving(&home, "counter__pid");
    let pid = text(&client.call("counter__pid", &json!({}))).parse().unwrap();
    client.greet();
    wait_until_gone(&[pid]);
}

// D048

#[test]
fn answers_of_a_client_are_accepted_even_when_nobody_asked() {
    let home = Home::new();
    let client = HttpClient::greeted(&home, &[]);
    for answer in [
        json!({ "jsonrpc": "2.0", "id": 999, "result": { "action": "accept" } }),
        json!({ "jsonrpc": "2.0", "id": "never-asked", "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -1, "message": "declined" } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/of-a-future-kind" }),
        json!([{ "jsonrpc": "2.0", "id": 2, "result": {} }]),
    ] {
        let reply = client.post(&answer);
        assert_eq!((reply.status, reply.body.as_str()), (202, ""), "{answer}: {reply:?}");
    }
    assert_eq!(client.post(&message(5, "ping")).json()["id"], 5);
}

#[test]
fn a_question_of_an_upstream_leaves_no_call_over_http_hanging() {
    let (home, asking) = (Home::new(), FakeHttp::start("http_asks", &[]));
    home.ok(&["add", "web", "--no-connect", "--url", &asking.url]);
    home.add("local", &fake("asks_client", &[]));
    for name in ["web__ask", "local__ask"] {
        let mut client = serving(&home, name);
        let answer = client.call(name, &json!({ "method": "elicitation/create" }));
        let told: Value = serde_json::from_str(text(&answer)).unwrap();
        assert_eq!(told["error"]["code"], -32601, "{name}: {told}");
    }
}

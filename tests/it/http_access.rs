//! Who may ask over HTTP: hosts, origins and the token.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use reqwest::blocking::RequestBuilder;
use serde_json::json;

use crate::calls::{serving, text};
use crate::driver::{FakeHttp, Home, HttpClient};

fn hello() -> String {
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {} });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string()
}

/// A handshake without a token.
fn handshake(client: &HttpClient) -> RequestBuilder {
    client
        .bare("POST", "/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(hello())
}

fn with_token(client: &HttpClient) -> RequestBuilder {
    handshake(client).bearer_auth(client.token.as_ref().unwrap())
}

// D033

#[test]
fn a_foreign_host_is_refused_before_the_token_is_looked_at() {
    let home = Home::new();
    let client = HttpClient::start(&home, &[]);
    let port = client.address.rsplit_once(':').unwrap().1.to_owned();
    let token = client.token.clone().unwrap();
    for host in
        ["attacker.example", "attacker.example:80", "localhost.attacker.example", "10.1.2.3"]
    {
        for host in [host.to_owned(), format!("{host}:{port}")] {
            for method in ["GET", "POST", "DELETE", "OPTIONS"] {
                let request = client.bare(method, "/mcp").header("host", &host).body(hello());
                let with = request.try_clone().unwrap().bearer_auth(&token);
                for request in [request, with] {
                    let reply = HttpClient::send(request);
                    assert_eq!(reply.status, 403, "{method} {host}: {reply:?}");
                    assert_eq!(reply.header("mcp-session-id"), None);
                }
            }
        }
        let health = client.bare("GET", "/health").header("host", host);
        assert_eq!(HttpClient::send(health).status, 403, "{host}");
    }
}

#[test]
fn a_foreign_origin_is_refused_though_the_host_is_right() {
    let home = Home::new();
    let client = HttpClient::start(&home, &[]);
    let foreign = ["http://evil.example", "https://localhost.evil.example", "null", "file://"];
    for origin in foreign {
        let reply = HttpClient::send(with_token(&client).header("origin", origin));
        assert_eq!(reply.status, 403, "{origin}: {reply:?}");
    }
    let preflight = client
        .bare("OPTIONS", "/mcp")
        .header("origin", "http://evil.example")
        .header("access-control-request-method", "POST");
    let reply = HttpClient::send(preflight);
    assert_eq!(reply.status, 403, "{reply:?}");
    assert_eq!(reply.header("access-control-allow-origin"), None);
    for origin in [format!("http://{}", client.address), "http://localhost:5173".to_owned()] {
        let reply = HttpClient::send(with_token(&client).header("origin", &origin));
        assert_eq!(reply.status, 200, "{origin}: {reply:?}");
    }
}

#[test]
fn the_local_names_of_the_machine_are_accepted() {
    let home = Home::new();
    let client = HttpClient::start(&home, &[]);
    let port = client.address.rsplit_once(':').unwrap().1.to_owned();
    for host in ["localhost", "127.0.0.1", "[::1]", "LOCALHOST"] {
        let request = with_token(&client).header("host", format!("{host}:{port}"));
        assert_eq!(HttpClient::send(request).status, 200, "{host}");
    }
}

#[test]
fn loopback_is_the_default_and_an_ipv6_loopback_works() {
    let home = Home::new();
    assert!(HttpClient::start(&home, &[]).address.starts_with("127.0.0.1:"));
    if TcpListener::bind("[::1]:0").is_ok() {
        let client = HttpClient::start(&home, &["--bind", "::1"]);
        assert!(client.address.starts_with("[::1]:"), "{}", client.address);
        assert_eq!(HttpClient::send(with_token(&client)).status, 200);
    }
}

#[test]
fn a_wider_address_is_never_served_without_a_token() {
    let home = Home::new();
    let outcome = home.run(&["serve", "--port", "0", "--bind", "0.0.0.0", "--no-token"]);
    assert_ne!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.stderr.contains("--no-token"), "{outcome:?}");
}

// The token

#[test]
fn every_path_but_health_wants_the_token() {
    let home = Home::new();
    let client = HttpClient::start(&home, &[]);
    for (method, path) in [
        ("POST", "/mcp"),
        ("GET", "/mcp"),
        ("DELETE", "/mcp"),
        ("PUT", "/mcp"),
        ("POST", "/mcp/"),
        ("GET", "/api/servers"),
    ] {
        let reply = HttpClient::send(client.bare(method, path).body(hello()));
        assert_eq!(reply.status, 401, "{method} {path}: {reply:?}");
        assert!(reply.header("www-authenticate").is_some(), "{reply:?}");
        assert_eq!(reply.header("mcp-session-id"), None);
    }
    let health = HttpClient::send(client.bare("GET", "/health"));
    assert_eq!(health.status, 200);
    assert_eq!(health.json(), json!({ "status": "ok" }));
}

#[test]
fn a_token_that_is_wrong_in_any_way_is_refused() {
    let home = Home::new();
    let client = HttpClient::start(&home, &[]);
    let token = client.token.clone().unwrap();
    let (half, longer) = (token[..token.len() / 2].to_owned(), format!("{token}0"));
    for value in [
        format!("Bearer {half}"),
        format!("Bearer {longer}"),
        format!("Basic {token}"),
        format!("Bearer {}", token.to_uppercase() + "x"),
        token.clone(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
    ] {
        let reply = HttpClient::send(handshake(&client).header("authorization", &value));
        assert_eq!(reply.status, 401, "{value}: {reply:?}");
        assert!(!reply.body.contains(&half), "{reply:?}");
    }
    let in_the_url = client.bare("POST", &format!("/mcp?token={token}")).body(hello());
    assert_eq!(HttpClient::send(in_the_url).status, 401);
    assert_eq!(HttpClient::send(with_token(&client)).status, 200);
}

#[test]
fn the_token_is_private_long_and_the_same_after_a_restart() {
    let home = Home::new();
    let first = HttpClient::start(&home, &[]);
    let token = first.token.clone().unwrap();
    assert_eq!(first.terminate(), 0);
    assert!(token.len() >= 32, "128 bits or more");
    let mode = std::fs::metadata(home.file("token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(HttpClient::start(&home, &[]).token, Some(token));
    let other = Home::new();
    let elsewhere = HttpClient::start(&other, &[]);
    assert_ne!(elsewhere.token, Some(std::fs::read_to_string(home.file("token")).unwrap()));
}

#[test]
fn without_a_token_every_local_program_may_ask_and_no_web_page() {
    let home = Home::new();
    let client = HttpClient::start(&home, &["--no-token"]);
    assert_eq!(HttpClient::send(handshake(&client)).status, 200);
    let foreign = handshake(&client).header("host", "attacker.example");
    assert_eq!(HttpClient::send(foreign).status, 403);
    let page = handshake(&client).header("origin", "http://evil.example");
    assert_eq!(HttpClient::send(page).status, 403);
}

#[test]
fn nothing_of_a_clients_headers_goes_upstream() {
    let (home, fake) = (Home::new(), FakeHttp::start("http_server", &[]));
    home.ok(&["add", "web", "--no-connect", "--url", &fake.url]);
    let client = serving(&home, "web__work");
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "web__work", "arguments": {} }
    });
    let request = client.prepared("POST").header("x-extra", "from-the-client");
    let reply = HttpClient::send(request.body(call.to_string()));
    assert_eq!(text(&reply.json()), "done");
    let seen = fake.seen();
    assert!(seen.iter().any(|line| line.contains("tools/call")), "{seen:#?}");
    for line in &seen {
        assert!(line.contains("auth=- extra=- "), "{line}");
        assert!(!line.contains(client.token.as_ref().unwrap()), "{line}");
        assert!(!line.contains(client.session.as_ref().unwrap()), "{line}");
    }
}

//! What must never be shown, and references to variables.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::driver::{FakeHttp, Home, HttpClient, fake, kill, wait_until};

/// Everything secret in these tests holds this word.
const CANARY: &str = "canary";

#[track_caller]
fn check_clean(what: &str, text: &str) {
    let found = text.lines().find(|line| line.contains(CANARY));
    assert_eq!(found, None, "in {what}");
}

/// Runs what a user would look at, with all logging on, and looks for secrets.
#[track_caller]
fn check_that_nothing_shows(home: &Home, server: &str) {
    for arguments in [
        vec!["test", server],
        vec!["test", server, "--json"],
        vec!["refresh", server],
        vec!["show", server],
        vec!["show", server, "--json"],
        vec!["list"],
        vec!["list", "--json"],
        vec!["tools"],
        vec!["config", "show"],
        vec!["log", "--json"],
    ] {
        let outcome = home.run(&arguments);
        check_clean(&format!("{arguments:?}"), &outcome.stdout);
        check_clean(&format!("{arguments:?}"), &outcome.stderr);
    }
}

/// Adds the server that prints all it knows, with secrets in its settings.
#[track_caller]
fn add_talkative(home: &Home, options: &[&str]) {
    let command = fake("shows_environment", options);
    let mut arguments = vec!["add", "talk", "--no-connect", "--env", "TOKEN=canary-1", "--"];
    arguments.extend(command.iter().map(String::as_str));
    arguments.extend(["--token=canary-4", "--api-key", "canary-6"]);
    home.ok(&arguments);
}

fn traced() -> Home {
    let mut home = Home::with_settings("call-timeout-seconds = 1\nstart-timeout-seconds = 1\n");
    home.set("COFFER_LOG", "trace");
    home
}

// D055

#[test]
fn a_server_that_dies_at_start_shows_no_secret() {
    let home = traced();
    add_talkative(&home, &["--die-at", "start"]);
    check_that_nothing_shows(&home, "talk");
    let shown = home.run(&["test", "talk"]);
    assert!(shown.stderr.contains("***"), "what it printed is shown, masked: {shown:?}");
}

#[test]
fn a_server_that_dies_in_the_handshake_shows_no_secret() {
    let home = traced();
    add_talkative(&home, &["--die-at", "initialize"]);
    check_that_nothing_shows(&home, "talk");
}

#[test]
fn a_server_whose_handshake_is_no_json_shows_no_secret() {
    let home = traced();
    add_talkative(&home, &["--babble"]);
    check_that_nothing_shows(&home, "talk");
}

#[test]
fn a_server_that_fails_while_it_is_added_shows_no_secret() {
    let home = traced();
    let command = fake("shows_environment", &["--die-at", "start", "--token", "canary-4"]);
    let mut arguments = vec!["add", "talk", "--env", "TOKEN=canary-1", "--"];
    arguments.extend(command.iter().map(String::as_str));
    let outcome = home.run(&arguments);
    check_clean("standard output", &outcome.stdout);
    check_clean("standard error", &outcome.stderr);
}

#[test]
fn a_secret_that_comes_from_a_variable_is_masked_too() {
    let mut home = traced();
    home.set("VAULT", "canary-8");
    let command = fake("shows_environment", &["--die-at", "start", "--token=${VAULT}"]);
    let mut arguments = vec!["add", "talk", "--no-connect", "--env", "TOKEN=${VAULT}", "--"];
    arguments.extend(command.iter().map(String::as_str));
    home.ok(&arguments);
    check_that_nothing_shows(&home, "talk");
    let shown = home.run(&["test", "talk"]);
    assert!(shown.stderr.contains("***"), "{shown:?}");
}

#[test]
fn a_url_or_header_that_is_not_legal_shows_no_secret() {
    let home = traced();
    let url = "http://user:canary-7@[nowhere/mcp?api_key=canary-3";
    home.ok(&["add", "web", "--no-connect", "--url", url]);
    check_that_nothing_shows(&home, "web");
    let header = "X-Key=canary-2\u{1}";
    let url = "http://127.0.0.1:9/mcp";
    home.ok(&["add", "odd", "--no-connect", "--url", url, "--header", header]);
    check_that_nothing_shows(&home, "odd");
}

#[track_caller]
fn check_that_arguments_are_masked(arguments: &[&str]) {
    let home = traced();
    let command = fake("shows_environment", &["--die-at", "start"]);
    let mut add = vec!["add", "talk", "--no-connect", "--"];
    add.extend(command.iter().map(String::as_str));
    add.extend(arguments);
    home.ok(&add);
    check_that_nothing_shows(&home, "talk");
}

#[test]
fn a_header_among_the_arguments_is_masked() {
    check_that_arguments_are_masked(&["--header", "Authorization: Bearer canary-9"]);
    check_that_arguments_are_masked(&["-H", "X-Api-Key: canary-9"]);
    check_that_arguments_are_masked(&["--header=Authorization:canary-9"]);
}

#[test]
fn a_variable_among_the_arguments_is_masked() {
    check_that_arguments_are_masked(&["-e", "API_KEY=canary-9"]);
    check_that_arguments_are_masked(&["--env=API_KEY=canary-9"]);
    check_that_arguments_are_masked(&["postgres://user:canary-9@host/db"]);
    check_that_arguments_are_masked(&["https://host/mcp?api_key=canary-9"]);
}

#[test]
fn a_program_that_is_not_there_shows_no_secret() {
    let home = traced();
    home.ok(&["add", "gone", "--no-connect", "--env", "TOKEN=canary-1", "--", "/no/such/program"]);
    check_that_nothing_shows(&home, "gone");
}

#[test]
fn a_running_server_shows_no_secret_in_the_log_of_the_gateway() {
    let home = traced();
    add_talkative(&home, &[]);
    let mut client = home.stdio();
    client.wait_for_tool("talk__fail");
    let secret = json!({ "password": "canary-5" });
    // The server repeats its arguments, and that is the client's own business.
    let failed = client.call("talk__fail", &secret);
    assert!(failed["error"]["message"].as_str().unwrap().contains("canary-5"), "{failed}");
    assert_eq!(client.call("talk__hang", &secret)["result"]["isError"], true);
    let unknown = client.call("talk__canary", &secret);
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    check_clean("the rows of the log", &json!(home.logged(3)).to_string());
    check_that_nothing_shows(&home, "talk");
    let stderr = client.stderr();
    check_clean("standard error of the gateway", &stderr);
    assert_eq!(client.finish(), 0);
    check_that_nothing_shows(&home, "talk");
    for entry in fs::read_dir(home.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "py") || path.is_dir() {
            continue;
        }
        let bytes = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(!bytes.contains("canary-5"), "an argument is in {}", path.display());
        // The settings themselves are kept, for this user alone.
        if bytes.contains(CANARY) {
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{} is {mode:o}", path.display());
        }
    }
}

/// Adds an HTTP server with secrets in header, query and password.
#[track_caller]
fn add_http(home: &Home, address: &str) {
    let url = format!("http://user:canary-7@{address}/mcp?api_key=canary-3");
    let header = "Authorization=Bearer canary-2";
    home.ok(&["add", "web", "--no-connect", "--url", &url, "--header", header]);
}

fn address(fake: &FakeHttp) -> &str {
    fake.url.trim_start_matches("http://").trim_end_matches("/mcp")
}

#[test]
fn an_http_server_that_refuses_or_is_not_there_shows_no_secret() {
    let refusing = FakeHttp::start("http_status", &["all", "401"]);
    let redirecting = FakeHttp::start("http_redirects", &["302", "/mcp/?api_key=canary-3"]);
    for address in [address(&refusing), address(&redirecting), "127.0.0.1:9"] {
        let home = traced();
        add_http(&home, address);
        check_that_nothing_shows(&home, "web");
    }
}

#[test]
fn a_call_to_an_http_server_that_fails_shows_no_secret() {
    let failing = FakeHttp::start("http_status", &["calls", "401"]);
    let home = traced();
    add_http(&home, address(&failing));
    let mut client = home.stdio();
    client.wait_for_tool("web__work");
    let answer = client.call("web__work", &json!({ "password": "canary-5" }));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    check_clean("the answer", &answer.to_string());
    check_clean("standard error of the gateway", &client.stderr());
    check_that_nothing_shows(&home, "web");
    assert!(failing.seen().iter().any(|line| line.contains("auth=Bearer canary-2")));
}

/// A process that ends with its test, however that goes.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let _ended = self.0.kill();
            let _reaped = self.0.wait();
        }
    }
}

#[test]
fn the_token_of_the_gateway_is_never_printed() {
    let mut home = Home::new();
    home.set("COFFER_LOG", "trace");
    let log = home.file("stderr.txt");
    let mut command = home.program();
    command.args(["serve", "--port", "0"]).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(fs::File::create(&log).unwrap());
    let mut gateway = Ending(command.spawn().unwrap());
    let printed = || fs::read_to_string(&log).unwrap();
    let mut url = String::new();
    wait_until("it says where it serves", || {
        let text = printed();
        let said = text.lines().find_map(|line| line.split_once("serves http://")).map(|at| at.1);
        url = said.unwrap_or_default().to_owned();
        url.ends_with("/mcp")
    });
    let token = fs::read_to_string(home.file("token")).unwrap();
    let address = url.trim_end_matches("/mcp");
    for (given, status) in [(token.trim(), "400"), ("wrong", "401")] {
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!("POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Length: 2");
        let rest = format!("Connection: close\r\nAuthorization: Bearer {given}\r\n\r\n{{}}");
        write!(stream, "{head}\r\n{rest}").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        assert!(reply.starts_with(&format!("HTTP/1.1 {status}")), "{reply}");
    }
    kill(i32::try_from(gateway.0.id()).unwrap(), "-TERM");
    let ended = gateway.0.wait().unwrap();
    assert!(ended.success(), "{ended}");
    assert!(!printed().contains(token.trim()), "{}", printed());
}

#[test]
fn what_a_running_gateway_says_of_its_servers_is_masked() {
    let home = Home::new();
    add_talkative(&home, &[]);
    let client = HttpClient::greeted(&home, &[]);
    wait_until("the server is up", || {
        let request =
            client.bare("GET", "/api/servers").bearer_auth(client.token.as_ref().unwrap());
        let body = HttpClient::send(request).body;
        check_clean("/api/servers", &body);
        body.contains("\"ready\"")
    });
    let shown: Value = home.json(&["show", "talk", "--json"]);
    assert!(shown["running"]["output"].to_string().contains("***"), "{shown}");
    check_clean("show", &shown.to_string());
}

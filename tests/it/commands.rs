//! The commands that register, show and curate servers.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::driver::{Home, StdioClient, wait_until};
use crate::offering::{command, connect, offer, register, tools};

const DESK: &str = "stamp_letter | Put a stamp on a letter
    seal_letter | Close a letter with wax";

fn desk() -> Home {
    let home = Home::new();
    connect(&home, "desk", &tools(DESK));
    home
}

/// The row of a server in `coffer list --json`.
#[track_caller]
fn row(home: &Home, server: &str) -> Value {
    let rows = home.json(&["list", "--json"]);
    let row = rows.as_array().unwrap().iter().find(|row| row["name"] == server);
    row.unwrap_or_else(|| panic!("{server} is missing: {rows}")).clone()
}

fn add<'a>(name: &'a str, command: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["add", name];
    arguments.extend(more);
    arguments.push("--");
    arguments.extend(command.iter().map(String::as_str));
    arguments
}

#[test]
fn adding_connects_once_and_shows_the_tools() {
    let home = Home::new();
    offer(&home, "desk", &tools(DESK));
    let outcome = home.ok(&add("desk", &command(&home, "desk", &[]), &["--tag", "office"]));
    for text in ["desk", "2 tools", "desk__seal_letter", "desk__stamp_letter"] {
        assert!(outcome.stdout.contains(text), "{outcome:?}");
    }
    let row = row(&home, "desk");
    assert_eq!(row["state"], "ok");
    assert_eq!(row["tools"], 2);
    assert_eq!(row["tags"], json!(["office"]));
    assert_eq!(row["transport"]["type"], "stdio");
    let table = home.ok(&["list"]).stdout;
    assert!(table.contains("desk") && table.contains("2 tools"), "{table}");
}

#[test]
fn adding_a_server_that_cannot_be_reached_registers_it_and_says_why() {
    let home = Home::new();
    let outcome = home.ok(&["add", "absent", "--", "/nowhere/absent-server"]);
    assert!(outcome.stdout.contains("cannot be reached"), "{outcome:?}");
    assert!(outcome.stderr.contains("coffer test absent"), "no hint: {outcome:?}");
    let row = row(&home, "absent");
    assert_eq!(row["state"], "unreachable");
    assert!(row["error"].is_string(), "{row}");
}

#[test]
fn adding_speaks_json_when_asked_to_in_every_case() {
    let home = Home::new();
    offer(&home, "desk", &tools(DESK));
    let command = command(&home, "desk", &[]);
    let added = home.json(&add("desk", &command, &["--json"]));
    assert_eq!(added["tools"], json!(["desk__seal_letter", "desk__stamp_letter"]));
    assert_eq!(added["error"], Value::Null);
    let absent = home.json(&["add", "absent", "--json", "--", "/nowhere/absent-server"]);
    assert!(absent["error"].is_string(), "{absent}");
    let lazy = home.json(&add("lazy", &command, &["--json", "--no-connect"]));
    assert!(lazy.to_string().contains("lazy"), "{lazy}");
}

// D003, D004

#[test]
fn a_name_that_could_not_be_told_apart_is_refused_with_the_rule() {
    let home = Home::new();
    let long = "a".repeat(25);
    for name in ["my__db", "db_", "_db", "DB", "größe", "9lives", "a b", "a/b", "a.b", "", &long]
    {
        let outcome = home.run(&["add", name, "--no-connect", "--", "true"]);
        assert_eq!(outcome.code, 5, "{name}: {outcome:?}");
        assert!(outcome.stderr.contains("a-z, 0-9 and `-`"), "{name}: {outcome:?}");
    }
    for name in ["coffer", "COFFER", "Coffer"] {
        let outcome = home.run(&["add", name, "--no-connect", "--", "true"]);
        assert_eq!(outcome.code, 5, "{name}: {outcome:?}");
        assert!(outcome.stderr.contains("reserved"), "{name}: {outcome:?}");
    }
    assert_eq!(home.json(&["list", "--json"]), json!([]));
    home.ok(&["add", &"a".repeat(24), "--no-connect", "--", "true"]);
    home.ok(&["add", "coffer-2", "--no-connect", "--", "true"]);
}

#[test]
fn a_taken_name_is_refused_with_a_hint_and_the_first_server_stays() {
    let home = desk();
    let outcome = home.run(&["add", "desk", "--no-connect", "--", "true"]);
    assert_eq!(outcome.code, 4, "{outcome:?}");
    assert!(outcome.stderr.contains("coffer remove desk"), "{outcome:?}");
    assert_ne!(row(&home, "desk")["transport"]["command"], "true");
}

#[test]
fn a_server_needs_a_command_or_a_url_and_not_both() {
    let home = Home::new();
    let neither = home.run(&["add", "desk"]);
    assert_eq!(neither.code, 5, "{neither:?}");
    assert!(neither.stderr.contains("coffer add desk --url URL"), "{neither:?}");
    let both = home.run(&["add", "desk", "--url", "http://127.0.0.1:1/mcp", "--", "true"]);
    assert_eq!(both.code, 2, "{both:?}");
    let odd = home.run(&["add", "desk", "--url", "ftp://127.0.0.1/mcp"]);
    assert_eq!(odd.code, 5, "{odd:?}");
    assert_eq!(home.json(&["list", "--json"]), json!([]));
}

#[test]
fn secrets_of_a_registration_are_not_shown_again() {
    let home = Home::new();
    let secret = "s3cr3t-value-of-a-token";
    let environment = format!("API_TOKEN={secret}");
    home.ok(&["add", "desk", "--no-connect", "--env", &environment, "--", "true"]);
    let header = format!("Authorization=Bearer {secret}");
    let url = "http://127.0.0.1:1/mcp";
    home.ok(&["add", "web", "--no-connect", "--url", url, "--header", &header]);
    for arguments in
        [&["list"][..], &["list", "--json"], &["show", "desk"], &["show", "web", "--json"]]
    {
        let outcome = home.ok(arguments);
        assert!(!outcome.stdout.contains(secret), "{arguments:?}: {outcome:?}");
    }
}

#[test]
fn showing_prints_a_server_and_a_tool_with_both_names() {
    let home = Home::new();
    connect(&home, "desk", &tools("seal.letter | Close a letter\nstamp_letter | Stamp it"));
    let server = home.json(&["show", "desk", "--json"]);
    let shown: Vec<&Value> = server["tools"].as_array().unwrap().iter().collect();
    let odd = shown.iter().find(|tool| tool["original"] == "seal.letter").unwrap();
    let exposed = odd["name"].as_str().unwrap();
    assert!(exposed.starts_with("desk__seal_letter_"), "{exposed}");
    let text = home.ok(&["show", "desk"]).stdout;
    assert!(text.contains(exposed) && text.contains("seal.letter"), "{text}");
    let tool = home.json(&["show", exposed, "--json"]);
    assert_eq!(tool["original"], "seal.letter");
    assert_eq!(tool["definition"]["description"], "Close a letter");
    let near = home.run(&["show", "desk__stamp_leter"]);
    assert_eq!(near.code, 3, "{near:?}");
    assert!(near.stderr.contains("did you mean `desk__stamp_letter`"), "{near:?}");
}

#[test]
fn a_server_can_be_removed_and_added_again_without_its_old_switches() {
    let home = desk();
    home.ok(&["disable", "desk__seal_letter"]);
    home.ok(&["remove", "desk"]);
    assert_eq!(home.json(&["list", "--json"]), json!([]));
    connect(&home, "desk", &tools(DESK));
    assert_eq!(row(&home, "desk")["tools"], 2);
}

#[test]
fn switches_are_shown_and_taken_back() {
    let home = desk();
    home.ok(&["disable", "desk__seal_letter"]);
    assert_eq!(row(&home, "desk")["tools"], 1);
    assert_eq!(home.json(&["show", "desk__seal_letter", "--json"])["enabled"], false);
    home.ok(&["enable", "desk__seal_letter"]);
    assert_eq!(row(&home, "desk")["tools"], 2);
    home.ok(&["disable", "desk"]);
    let off = row(&home, "desk");
    assert_eq!((&off["enabled"], &off["tools"]), (&json!(false), &json!(0)));
    assert!(home.ok(&["list"]).stdout.contains("disabled"));
    home.ok(&["enable", "desk"]);
    assert_eq!(row(&home, "desk")["tools"], 2);
    // A tool that is not there yet can be switched off before it comes.
    let outcome = home.ok(&["disable", "desk__burn_letter"]);
    assert!(outcome.stderr.contains("when it comes"), "{outcome:?}");
    offer(&home, "desk", &tools("burn_letter | Burn it\nseal_letter | Seal it"));
    home.ok(&["refresh", "desk"]);
    let names: Vec<Value> = home.json(&["tools", "--json"]).as_array().unwrap().clone();
    assert_eq!(names.len(), 1, "{names:?}");
    assert_eq!(names[0]["name"], "desk__seal_letter");
}

#[test]
fn tags_are_added_taken_away_and_narrow_the_catalogue() {
    let home = desk();
    register(&home, "shelf", &tools("read_book | Read a book"));
    home.ok(&["test", "shelf"]);
    let outcome = home.ok(&["tag", "desk", "office", "paper", "office"]);
    assert!(outcome.stdout.contains("office, paper"), "{outcome:?}");
    let tagged = home.json(&["tools", "--json", "--tag", "office"]);
    assert_eq!(tagged.as_array().map(Vec::len), Some(2), "{tagged}");
    let found = home.json(&["search", "--json", "--tag", "office", "read a book"]);
    assert_eq!(found["total_searched"], 2, "{found}");
    home.ok(&["tag", "desk", "--remove", "office"]);
    assert_eq!(row(&home, "desk")["tags"], json!(["paper"]));
    assert_eq!(home.json(&["tools", "--json", "--tag", "office"]), json!([]));
}

#[test]
fn testing_says_how_it_went() {
    let home = desk();
    let outcome = home.ok(&["test", "desk"]);
    assert!(outcome.stdout.contains("works") && outcome.stdout.contains("desk__seal_letter"));
    assert_eq!(home.json(&["test", "desk", "--json"])["error"], Value::Null);
    let script = "echo the licence has expired >&2; exit 1";
    home.add("lapsed", &["sh", "-c", script].map(str::to_owned));
    let outcome = home.run(&["test", "lapsed"]);
    assert_eq!(outcome.code, 6, "{outcome:?}");
    assert!(outcome.stderr.contains("the licence has expired"), "{outcome:?}");
    let outcome = home.run(&["test", "lapsed", "--json"]);
    assert_eq!(outcome.code, 6, "{outcome:?}");
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(report["output"], json!(["the licence has expired"]));
}

#[test]
fn refreshing_counts_what_is_new_and_gone() {
    let home = desk();
    offer(&home, "desk", &tools("seal_letter | Seal\nfold_letter | Fold\nburn_letter | Burn"));
    let outcome = home.ok(&["refresh", "desk"]);
    assert!(outcome.stdout.contains("3 tools: 2 new, 1 gone"), "{outcome:?}");
    assert_eq!(row(&home, "desk")["tools"], 3);
}

/// Checks that a decision of another process reaches a running client.
#[track_caller]
fn check_seen(client: &mut StdioClient, name: &str, is_listed: bool) {
    let news = "notifications/tools/list_changed";
    client.wait_for(|message| message["method"] == news);
    wait_until("the list has changed", || {
        client.tool_names().iter().any(|listed| listed == name) == is_listed
    });
}

#[test]
fn a_running_gateway_hears_of_every_decision_at_once() {
    let home = desk();
    let mut client = home.stdio();
    client.wait_for_tool("desk__seal_letter");
    home.ok(&["disable", "desk__seal_letter"]);
    check_seen(&mut client, "desk__seal_letter", false);
    let answer = client.call("desk__seal_letter", &json!({}));
    assert_eq!(answer["error"]["code"], -32000, "{answer}");
    home.ok(&["enable", "desk__seal_letter"]);
    check_seen(&mut client, "desk__seal_letter", true);
    register(&home, "shelf", &tools("read_book | Read a book"));
    check_seen(&mut client, "shelf__read_book", true);
    home.ok(&["remove", "shelf"]);
    check_seen(&mut client, "shelf__read_book", false);
}

#[test]
fn a_reader_that_has_gone_makes_no_command_panic() {
    let home = desk();
    home.ok(&["call", "desk__seal_letter"]);
    for arguments in [
        &["list"][..],
        &["show", "desk"],
        &["tools", "--json"],
        &["search", "letter"],
        &["log"],
        &["config", "show"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = home.program();
        command.args(arguments).stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
        assert_ne!(output.status.code(), Some(101), "{arguments:?}");
    }
}

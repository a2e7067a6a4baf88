//! The invocation log: a row for each call whatever its end, and never what was said.

use std::fs;

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::driver::{Home, HttpClient, StdioClient, wait_until};
use crate::offering::{ending, register, tools};

/// Stands in arguments and must turn up nowhere.
const CANARY: &str = "canary-4711-secret";

/// A server with a tool for each way to end, a prompt and a resource.
fn register_all_endings(home: &Home) {
    let mut offered = tools("work | Works");
    for end in ["error-result", "protocol-error", "hang", "die"] {
        offered.push(ending(end, end));
    }
    offered.extend(tools("off | Is switched off"));
    register(home, "ends", &offered);
    let prompts = json!([{ "name": "greet", "arguments": [{ "name": "who" }] }]);
    let resources = json!([{ "name": "r", "uri": format!("note://{CANARY}") }]);
    let whole = json!({ "tools": offered, "prompts": prompts, "resources": resources });
    fs::write(home.file("ends.json"), whole.to_string()).unwrap();
}

/// Makes a call of every class; returns what has to be logged, in the order of the calls.
fn call_everything(home: &Home, client: &mut StdioClient) -> Vec<[&'static str; 4]> {
    let secret = json!({ "password": CANARY, "note": format!("my key is {CANARY}") });
    home.ok(&["disable", "ends__off"]);
    wait_until("the tool is off", || !client.tool_names().contains(&"ends__off".to_owned()));
    let mut expected = Vec::new();
    for (tool, status) in [
        ("work", "ok"),
        ("error-result", "error"),
        ("protocol-error", "error"),
        ("off", "denied"),
        ("hang", "timeout"),
    ] {
        client.call(&format!("ends__{tool}"), &secret);
        expected.push(["ends", "tool", tool, status]);
    }
    let id = client.ask("tools/call", &json!({ "name": "ends__hang", "arguments": secret }));
    client.notify("notifications/cancelled", &json!({ "requestId": id, "reason": CANARY }));
    expected.push(["ends", "tool", "hang", "cancelled"]);
    client.call(&format!("ends__{CANARY}"), &secret);
    expected.push(["", "tool", "", "error"]);
    client.call("gone__tool", &secret);
    expected.push(["", "tool", "", "error"]);
    client.search(&json!({ "query": CANARY }));
    expected.push(["coffer", "tool", "search_tools", "ok"]);
    client.call("coffer__search_tools", &json!({ "query": [CANARY] }));
    expected.push(["coffer", "tool", "search_tools", "error"]);
    let prompt = json!({ "name": "ends__greet", "arguments": { "who": CANARY } });
    client.request("prompts/get", &prompt);
    expected.push(["ends", "prompt", "greet", "ok"]);
    client.request("resources/read", &json!({ "uri": format!("coffer://ends/note://{CANARY}") }));
    expected.push(["ends", "resource", "", "ok"]);
    client.call("ends__die", &secret);
    expected.push(["ends", "tool", "die", "error"]);
    client.call(&format!("absent__{CANARY}"), &secret);
    expected.push(["absent", "tool", "", "error"]);
    expected
}

fn outline(row: &Value) -> [String; 4] {
    ["server", "kind", "name", "status"].map(|member| row[member].as_str().unwrap().to_owned())
}

// D059

#[test]
fn a_call_of_every_class_is_one_row_with_client_duration_and_outcome() {
    let home = Home::with_settings("call-timeout-seconds = 1\n");
    register_all_endings(&home);
    home.add("absent", &["/nowhere/absent".to_owned()]);
    let mut client = home.stdio();
    client.wait_for_tool("ends__work");
    let mut expected = call_everything(&home, &mut client).iter().map(outlined).collect::<Vec<_>>();
    let rows = home.logged(expected.len());
    let mut found: Vec<[String; 4]> = rows.iter().map(outline).collect();
    // A cancelled call ends when it likes.
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    for row in &rows {
        assert_eq!(
            (&row["client_name"], &row["client_version"]),
            (&json!("test-client"), &json!("1.2"))
        );
        assert!(row["duration_ms"].as_f64().unwrap() >= 0.0, "{row}");
        assert!(row["started_ms"].as_i64().unwrap() > 1_700_000_000_000, "{row}");
        assert_eq!(row["session"], rows[0]["session"]);
        let has_class = !row["error_class"].is_null();
        let may_lack_class = row["status"] == "ok" || row["status"] == "cancelled";
        assert!(has_class || may_lack_class, "{row}");
    }
    let timed_out = rows.iter().find(|row| row["status"] == "timeout").unwrap();
    assert!(timed_out["duration_ms"].as_f64().unwrap() >= 1_000.0, "{timed_out}");
}

fn outlined(row: &[&str; 4]) -> [String; 4] {
    row.map(str::to_owned)
}

#[test]
fn neither_arguments_nor_results_nor_error_texts_reach_the_disk_or_the_console() {
    let home = Home::with_settings("call-timeout-seconds = 1\n");
    register_all_endings(&home);
    home.add("absent", &["/nowhere/absent".to_owned()]);
    let mut client = home.stdio();
    client.wait_for_tool("ends__work");
    let expected = call_everything(&home, &mut client);
    home.logged(expected.len());
    // The server lists a resource whose URI it wrote itself, so its manifest may hold it.
    let listed = format!("note://{CANARY}");
    for file in ["coffer.db", "coffer.db-wal"] {
        let bytes = fs::read(home.file(file)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).replace(&listed, "");
        assert!(!text.contains(CANARY), "{file}");
    }
    let said = client.stderr();
    assert!(!said.contains(CANARY), "{said}");
    assert_eq!(client.finish(), 0);
}

#[test]
fn rows_survive_the_removal_of_their_server() {
    let home = Home::new();
    register(&home, "guest", &tools("work | Works"));
    let mut client = home.stdio();
    client.wait_for_tool("guest__work");
    client.call("guest__work", &json!({}));
    home.logged(1);
    home.ok(&["remove", "guest"]);
    let rows = home.logged(1);
    assert_eq!(outline(&rows[0]), ["guest", "tool", "work", "ok"]);
}

#[test]
fn a_call_from_the_command_line_is_a_row_like_any_other() {
    let home = Home::new();
    register(&home, "guest", &tools("work | Works"));
    home.ok(&["call", "guest__work", "{\"a\": 1}"]);
    let rows = home.logged(1);
    assert_eq!(outline(&rows[0]), ["guest", "tool", "work", "ok"]);
    assert_eq!(rows[0]["client_name"], "coffer-cli");
}

#[test]
fn a_call_over_http_is_logged_with_its_client_and_session() {
    let home = Home::new();
    register(&home, "guest", &tools("work | Works"));
    home.ok(&["test", "guest"]);
    let mut first = HttpClient::greeted(&home, &[]);
    first.call("guest__work", &json!({ "password": CANARY }));
    first.greet();
    first.call("guest__work", &json!({}));
    let rows = home.logged(2);
    for row in &rows {
        assert_eq!(outline(row), ["guest", "tool", "work", "ok"]);
        assert_eq!(row["client_name"], "test-client");
    }
    assert_ne!(rows[0]["session"], rows[1]["session"]);
    assert_eq!(first.terminate(), 0);
}

#[test]
fn a_call_that_waits_for_an_absent_server_is_logged_under_that_server() {
    let home = Home::new();
    register(&home, "guest", &tools("work | Works"));
    home.ok(&["test", "guest"]);
    fs::remove_file(home.file("guest.json")).unwrap();
    // The server cannot read its tools any more, and ends.
    let mut client = home.stdio();
    client.call("guest__work", &json!({}));
    let rows = home.logged(1);
    assert_eq!(outline(&rows[0]), ["guest", "tool", "work", "error"]);
    assert!(rows[0]["error_class"].is_string(), "{rows:?}");
}

#[test]
fn the_log_is_narrowed_by_server_time_and_number() {
    let home = Home::new();
    register(&home, "one", &tools("work | Works"));
    register(&home, "two", &tools("work | Works"));
    let mut client = home.stdio();
    client.wait_for_tool("one__work");
    client.wait_for_tool("two__work");
    for name in ["one__work", "two__work", "one__work"] {
        client.call(name, &json!({}));
    }
    home.logged(3);
    let lines = |arguments: &[&str]| -> Vec<Value> {
        let outcome = home.ok(&[&["log", "--json"], arguments].concat());
        outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    assert_eq!(lines(&["--server", "one"]).len(), 2);
    assert_eq!(lines(&["--server", "three"]).len(), 0);
    assert_eq!(lines(&["--since", "1h"]).len(), 3);
    assert_eq!(lines(&["--since", "2999-01-01T00:00Z"]).len(), 0);
    let newest = lines(&["-n", "2"]);
    assert_eq!(newest.iter().map(|row| &row["server"]).collect::<Vec<_>>(), ["two", "one"]);
    let table = home.ok(&["log"]).stdout;
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(table.lines().next().unwrap().contains("STATUS"), "{table}");
}

// D084: retention

/// Puts rows into the log as if they had been written `age_ms` ago.
fn age_log(home: &Home, rows: u32, age_ms: i64) {
    home.ok(&["list"]);
    let mut database = Connection::open(home.file("coffer.db")).unwrap();
    let transaction = database.transaction().unwrap();
    let insert = "INSERT INTO calls (started_ms, client_name, client_version, session, server,
                      kind, name, duration_ms, status)
                  VALUES (unixepoch() * 1000 - ?1, 'old', '1', 's', 'guest', 'tool', 'work', 1.0, 'ok')";
    let mut statement = transaction.prepare(insert).unwrap();
    for _ in 0..rows {
        statement.execute(params![age_ms]).unwrap();
    }
    drop(statement);
    transaction.commit().unwrap();
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
}

#[test]
fn rows_over_the_age_go_and_their_space_with_them() {
    let home = Home::with_settings("log-days = 30\n");
    let day = 24 * 60 * 60 * 1000;
    age_log(&home, 40_000, 31 * day);
    age_log(&home, 7, 29 * day);
    let size = || fs::metadata(home.file("coffer.db")).unwrap().len();
    let full = size();
    let mut client = home.stdio();
    client.search(&json!({ "query": "anything" }));
    wait_until("old rows are gone", || {
        home.ok(&["log", "--json", "-n", "100"]).stdout.lines().count() == 8
    });
    wait_until("the file is small", || size() < full / 10);
}

#[test]
fn a_gateway_that_is_never_idle_forgets_old_rows_too() {
    let home = Home::with_settings("log-rows = 5\n");
    age_log(&home, 3_000, 1000);
    let mut client = home.stdio();
    wait_until("old rows are gone", || {
        // Some calls for each look, so that the log is never left alone.
        for _ in 0..10 {
            client.search(&json!({ "query": "anything" }));
        }
        home.ok(&["log", "--json", "-n", "10000"]).stdout.lines().count() < 3_000
    });
}

#[test]
fn only_the_newest_rows_are_kept() {
    let home = Home::with_settings("log-rows = 5\n");
    age_log(&home, 100, 1000);
    let mut client = home.stdio();
    client.search(&json!({ "query": "anything" }));
    let mut rows = Vec::new();
    wait_until("five rows are left", || {
        let text = home.ok(&["log", "--json", "-n", "100"]).stdout;
        rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
        rows.len() == 5
    });
    assert_eq!(rows[4]["name"], "search_tools");
}

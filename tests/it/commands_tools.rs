//! The commands that use the catalogue, and those about the program itself.

use std::fs;

use serde_json::{Value, json};

use crate::driver::{Home, HttpClient, is_alive, wait_until, wait_until_gone};
use crate::offering::{connect, names, tool, tools};

fn desk() -> Home {
    let home = Home::new();
    let schema = json!({
        "type": "object",
        "properties": { "wax": { "type": "string", "enum": ["red", "black"] } },
        "required": ["wax"]
    });
    let offered = [
        tool("seal_letter", "Close a letter\nwith wax", &schema),
        tool("stamp_letter", "Put a stamp on a letter", &json!({ "type": "object" })),
    ];
    connect(&home, "desk", &offered);
    connect(&home, "shelf", &tools("read_book | Read a book"));
    home
}

#[test]
fn tools_are_printed_in_the_shape_of_each_model_api() {
    let home = desk();
    let plain = home.ok(&["tools"]).stdout;
    for name in ["desk__seal_letter", "desk__stamp_letter", "shelf__read_book"] {
        assert!(plain.contains(name), "{plain}");
    }
    let mcp = home.json(&["tools", "--format", "mcp"]);
    assert_eq!(mcp, home.json(&["tools", "--json"]));
    assert_eq!(mcp.as_array().map(Vec::len), Some(3), "{mcp}");
    let seal = &mcp[0];
    assert_eq!(seal["name"], "desk__seal_letter");
    assert_eq!(seal["inputSchema"]["required"], json!(["wax"]));
    let openai = home.json(&["tools", "--format", "openai"]);
    assert_eq!(openai[0]["type"], "function");
    assert_eq!(openai[0]["function"]["name"], "desk__seal_letter");
    assert_eq!(openai[0]["function"]["description"], seal["description"]);
    assert_eq!(openai[0]["function"]["parameters"], seal["inputSchema"]);
    let anthropic = home.json(&["tools", "--format", "anthropic"]);
    assert_eq!(anthropic[0]["name"], "desk__seal_letter");
    assert_eq!(anthropic[0]["input_schema"], seal["inputSchema"]);
    assert_eq!(anthropic[0].get("inputSchema"), None);
    let narrowed = home.json(&["tools", "--server", "shelf", "--format", "openai"]);
    assert_eq!(narrowed.as_array().map(Vec::len), Some(1), "{narrowed}");
    assert_eq!(home.run(&["tools", "--format", "gemini"]).code, 2);
}

#[test]
fn a_tool_without_a_description_keeps_a_text_there_in_every_shape() {
    let home = Home::new();
    connect(&home, "bare", &[json!({ "name": "work", "inputSchema": { "type": "object" } })]);
    let openai = home.json(&["tools", "--format", "openai"]);
    assert!(openai[0]["function"]["description"].is_string(), "{openai}");
    let anthropic = home.json(&["tools", "--format", "anthropic"]);
    assert!(anthropic[0]["description"].is_string(), "{anthropic}");
}

#[test]
fn searching_prints_a_table_and_json_as_an_agent_gets_it() {
    let home = desk();
    let outcome = home.ok(&["search", "close", "a", "letter"]);
    let first = outcome.stdout.lines().nth(1).unwrap();
    assert!(first.starts_with("desk__seal_letter"), "{outcome:?}");
    assert!(outcome.stderr.contains("3 tools searched"), "{outcome:?}");
    let answer = home.json(&["search", "--json", "-k", "1", "close a letter"]);
    assert_eq!(names(&answer), ["desk__seal_letter"]);
    assert_eq!(answer["tools"][0]["inputSchema"]["required"], json!(["wax"]));
    for member in ["total_searched", "ranker", "confidence"] {
        assert!(!answer[member].is_null(), "{member}: {answer}");
    }
    let narrowed = home.json(&["search", "--json", "--server", "shelf", "letter"]);
    assert_eq!(narrowed["total_searched"], 1, "{narrowed}");
}

#[test]
fn showing_a_server_tells_how_the_running_gateway_sees_it() {
    let home = desk();
    assert_eq!(home.json(&["show", "desk", "--json"])["running"], Value::Null);
    let gateway = HttpClient::greeted(&home, &[]);
    wait_until("the server is ready", || {
        home.json(&["show", "desk", "--json"])["running"]["phase"] == "ready"
    });
    let shown = home.json(&["show", "desk", "--json"]);
    let pid = i32::try_from(shown["running"]["pid"].as_i64().unwrap()).unwrap();
    assert!(is_alive(pid), "{shown}");
    assert!(home.ok(&["show", "desk"]).stdout.contains(&format!("ready, pid {pid}")));
    assert_eq!(gateway.terminate(), 0);
    wait_until_gone(&[pid]);
    assert_eq!(home.json(&["show", "desk", "--json"])["running"], Value::Null);
}

#[test]
fn calling_prints_the_text_or_the_whole_result() {
    let home = desk();
    let outcome = home.ok(&["call", "desk__seal_letter", "{\"wax\": \"red\"}"]);
    let said: Value = serde_json::from_str(outcome.stdout.trim()).unwrap();
    assert_eq!(said, json!({ "tool": "seal_letter", "arguments": { "wax": "red" } }));
    let whole = home.json(&["call", "--json", "desk__stamp_letter"]);
    assert_eq!(whole["content"][0]["type"], "text", "{whole}");
}

#[test]
fn a_call_can_use_the_servers_of_a_file() {
    let home = Home::new();
    crate::offering::offer(&home, "beside", &tools("work | Works"));
    let command = crate::offering::command(&home, "beside", &[]);
    let file = home.servers_file(&[("beside", command)]);
    let outcome = home.ok(&["call", "beside__work", "--config", &file]);
    assert!(outcome.stdout.contains("work"), "{outcome:?}");
    assert_eq!(home.json(&["list", "--json"]), json!([]), "it is not registered");
}

#[test]
fn text_of_a_server_cannot_rule_the_terminal() {
    let home = Home::new();
    let words = "Clears \u{1b}[2J the screen \u{9b}31m\u{7} and rings\r";
    connect(&home, "rude", &[tool("clear", words, &json!({ "type": "object" }))]);
    for arguments in [
        &["tools"][..],
        &["search", "clear"],
        &["show", "rude"],
        &["show", "rude__clear"],
        &["call", "rude__clear", "{\"a\": \"\\u001b[2J\"}"],
        &["call", "rude__\u{1b}[2J"],
        &["show", "\u{1b}[2J"],
    ] {
        let outcome = home.run(arguments);
        let said = outcome.stdout.clone() + &outcome.stderr;
        let is_harmless = |c: char| !c.is_control() || c == '\n' || c == '\t';
        assert!(said.chars().all(is_harmless), "{arguments:?}: {outcome:?}");
    }
    let listed = home.json(&["tools", "--json"]);
    assert_eq!(listed[0]["description"], words, "JSON keeps the text as it is");
}

#[test]
fn a_followed_log_prints_calls_as_they_come() {
    let home = desk();
    let mut follower = home.program();
    let file = home.file("followed");
    follower.args(["log", "--follow", "--json"]).stdout(fs::File::create(&file).unwrap());
    let mut follower = follower.spawn().unwrap();
    home.ok(&["call", "desk__seal_letter"]);
    wait_until("the call is printed", || {
        fs::read_to_string(&file).unwrap().contains("seal_letter")
    });
    home.ok(&["call", "shelf__read_book"]);
    wait_until("the next is printed", || fs::read_to_string(&file).unwrap().contains("read_book"));
    follower.kill().unwrap();
    follower.wait().unwrap();
    let lines = fs::read_to_string(&file).unwrap();
    assert_eq!(lines.lines().count(), 2, "{lines}");
}

#[test]
fn settings_are_shown_with_value_and_origin() {
    let mut home = Home::with_settings("port = 7555\nlog-days = 3\n");
    home.set("COFFER_LOG_DAYS", "4");
    let settings = home.json(&["config", "show", "--json"]);
    let setting = |name: &str| {
        let mut all = settings.as_array().unwrap().iter();
        let found = all.find(|setting| setting["name"] == name).unwrap();
        let text = |member: &str| found[member].as_str().unwrap().to_owned();
        (text("value"), text("origin"))
    };
    assert_eq!(setting("log-days"), ("4".to_owned(), "environment".to_owned()));
    assert_eq!(setting("port").0, "7555");
    assert!(setting("port").1.ends_with("config.toml"));
    assert_eq!(setting("call-timeout-seconds"), ("120".to_owned(), "default".to_owned()));
    let table = home.ok(&["config", "show"]).stdout;
    assert!(table.contains("log-days") && table.contains("config.toml"), "{table}");
}

/// A set of two queries over two tools.
fn evaluation(home: &Home) -> String {
    let folder = home.file("data");
    fs::create_dir_all(folder.join("catalogues")).unwrap();
    fs::create_dir_all(folder.join("queries")).unwrap();
    fs::write(folder.join("sets.json"), r#"{ "tiny": "desk" }"#).unwrap();
    let catalogue = concat!(
        r#"{"server":"desk","name":"seal_letter","description":"Close a letter with wax","inputSchema":{"type":"object"},"source":"x"}"#,
        "\n",
        r#"{"server":"desk","name":"stamp_letter","description":"Put a stamp on it","inputSchema":{"type":"object"},"source":"x"}"#,
        "\n"
    );
    fs::write(folder.join("catalogues/desk.jsonl"), catalogue).unwrap();
    let queries = concat!(
        r#"{"id":"1","query":"close with wax","relevant":["desk__seal_letter"],"lang":"en","source":"x","kind":"x"}"#,
        "\n",
        r#"{"id":"2","query":"stamp_letter","relevant":["desk__stamp_letter"],"lang":"en","source":"x","kind":"x"}"#,
        "\n"
    );
    fs::write(folder.join("queries/tiny.jsonl"), queries).unwrap();
    folder.to_string_lossy().into_owned()
}

#[test]
fn an_evaluation_is_one_object_with_its_metrics() {
    let home = Home::new();
    let data = evaluation(&home);
    let ranks = home.file("ranks.jsonl").to_string_lossy().into_owned();
    let report = home.json(&["eval", "--data", &data, "--json", "--out-ranks", &ranks]);
    let set = &report["sets"][0];
    assert_eq!((&set["set"], &set["catalogue_tools"]), (&json!("tiny"), &json!(2)), "{report}");
    assert_eq!(set["queries"], 2);
    for metric in ["recall@1", "recall@3", "recall@5", "recall@10", "mrr@10", "ndcg@10"] {
        assert_eq!(set["rankers"]["bm25"][metric].as_f64(), Some(1.0), "{metric}: {report}");
        assert_eq!(report["mean"]["bm25"][metric].as_f64(), Some(1.0), "{metric}: {report}");
    }
    assert!(set["rankers"]["bm25"]["query_ms_p95"].is_number(), "{report}");
    let lines = fs::read_to_string(&ranks).unwrap();
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert!(first.to_string().contains("desk__seal_letter"), "{first}");
    assert_eq!(lines.lines().count(), 2);
    let table = home.ok(&["eval", "--data", &data, "--set", "tiny"]).stdout;
    assert!(table.contains("tiny") && table.contains("100.0"), "{table}");
}

#[test]
fn an_evaluation_that_is_worse_than_recorded_fails_and_names_the_set() {
    let home = Home::new();
    let data = evaluation(&home);
    let record = home.file("recorded.json").to_string_lossy().into_owned();
    home.ok(&["eval", "--data", &data, "--record", &record]);
    home.ok(&["eval", "--data", &data, "--compare", &record]);
    fs::write(&record, r#"{ "bm25": { "tiny": 1.5 } }"#).unwrap();
    let outcome = home.run(&["eval", "--data", &data, "--compare", &record]);
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(outcome.stderr.contains("tiny"), "{outcome:?}");
}

#[test]
fn every_shell_gets_a_completion_script() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = home.ok(&["completions", shell]).stdout;
        for word in ["coffer", "refresh", "no-connect"] {
            assert!(script.contains(word), "{shell} lacks {word}");
        }
    }
    let outcome = home.run(&["completions", "tcl"]);
    assert_eq!(outcome.code, 2, "{outcome:?}");
}

//! `${VAR}` in the settings of servers, and what children see of the environment.

use std::fs;

use serde_json::{Value, json};

use crate::driver::{FakeHttp, Home, StdioClient, fake, wait_until};

/// What the child of `server` sees: `env`, `args`, `cwd`.
#[track_caller]
fn seen_by(client: &mut StdioClient, server: &str) -> Value {
    let tool = format!("{server}__show");
    client.wait_for_tool(&tool);
    serde_json::from_str(&client.call_text(&tool, &json!({}))).unwrap()
}

/// Writes an `mcpServers` file.
fn servers_file(home: &Home, servers: &Value) -> String {
    let path = home.file("mcp.json");
    fs::write(&path, json!({ "mcpServers": servers }).to_string()).unwrap();
    path.to_string_lossy().into_owned()
}

fn with_variables() -> Home {
    let mut home = Home::new();
    home.set("FIRST", "one");
    home.set("NESTED", "a${FIRST}b$FIRST");
    home.set("EMPTY", "");
    let folder = home.file("work");
    fs::create_dir(&folder).unwrap();
    home.set("FOLDER", folder.to_str().unwrap());
    home.set("PYTHON", "python3");
    home
}

// D056

#[test]
fn references_are_filled_in_everywhere_and_once() {
    let home = with_variables();
    let script = fake("shows_environment", &[])[1].clone();
    let file = servers_file(
        &home,
        &json!({
            "shell": {
                "command": "${PYTHON}",
                "args": [script, "--x=${FIRST}", "${env:FIRST}/${FIRST}", "${NOT_SET:-http://h:1}"],
                "cwd": "${FOLDER}",
                "env": {
                    "PLAIN": "${FIRST}",
                    "SPELT": "${env:FIRST}",
                    "DEFAULTED": "${NOT_SET:-else}",
                    "FILLED": "${EMPTY:-else}",
                    "BLANK": "${EMPTY}",
                    "ONCE": "${NESTED}",
                    "DOLLARS": "$FIRST $$ ${ $",
                    "TWICE": "${FIRST}${FIRST}"
                }
            }
        }),
    );
    let mut client = home.stdio_with(&["--config", &file]);
    let seen = seen_by(&mut client, "shell");
    assert_eq!(seen["args"], json!(["--x=one", "one/one", "http://h:1"]));
    assert_eq!(seen["cwd"], json!(home.file("work").canonicalize().unwrap()));
    for (name, value) in [
        ("PLAIN", "one"),
        ("SPELT", "one"),
        ("DEFAULTED", "else"),
        ("FILLED", "else"),
        ("BLANK", ""),
        ("ONCE", "a${FIRST}b$FIRST"),
        ("DOLLARS", "$FIRST $$ ${ $"),
        ("TWICE", "oneone"),
    ] {
        assert_eq!(seen["env"][name], value, "{name}");
    }
}

#[test]
fn references_in_url_and_headers_are_filled_in() {
    let web = FakeHttp::start("http_server", &[]);
    let mut home = Home::new();
    home.set("WEB", web.url.trim_end_matches("/mcp"));
    home.set("WEB_KEY", "key-of-the-web");
    let header = ["--header", "Authorization=Bearer ${WEB_KEY}"];
    let extra = ["--header", "X-Extra: ${NOT_SET:-fallback}"];
    let add = ["add", "web", "--no-connect", "--url", "${WEB}/mcp"];
    home.ok(&[&add[..], &header, &extra].concat());
    let mut client = home.stdio();
    client.wait_for_tool("web__work");
    for line in web.seen() {
        assert!(line.contains("auth=Bearer key-of-the-web extra=fallback"), "{line}");
    }
    let shown = home.ok(&["show", "web", "--json"]).stdout;
    assert!(shown.contains("Bearer ${WEB_KEY}") && shown.contains("${WEB}/mcp"), "{shown}");
    assert!(!shown.contains("key-of-the-web"), "{shown}");
}

#[test]
fn an_unset_variable_stops_one_server_and_is_named_with_its_field() {
    let mut home = with_variables();
    home.set("COFFER_LOG", "warn");
    let script = fake("shows_environment", &[])[1].clone();
    let entry = |field: &str, value: Value| {
        let mut entry = json!({ "command": "python3", "args": [script] });
        entry[field] = value;
        entry
    };
    let file = servers_file(
        &home,
        &json!({
            "good": { "command": "python3", "args": [script] },
            "in-env": entry("env", json!({ "KEY": "${NOT_SET}" })),
            "in-args": entry("args", json!([script, "${NOT_SET}"])),
            "in-cwd": entry("cwd", json!("${NOT_SET}")),
            "in-command": entry("command", json!("${NOT_SET}")),
            "in-url": { "url": "${NOT_SET}/mcp" },
            "in-header": { "url": "http://127.0.0.1:9/mcp", "headers": { "K": "${NOT_SET}" } }
        }),
    );
    let mut client = home.stdio_with(&["--config", &file]);
    seen_by(&mut client, "good");
    for (server, field) in [
        ("in-env", "env `KEY`"),
        ("in-args", "argument 2"),
        ("in-cwd", "cwd"),
        ("in-command", "command"),
        ("in-url", "url"),
        ("in-header", "header `K`"),
    ] {
        wait_until(&format!("the log names {server}"), || {
            client.stderr().lines().any(|line| {
                line.contains(server) && line.contains(&format!("{field} refers to `${{NOT_SET}}`"))
            })
        });
    }
    let search = client.search(&json!({ "query": "show" }));
    let notices = search["notices"].to_string();
    assert!(notices.contains("NOT_SET") && notices.contains("in-env"), "{notices}");
}

#[test]
fn a_new_value_is_used_at_the_next_start() {
    let mut home = Home::new();
    home.set("ROTATED", "old");
    let command = fake("shows_environment", &[]);
    let mut add = vec!["add", "shell", "--no-connect", "--env", "KEY=${ROTATED}", "--"];
    add.extend(command.iter().map(String::as_str));
    home.ok(&add);
    for value in ["old", "new"] {
        home.set("ROTATED", value);
        assert_eq!(seen_by(&mut home.stdio(), "shell")["env"]["KEY"], value);
    }
}

// D023

#[test]
fn a_variable_is_passed_on_by_its_name_and_no_other_is() {
    let mut home = Home::new();
    for (name, value) in [("A_KEY", "for-a"), ("B_KEY", "for-b"), ("SECRET_X", "for-none")] {
        home.set(name, value);
    }
    let command = fake("shows_environment", &[]);
    for (server, name) in [("a", "A_KEY"), ("b", "B_KEY")] {
        let mut add = vec!["add", server, "--no-connect", "--env", name, "--"];
        add.extend(command.iter().map(String::as_str));
        home.ok(&add);
    }
    let mut client = home.stdio();
    let (a, b) = (seen_by(&mut client, "a"), seen_by(&mut client, "b"));
    assert_eq!((&a["env"]["A_KEY"], &a["env"]["B_KEY"]), (&json!("for-a"), &json!(null)));
    assert_eq!((&b["env"]["A_KEY"], &b["env"]["B_KEY"]), (&json!(null), &json!("for-b")));
    for seen in [&a, &b] {
        assert_eq!(seen["env"]["SECRET_X"], json!(null));
        assert_eq!(seen["env"]["COFFER_HOME"], json!(null));
        assert!(seen["env"]["PATH"].is_string());
    }
    let shown = home.ok(&["show", "a", "--json"]).stdout;
    assert!(shown.contains("${A_KEY}") && !shown.contains("for-a"), "{shown}");
}

#[test]
fn a_variable_that_is_to_be_passed_on_and_is_not_set_is_named() {
    let home = Home::new();
    let command = fake("shows_environment", &[]);
    let mut add = vec!["add", "a", "--no-connect", "--env", "NOT_SET_ANYWHERE", "--"];
    add.extend(command.iter().map(String::as_str));
    home.ok(&add);
    let outcome = home.run(&["test", "a"]);
    assert_ne!(outcome.code, 0);
    assert!(outcome.stderr.contains("NOT_SET_ANYWHERE"), "{outcome:?}");
}

#[test]
fn a_server_sees_the_whole_environment_when_it_is_let() {
    let mut home = Home::new();
    home.set("SECRET_X", "for-all");
    let command = fake("shows_environment", &[]);
    let mut add = vec!["add", "a", "--no-connect", "--inherit-env", "--"];
    add.extend(command.iter().map(String::as_str));
    home.ok(&add);
    assert_eq!(seen_by(&mut home.stdio(), "a")["env"]["SECRET_X"], "for-all");
}

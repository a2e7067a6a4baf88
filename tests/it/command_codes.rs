//! Exit codes: each kind of failure has its own, and says what to type next.

use std::fs;

use serde_json::{Value, json};

use crate::driver::Home;
use crate::offering::{connect, ending, tools};

/// Runs a command that has to end with `code`, and checks what it says.
#[track_caller]
fn check(home: &Home, code: i32, arguments: &[&str], words: &[&str]) {
    let outcome = home.run(arguments);
    assert_eq!(outcome.code, code, "{arguments:?}: {outcome:?}");
    for word in words {
        assert!(outcome.stderr.contains(word), "{arguments:?}: no `{word}`: {outcome:?}");
    }
    assert!(!outcome.stderr.contains("panicked"), "{outcome:?}");
}

fn desk() -> Home {
    let home = Home::with_settings("call-timeout-seconds = 1\n");
    let mut offered = tools("seal_letter | Close a letter with wax");
    for end in ["error-result", "protocol-error", "hang", "die"] {
        offered.push(ending(end, end));
    }
    connect(&home, "desk", &offered);
    home
}

#[test]
fn what_was_asked_for_ends_with_0() {
    let home = Home::new();
    for arguments in [&["--help"][..], &["--version"], &["add", "--help"], &["list"], &["log"]] {
        check(&home, 0, arguments, &[]);
    }
    assert_eq!(home.json(&["list", "--json"]), json!([]));
    assert_eq!(home.json(&["tools", "--json"]), json!([]));
    assert_eq!(home.json(&["search", "--json", "anything"])["total_searched"], 0);
    assert_eq!(home.ok(&["log", "--json"]).stdout, "");
}

#[test]
fn what_cannot_be_typed_ends_with_2_and_the_usage() {
    let home = Home::new();
    for arguments in [&[][..], &["frobnicate"], &["add"], &["list", "--frobnicate"], &["search"]] {
        check(&home, 2, arguments, &["Usage"]);
    }
    check(&home, 2, &["serve", "--port", "99999"], &["99999", "--help"]);
    check(&home, 2, &["log", "-n", "many"], &["many", "--help"]);
}

#[test]
fn what_does_not_exist_ends_with_3_and_a_hint() {
    let home = desk();
    for arguments in [
        &["show", "nobody"][..],
        &["remove", "nobody"],
        &["enable", "nobody"],
        &["disable", "nobody__tool"],
        &["tag", "nobody", "x"],
        &["test", "nobody"],
        &["refresh", "nobody"],
        &["tools", "--server", "nobody"],
    ] {
        check(&home, 3, arguments, &["nobody", "coffer "]);
    }
    check(&home, 3, &["call", "desk__seal_leter"], &["desk__seal_letter"]);
    check(&home, 3, &["call", "unheard__of"], &["coffer tools"]);
    check(&home, 3, &["eval", "--set", "unheard-of"], &["unheard-of"]);
}

#[test]
fn what_exists_already_ends_with_4() {
    let home = desk();
    check(&home, 4, &["add", "desk", "--", "true"], &["desk", "coffer show desk"]);
}

#[test]
fn what_is_not_valid_ends_with_5() {
    let home = desk();
    for arguments in
        [&["call", "desk__seal_letter", "wax"][..], &["call", "desk__seal_letter", "[]"]]
    {
        check(&home, 5, arguments, &["JSON object", "coffer call"]);
    }
    check(&home, 5, &["call", "desk__seal_letter", "{\"wax\": }"], &["JSON object"]);
    check(&home, 5, &["log", "--since", "yesterday"], &["2h"]);
    check(&home, 5, &["search", "-k", "few", "letter"], &["top_k"]);
    check(&home, 5, &["search", "  "], &["query"]);
    check(&home, 5, &["eval", "--ranker", "dice"], &["bm25"]);
    check(
        &home,
        5,
        &["call", "desk__seal_letter", "--config", "/nowhere.json"],
        &["/nowhere.json"],
    );
    for (settings, word) in [
        ("call-timeout = 3\n", "call-timeout-seconds"),
        ("port = \"x\"\n", "line 1"),
        ("port = \n", "line 1"),
    ] {
        let home = Home::with_settings(settings);
        for arguments in [&["list"][..], &["config", "show"], &["stdio", "--standalone"]] {
            check(&home, 5, arguments, &["config.toml", word]);
        }
    }
    let mut home = Home::new();
    home.set("COFFER_PORT", "many");
    check(&home, 5, &["list"], &["environment"]);
}

#[test]
fn a_server_that_cannot_be_used_ends_with_6() {
    let home = desk();
    home.add("absent", &["/nowhere/absent-server".to_owned()]);
    check(&home, 6, &["test", "absent"], &["absent"]);
    check(&home, 6, &["refresh", "absent"], &["absent"]);
    check(&home, 6, &["call", "absent__tool"], &[]);
    check(&home, 6, &["call", "desk__die"], &[]);
    // Known tools of a server that has gone since.
    fs::remove_file(home.file("desk.json")).unwrap();
    check(&home, 6, &["call", "desk__seal_letter"], &[]);
}

#[test]
fn a_call_that_takes_too_long_ends_with_7() {
    let home = desk();
    let outcome = home.run(&["call", "desk__hang", "--json"]);
    assert_eq!(outcome.code, 7, "{outcome:?}");
    let result: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(result["isError"], true);
}

#[test]
fn what_is_switched_off_or_forbidden_ends_with_8_and_a_hint() {
    let home = desk();
    home.ok(&["disable", "desk__seal_letter"]);
    check(&home, 8, &["call", "desk__seal_letter"], &["coffer enable desk__seal_letter"]);
    home.ok(&["enable", "desk__seal_letter"]);
    home.ok(&["disable", "desk"]);
    check(&home, 8, &["call", "desk__seal_letter"], &["coffer enable desk"]);
    let open = ["serve", "--port", "0", "--bind", "0.0.0.0", "--no-token"];
    check(&home, 8, &open, &["--no-token"]);
}

#[test]
fn a_disabled_server_is_mended_by_the_hint_that_a_call_gives() {
    let home = desk();
    home.ok(&["disable", "desk"]);
    let outcome = home.run(&["call", "desk__seal_letter"]);
    let hint =
        outcome.stderr.split("`coffer enable ").nth(1).and_then(|rest| rest.split('`').next());
    let name = hint.unwrap_or_else(|| panic!("no hint: {outcome:?}"));
    home.ok(&["enable", name]);
    home.ok(&["call", "desk__seal_letter"]);
}

#[test]
fn a_tool_that_fails_in_its_own_words_ends_with_1() {
    let home = desk();
    let outcome = home.run(&["call", "desk__error-result", "{\"a\": 1}"]);
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(outcome.stdout.contains("failed on"), "{outcome:?}");
}

#[test]
fn an_error_of_the_upstream_is_not_taken_for_one_of_coffer() {
    let home = desk();
    // It answers -32602, which Coffer itself says of a tool that does not exist.
    let outcome = home.run(&["call", "desk__protocol-error", "{\"a\": 1}"]);
    assert!(outcome.stderr.contains("bad arguments"), "{outcome:?}");
    assert_ne!(outcome.code, 3, "the tool exists: {outcome:?}");
    assert_eq!(outcome.code, 1, "{outcome:?}");
}

#[test]
fn a_database_that_cannot_be_used_ends_with_9() {
    let home = Home::new();
    fs::write(home.file("coffer.db"), "no database").unwrap();
    check(&home, 9, &["list"], &["coffer.db"]);
    // A folder that cannot be made.
    let output = home.program().env("COFFER_HOME", "/proc/coffer").args(["list"]).output().unwrap();
    assert_eq!(output.status.code(), Some(9), "{output:?}");
}

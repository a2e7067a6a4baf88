//! The database file: damaged, newer, or somewhere else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::driver::{Home, Outcome};
use crate::offering::{connect, tools};

/// A home with one server, its database whole in one file.
fn filled() -> Home {
    let home = Home::new();
    connect(&home, "desk", &tools("seal_letter | Close a letter with wax"));
    home.ok(&["call", "desk__seal_letter"]);
    let database = Connection::open(home.file("coffer.db")).unwrap();
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    home
}

/// Every way to start on the database; each has to end by itself with an error.
const STARTS: &[&[&str]] = &[
    &["list"],
    &["add", "new", "--no-connect", "--", "true"],
    &["remove", "desk"],
    &["call", "desk__seal_letter"],
    &["log"],
    &["stdio", "--standalone"],
    &["serve", "--port", "0"],
];

/// Runs a command that may not end by itself, for at most ten seconds.
fn bounded(home: &Home, arguments: &[&str]) -> Outcome {
    let mut command = home.program();
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Outcome {
        code: output.status.code().unwrap_or(-1),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

#[track_caller]
fn check_refused(home: &Home, arguments: &[&str], words: &[&str]) -> Outcome {
    let outcome = bounded(home, arguments);
    assert_eq!(outcome.code, 9, "{arguments:?}: {outcome:?}");
    for word in words {
        assert!(outcome.stderr.contains(word), "{arguments:?}: `{word}` is missing: {outcome:?}");
    }
    assert!(!outcome.stderr.contains("panicked"), "{outcome:?}");
    outcome
}

/// All files beside the settings, with their bytes.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read(path).unwrap())
        })
        .filter(|(name, _)| name.starts_with("coffer.db"))
        .collect();
    files.sort();
    files
}

// D082

#[test]
fn a_database_of_a_newer_coffer_is_refused_and_keeps_its_bytes() {
    let home = filled();
    let database = Connection::open(home.file("coffer.db")).unwrap();
    database.execute_batch("PRAGMA user_version = 999; CREATE TABLE later (x);").unwrap();
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(database);
    let before = files(home.path());
    for arguments in STARTS {
        check_refused(&home, arguments, &["coffer.db", "999", "newer"]);
        assert!(files(home.path()) == before, "{arguments:?} touched the files");
    }
}

#[test]
fn a_newer_version_that_stands_in_the_write_ahead_log_alone_is_seen() {
    let home = filled();
    let database = Connection::open(home.file("coffer.db")).unwrap();
    database.execute_batch("PRAGMA user_version = 999; DROP TABLE tool_switches;").unwrap();
    let main = fs::read(home.file("coffer.db")).unwrap();
    for arguments in STARTS {
        check_refused(&home, arguments, &["coffer.db", "999", "newer"]);
    }
    assert!(fs::read(home.file("coffer.db")).unwrap() == main);
    let tables: i64 = database
        .query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'tool_switches'", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(tables, 0, "a dropped table was made again");
}

// D083

#[test]
fn a_damaged_file_is_named_with_a_way_out_and_never_replaced() {
    let good = fs::read(filled().file("coffer.db")).unwrap();
    let mut headless = good.clone();
    headless[..100].fill(0xA5);
    let mut scrambled = good.clone();
    scrambled[4096..].fill(0xA5);
    for (kind, bytes) in [
        ("an overwritten header", headless),
        ("half a file", good[..good.len() / 2].to_vec()),
        ("an empty file", Vec::new()),
        ("a text file", b"these are my notes\n".repeat(300)),
        ("scrambled pages", scrambled),
    ] {
        let home = Home::new();
        fs::write(home.file("coffer.db"), &bytes).unwrap();
        for arguments in STARTS.iter().filter(|arguments| arguments[0] != "log") {
            let outcome = check_refused(&home, arguments, &["coffer.db"]);
            let says_what_to_do = ["aside", "put a copy back", "restore"]
                .iter()
                .any(|words| outcome.stderr.contains(words));
            assert!(says_what_to_do, "{kind}, {arguments:?}: {outcome:?}");
            let now = fs::read(home.file("coffer.db")).unwrap();
            assert!(now == bytes, "{kind}, {arguments:?}: the file was changed");
        }
    }
}

#[test]
fn a_folder_in_place_of_the_database_is_named_and_stays() {
    let home = Home::new();
    fs::create_dir(home.file("coffer.db")).unwrap();
    for arguments in STARTS {
        check_refused(&home, arguments, &["coffer.db"]);
        assert!(home.file("coffer.db").is_dir());
    }
}

#[test]
fn garbage_in_the_write_ahead_log_costs_no_registration() {
    let home = filled();
    fs::write(home.file("coffer.db-wal"), [7; 8192]).unwrap();
    let servers = home.json(&["list", "--json"]);
    assert_eq!(servers[0]["name"], "desk", "{servers}");
    home.ok(&["call", "desk__seal_letter"]);
}

/// Overwrites the root page of a table.
fn scramble(path: &Path, table: &str) {
    let database = Connection::open(path).unwrap();
    let page: u32 = database
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = ?1", [table], |row| row.get(0))
        .unwrap();
    let size: u32 = database.pragma_query_value(None, "page_size", |row| row.get(0)).unwrap();
    drop(database);
    let mut bytes = fs::read(path).unwrap();
    let range = usize::try_from((page - 1) * size).unwrap()..usize::try_from(page * size).unwrap();
    bytes[range].fill(0xA5);
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_log_never_stops_a_call() {
    let home = filled();
    scramble(&home.file("coffer.db"), "calls");
    let mut client = home.stdio();
    client.wait_for_tool("desk__seal_letter");
    for _ in 0..3 {
        let text = client.call_text("desk__seal_letter", &json!({}));
        assert!(text.contains("seal_letter"), "{text}");
    }
    assert_eq!(home.json(&["list", "--json"])[0]["name"], "desk");
    assert_eq!(client.finish(), 0);
    check_refused(&home, &["log"], &["coffer.db"]);
}

// D085

#[test]
fn the_data_folder_moves_as_a_whole_with_one_variable() {
    let home = filled();
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("deep/er");
    let output = home
        .program()
        .env("COFFER_HOME", &target)
        .env("HOME", elsewhere.path().join("home"))
        .args(["add", "other", "--no-connect", "--", "true"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&target), 0o700);
    assert_eq!(mode(&target.join("coffer.db")), 0o600);
    assert!(!elsewhere.path().join("home").exists());
    let servers = home.json(&["list", "--json"]);
    assert_eq!(servers.as_array().map(Vec::len), Some(1), "{servers}");
}

#[test]
fn without_the_variable_the_folders_are_those_of_the_platform() {
    let elsewhere = tempfile::tempdir().unwrap();
    let home = Home::new();
    let output = home
        .program()
        .env_remove("COFFER_HOME")
        .env_remove("XDG_CONFIG_HOME")
        .env("HOME", elsewhere.path())
        .env("XDG_DATA_HOME", elsewhere.path().join("data"))
        .args(["list", "--json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), json!([]));
    assert!(elsewhere.path().join("data/coffer/coffer.db").is_file());
}

#[test]
fn a_place_without_shared_memory_is_worked_around_or_named_and_nothing_is_deleted() {
    let home = filled();
    // SQLite maps this file; as a folder it can be neither made nor mapped.
    let _ignored_missing = fs::remove_file(home.file("coffer.db-shm"));
    fs::create_dir(home.file("coffer.db-shm")).unwrap();
    let before = fs::read(home.file("coffer.db")).unwrap();
    let outcome = home.run(&["list", "--json"]);
    if outcome.code == 0 {
        assert!(outcome.stdout.contains("desk"), "{outcome:?}");
    } else {
        assert_eq!(outcome.code, 9, "{outcome:?}");
        for word in ["coffer.db", "COFFER_HOME"] {
            assert!(outcome.stderr.contains(word), "`{word}` is missing: {outcome:?}");
        }
    }
    assert!(fs::read(home.file("coffer.db")).unwrap() == before);
    assert!(home.file("coffer.db-shm").is_dir());
}

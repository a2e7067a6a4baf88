//! Several processes on one database.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::json;

use crate::driver::{Home, HttpClient, Outcome, wait_until};
use crate::offering::{connect, tools};

fn filled() -> Home {
    let home = Home::new();
    connect(&home, "desk", &tools("seal_letter | Close a letter with wax"));
    home
}

/// Another process that writes and does not come to an end, until it is dropped.
fn lock(home: &Home) -> Connection {
    let connection = Connection::open(home.file("coffer.db")).unwrap();
    connection.busy_timeout(Duration::from_secs(5)).unwrap();
    connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
    connection
}

// D081

#[test]
fn three_gateways_and_the_command_line_share_a_folder_without_a_loss() {
    const CALLS: usize = 60;
    let home = filled();
    let mut gateways: Vec<HttpClient> = (0..3).map(|_| HttpClient::greeted(&home, &[])).collect();
    let mut registered = vec!["desk".to_owned()];
    std::thread::scope(|scope| {
        let callers: Vec<_> = gateways
            .iter_mut()
            .map(|gateway| {
                scope.spawn(move || {
                    for number in 0..CALLS {
                        let answer = gateway.call("desk__seal_letter", &json!({ "n": number }));
                        let text = answer["result"]["content"][0]["text"].as_str();
                        assert!(text.is_some_and(|text| text.contains("seal_letter")), "{answer}");
                    }
                })
            })
            .collect();
        for number in 0..8 {
            let name = format!("extra-{number}");
            home.add(&name, &["/nowhere/extra".to_owned()]);
            home.ok(&["list"]);
            if number % 2 == 0 {
                home.ok(&["remove", &name]);
            } else {
                registered.push(name);
            }
        }
        for caller in callers {
            caller.join().unwrap();
        }
    });
    let listed = home.json(&["list", "--json"]);
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, registered);
    home.logged(3 * CALLS);
    for gateway in gateways {
        assert_eq!(gateway.terminate(), 0);
    }
}

#[test]
fn a_writer_that_does_not_end_delays_no_call_and_costs_no_row() {
    let home = filled();
    let mut client = home.stdio();
    // The first call waits for its server.
    client.call_text("desk__seal_letter", &json!({}));
    let locked = lock(&home);
    let begin = Instant::now();
    let mut calls = 1;
    // Long enough for the log to have tried.
    while begin.elapsed() < Duration::from_millis(2_500) {
        let one = Instant::now();
        client.call_text("desk__seal_letter", &json!({}));
        assert!(one.elapsed() < Duration::from_secs(2), "{:?}", one.elapsed());
        calls += 1;
    }
    assert_eq!(client.tool_names().len(), 2);
    drop(locked);
    home.logged(calls);
}

#[test]
fn reading_commands_do_not_wait_for_a_writer() {
    let home = filled();
    home.ok(&["call", "desk__seal_letter"]);
    let _locked = lock(&home);
    for arguments in [
        &["list"][..],
        &["show", "desk"],
        &["show", "desk__seal_letter"],
        &["tools"],
        &["search", "letter"],
        &["log"],
        &["config", "show"],
    ] {
        let begin = Instant::now();
        home.ok(arguments);
        assert!(begin.elapsed() < Duration::from_secs(2), "{arguments:?}: {:?}", begin.elapsed());
    }
}

#[test]
fn a_gateway_starts_and_serves_while_another_process_writes() {
    let home = filled();
    let _locked = lock(&home);
    let begin = Instant::now();
    let mut client = home.stdio();
    client.wait_for_tool("desk__seal_letter");
    client.call_text("desk__seal_letter", &json!({}));
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
}

#[test]
fn a_change_that_finds_the_database_busy_says_so_after_a_bound() {
    let home = filled();
    let locked = lock(&home);
    let begin = Instant::now();
    let outcome = home.run(&["disable", "desk"]);
    assert_eq!(outcome.code, 9, "{outcome:?}");
    assert!(outcome.stderr.contains("busy") && outcome.stderr.contains("try again"), "{outcome:?}");
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    drop(locked);
    assert_eq!(home.json(&["list", "--json"])[0]["enabled"], true);
    home.ok(&["disable", "desk"]);
}

#[test]
fn a_gateway_ends_although_another_process_keeps_the_database_locked() {
    let home = filled();
    let mut client = home.stdio();
    client.call_text("desk__seal_letter", &json!({}));
    let locked = lock(&home);
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(400) {
        client.call_text("desk__seal_letter", &json!({}));
    }
    let begin = Instant::now();
    assert_eq!(client.finish(), 0);
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    drop(locked);
}

#[test]
fn two_first_starts_at_the_same_time_share_one_new_database() {
    let home = Home::new();
    std::thread::scope(|scope| {
        for number in 0..6 {
            let home = &home;
            scope.spawn(move || home.add(&format!("server-{number}"), &["true".to_owned()]));
        }
    });
    let servers = home.json(&["list", "--json"]);
    assert_eq!(servers.as_array().map(Vec::len), Some(6), "{servers}");
}

#[test]
fn a_file_that_another_process_grows_and_shrinks_is_never_taken_for_damaged() {
    let home = filled();
    let path = home.file("coffer.db");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let changing = scope.spawn(|| {
            let database = Connection::open(path).unwrap();
            database.busy_timeout(Duration::from_secs(5)).unwrap();
            let checkpoint = || {
                database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
            };
            while !is_over.load(Ordering::Relaxed) {
                let insert = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
                    INSERT INTO calls (started_ms, client_name, client_version, session, server, kind,
                        name, duration_ms, status)
                    SELECT 1, hex(randomblob(700)), '1', 's', 'x', 'tool', 'y', 1.0, 'ok' FROM n";
                database.execute_batch(insert).unwrap();
                checkpoint();
                database.execute_batch("DELETE FROM calls; PRAGMA incremental_vacuum;").unwrap();
                checkpoint();
            }
        });
        let outcomes: Vec<Outcome> = (0..60).map(|_| home.run(&["list", "--json"])).collect();
        is_over.store(true, Ordering::Relaxed);
        changing.join().unwrap();
        let failed: Vec<_> = outcomes.iter().filter(|outcome| outcome.code != 0).collect();
        assert!(failed.is_empty(), "{} of 60: {:?}", failed.len(), failed[0]);
    });
}

// D084

#[test]
fn a_long_reader_leaves_no_large_write_ahead_log_behind() {
    let home = filled();
    let size = || std::fs::metadata(home.file("coffer.db-wal")).map_or(0, |file| file.len());
    let reader = Connection::open(home.file("coffer.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM calls;").unwrap();
    let mut writer = Connection::open(home.file("coffer.db")).unwrap();
    let transaction = writer.transaction().unwrap();
    let insert = "INSERT INTO calls (started_ms, client_name, client_version, session, server,
                      kind, name, duration_ms, status)
                  VALUES (unixepoch() * 1000, hex(randomblob(600)), '1', 's', 'x', 'tool', 'y', 1.0, 'ok')";
    for _ in 0..20_000 {
        transaction.execute(insert, []).unwrap();
    }
    transaction.commit().unwrap();
    assert!(size() > 16 << 20, "{}", size());
    let mut client = home.stdio();
    client.wait_for_tool("desk__seal_letter");
    drop(writer);
    drop(reader);
    wait_until("the write-ahead log is short again", || {
        client.call_text("desk__seal_letter", &json!({}));
        size() <= 9 << 20
    });
}

#[test]
fn a_log_of_a_hundred_thousand_rows_is_read_by_the_page() {
    let home = filled();
    let database = Connection::open(home.file("coffer.db")).unwrap();
    let insert = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
        INSERT INTO calls (started_ms, client_name, client_version, session, server, kind, name,
            duration_ms, status)
        SELECT unixepoch() * 1000 - 100000 + i, 'c', '1', 's', 'server-' || (i % 10), 'tool', 'y',
            1.0, 'ok' FROM n";
    database.execute_batch(insert).unwrap();
    for arguments in [&["log", "--json"][..], &["log", "--json", "--server", "server-3"]] {
        let begin = Instant::now();
        let outcome = home.ok(arguments);
        assert_eq!(outcome.stdout.lines().count(), 50);
        assert!(begin.elapsed() < Duration::from_secs(2), "{arguments:?}: {:?}", begin.elapsed());
    }
}

//! Lists that go in a circle or break off: what is known is kept, and told (D010, D014).

use std::fs;

use serde_json::json;

use crate::driver::{Home, fake, wait_until};
use crate::pages::{call, command, connect, register, row};

/// The text of a page with one tool.
fn page(name: &str) -> String {
    json!([{ "name": name, "inputSchema": { "type": "object" } }]).to_string()
}

// D010

#[test]
fn a_list_that_goes_in_a_circle_ends_and_is_told() {
    let home = Home::new();
    let pages = ["first", "second", "third"].map(page);
    let pages = pages.each_ref().map(String::as_str);
    home.add("circle", &command(&home, "circle", &["--last", "circle"], &pages));
    let report = connect(&home, "circle");
    assert_eq!(report["tools"].as_array().unwrap().len(), 3, "{report}");
    assert!(report["remarks"].to_string().contains("circle"), "{report}");
}

#[test]
fn a_last_page_may_name_no_next_one_in_other_words() {
    for last in ["null", "\"\""] {
        let home = Home::with_settings("start-timeout-seconds = 5\nlist-timeout-seconds = 2\n");
        let pages = ["first", "second"].map(page);
        let pages = pages.each_ref().map(String::as_str);
        home.add("words", &command(&home, "words", &["--last", last], &pages));
        let report = connect(&home, "words");
        assert!(report["error"].is_null(), "{last}: {report}");
        assert_eq!(report["tools"].as_array().unwrap().len(), 2, "{last}: {report}");
        assert_eq!(report["remarks"], json!([]), "{last}: {report}");
    }
}

#[test]
fn more_than_99_pages_are_cut_and_told() {
    let home = Home::new();
    let pages: Vec<String> = (0..105).map(|number| page(&format!("tool_{number}"))).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    register(&home, "long", &pages);
    let report = connect(&home, "long");
    assert_eq!(report["tools"].as_array().unwrap().len(), 100);
    assert!(report["remarks"].to_string().contains("100 pages"), "{}", report["remarks"]);
}

// D014

/// A server with so many pages that was listed whole once and refuses a page now.
#[track_caller]
fn check_keeps_its_tools(names: &[&str]) {
    let home = Home::new();
    let refuse = home.file("refuse");
    let pages: Vec<String> = names.iter().map(|name| page(name)).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let flags = ["--refuse", refuse.to_str().unwrap()];
    home.add("weak", &command(&home, "weak", &flags, &pages));
    connect(&home, "weak");
    assert_eq!(row(&home, "weak")["tools"], names.len());
    fs::write(&refuse, "").unwrap();
    // By the time that this one is there, the other has been asked for its list.
    home.add("late", &fake("slow_start", &["--delay", "1"]));
    let mut client = home.stdio();
    client.wait_for_tool("late__work");
    wait_until("the refusal is told", || {
        let row = row(&home, "weak");
        let told = [row["remarks"].to_string(), row["error"].to_string()].concat();
        told.contains("-32603")
    });
    let listed = client.tool_names();
    for name in names {
        let exposed = format!("weak__{name}");
        assert!(listed.contains(&exposed), "{name} is gone from {listed:?}");
        assert_eq!(call(&mut client, &exposed, &json!({}))["tool"], *name);
    }
}

#[test]
fn a_list_that_is_refused_for_once_takes_no_tool_away() {
    check_keeps_its_tools(&["first"]);
}

#[test]
fn a_list_that_breaks_off_takes_no_tool_away() {
    check_keeps_its_tools(&["first", "second", "third"]);
}

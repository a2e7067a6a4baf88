//! Runs the shared cases beside the repository, where there are any.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::driver::{Home, StdioClient, wait_until};
use crate::offering::{names, register};

/// Slices in which every query must be answered; the others are printed.
const GATED: &[&str] = &["exact", "exact-list", "exact-dup", "prefix"];

#[derive(Deserialize)]
struct Case {
    id: String,
    slice: String,
    #[serde(rename = "q")]
    query: String,
    expect: Vec<String>,
    any_within: Option<usize>,
    expect_all_within: Option<usize>,
}

#[derive(Deserialize)]
struct Odd {
    id: String,
    slice: String,
    arguments: Map<String, Value>,
    repeat: Option<usize>,
    words: Option<usize>,
}

/// The folder of shared catalogues, or a line that says why nothing is run.
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn shared() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/cases/catalog");
    if folder.join("search-dev.json").exists() {
        return Some(folder);
    }
    eprintln!("skipped: there are no shared cases in `{}`", folder.display());
    None
}

fn lines<T: for<'a> Deserialize<'a>>(path: &Path) -> Vec<T> {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// A gateway over the shared servers, all of them connected.
fn gateway(home: &Home, folder: &Path) -> StdioClient {
    let text = fs::read_to_string(folder.join("search-dev.json")).unwrap();
    let catalogue: Value = serde_json::from_str(&text).unwrap();
    let mut count = 0;
    for (server, offered) in catalogue["servers"].as_object().unwrap() {
        let tools = offered["tools"].as_array().unwrap();
        count += tools.len();
        register(home, server, tools);
    }
    let mut client = home.stdio();
    wait_until("every tool is found", || {
        client.search(&json!({ "query": "list" }))["total_searched"] == count
    });
    client
}

fn is_met(case: &Case, found: &[&str]) -> bool {
    let within = |name: &String, depth: usize| found.iter().take(depth).any(|f| f == name);
    let any = case.any_within.map(|depth| case.expect.iter().any(|name| within(name, depth)));
    let all =
        case.expect_all_within.map(|depth| case.expect.iter().all(|name| within(name, depth)));
    any.or(all).unwrap_or(true)
}

#[test]
#[expect(clippy::print_stderr, reason = "slices without a bar are reported")]
fn the_shared_queries_that_name_a_tool_all_find_it() {
    let Some(folder) = shared() else { return };
    let home = Home::new();
    let mut client = gateway(&home, &folder);
    let mut slices: BTreeMap<String, (usize, usize, Vec<String>)> = BTreeMap::new();
    for case in lines::<Case>(&folder.join("queries-dev.jsonl")) {
        let depth = case.any_within.or(case.expect_all_within).unwrap_or(5);
        let answer = client.search(&json!({ "query": case.query, "top_k": depth }));
        let found = names(&answer);
        let slice = slices.entry(case.slice.clone()).or_default();
        slice.1 += 1;
        if case.expect.is_empty() {
            let confidence = answer["confidence"].as_str().unwrap();
            slice.2.push(format!("{}: {confidence}, {found:?}", case.id));
        } else if is_met(&case, &found) {
            slice.0 += 1;
        } else {
            slice.2.push(format!("{} `{}`: {found:?}", case.id, case.query));
        }
    }
    let mut failed = Vec::new();
    for (name, (met, all, remarks)) in &slices {
        eprintln!("{name}: {met} of {all}");
        for remark in remarks {
            eprintln!("    {remark}");
        }
        if GATED.contains(&name.as_str()) && met < all {
            failed.push(format!("{name}: {remarks:?}"));
        }
    }
    for gated in GATED {
        assert!(slices.contains_key(*gated), "no query of slice {gated}");
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_shared_odd_queries_get_results_or_a_clear_refusal() {
    let Some(folder) = shared() else { return };
    let home = Home::new();
    let mut client = gateway(&home, &folder);
    for mut odd in lines::<Odd>(&folder.join("queries-degenerate.jsonl")) {
        let label = format!("{} ({})", odd.id, odd.slice);
        if let Some(times) = odd.repeat {
            let query = odd.arguments["query"].as_str().unwrap().repeat(times);
            odd.arguments.insert("query".to_owned(), query.into());
        }
        if let Some(count) = odd.words {
            let query: String = (0..count).map(|number| format!("w{number} ")).collect();
            odd.arguments.insert("query".to_owned(), query.into());
        }
        let begin = Instant::now();
        let answer = client.call("coffer__search_tools", &Value::Object(odd.arguments));
        assert!(begin.elapsed() < Duration::from_secs(2), "{label}: {:?}", begin.elapsed());
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{label}: no text in {answer}"));
        if result["isError"] == true {
            assert!(text.contains("`query`") || text.contains("`top_k`"), "{label}: {text}");
        } else {
            let tools = result["structuredContent"]["tools"].as_array().unwrap();
            assert!((0..=20).contains(&tools.len()), "{label}: {answer}");
            let is_number = |tool: &Value| tool["score"].as_f64().is_some_and(f64::is_finite);
            assert!(tools.iter().all(is_number), "{label}: {answer}");
        }
        let good = client.search(&json!({ "query": "list pods" }));
        assert_eq!(names(&good).first(), Some(&"clusterops__list_pods"), "after {label}");
    }
}

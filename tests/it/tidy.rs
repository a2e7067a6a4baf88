//! House rules that a program can check.

use std::fs;

use crate::architecture::{root, rust_files};

/// Longest file, without its tests.
const LONGEST_FILE: usize = 500;

#[test]
fn every_file_says_what_it_owns_and_stays_short() {
    let mut offences = Vec::new();
    for path in rust_files(&root().join("src")) {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.display();
        if !text.starts_with("//! ") {
            offences.push(format!("{name} does not begin with `//! `"));
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        if code.lines().count() > LONGEST_FILE {
            offences.push(format!("{name} has more than {LONGEST_FILE} lines"));
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn open_work_is_an_issue_and_no_test_is_switched_off() {
    let markers =
        [["TO", "DO"], ["FIX", "ME"], ["#[ign", "ore"], ["should_", "panic"]].map(|p| p.concat());
    let mut offences = Vec::new();
    for folder in ["src", "tests", "benches"] {
        for path in rust_files(&root().join(folder)) {
            let text = fs::read_to_string(&path).unwrap();
            for marker in markers.iter().filter(|marker| text.contains(*marker)) {
                offences.push(format!("{} has `{marker}`", path.display()));
            }
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn every_outside_test_is_part_of_the_one_binary() {
    let main = fs::read_to_string(root().join("tests/it/main.rs")).unwrap();
    for entry in fs::read_dir(root().join("tests/it")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        let is_listed = module == "main" || main.contains(&format!("mod {module};"));
        assert!(is_listed, "tests/it/main.rs does not list {module}");
    }
}

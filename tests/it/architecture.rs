//! Keeps `ARCHITECTURE.md` true: who may use whom.

use std::fs;
use std::path::{Path, PathBuf};

/// Modules from the bottom up, each with those it may use.
const LAYERS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("sys", &[]),
    ("search", &["domain"]),
    ("embedding", &["domain", "sys"]),
    ("storage", &["domain", "sys"]),
    ("catalog", &["domain", "sys", "search", "embedding", "storage"]),
    ("gateway", &["domain", "sys", "search", "catalog"]),
    ("evaluation", &["domain", "sys", "search", "embedding"]),
    ("http", &["domain", "catalog", "gateway"]),
    ("config", &["domain", "embedding", "catalog", "gateway"]),
    ("example_server", &[]),
    (
        "app",
        &[
            "domain",
            "sys",
            "search",
            "embedding",
            "storage",
            "catalog",
            "gateway",
            "http",
            "config",
        ],
    ),
    (
        "cli",
        &[
            "domain",
            "sys",
            "search",
            "embedding",
            "storage",
            "catalog",
            "gateway",
            "evaluation",
            "http",
            "config",
            "example_server",
            "app",
            "telemetry",
        ],
    ),
    ("telemetry", &[]),
];

/// Each library that has a home, with the modules that may use it.
const HOMES: &[(&str, &[&str])] = &[
    ("axum", &["http"]),
    ("clap", &["cli"]),
    ("csv", &["example_server"]),
    ("fast2s", &["search"]),
    ("fastembed", &["embedding"]),
    ("fst", &["embedding"]),
    ("hnsw_rs", &["search"]),
    ("indicatif", &["cli"]),
    ("libc", &["sys"]),
    ("ort", &["embedding"]),
    ("prost", &["embedding"]),
    ("reqwest", &["gateway", "cli"]),
    ("rmcp", &["gateway", "example_server"]),
    ("rusqlite", &["storage"]),
    ("rust_stemmers", &["search"]),
    ("rustix", &["sys"]),
    ("rustls", &["sys"]),
    ("tokenizers", &["embedding"]),
    ("toml", &["config", "embedding"]),
    ("tracing_subscriber", &["telemetry"]),
    ("zip", &["embedding"]),
    // `sys` has the pipes; below `catalog` nothing else waits.
    ("tokio", &["sys", "catalog", "gateway", "evaluation", "http", "example_server", "app", "cli"]),
];

#[test]
fn modules_only_use_the_layers_below_them() {
    let mut offences = Vec::new();
    for (module, allowed) in LAYERS {
        for (file, line) in lines_of(module) {
            for used in crate_paths(&line) {
                if used != *module && !allowed.contains(&used.as_str()) {
                    offences.push(format!("{}: {module} must not use {used}", file.display()));
                }
            }
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

/// `super` may name a sibling, never climb out of the module: such a path would
/// be hidden from the test above.
#[test]
fn super_never_leaves_its_module() {
    let mut offences = Vec::new();
    for (module, _) in LAYERS {
        let root = Path::new(module).join("mod.rs");
        for (file, line) in lines_of(module) {
            let climbs = line.contains("super::super::");
            if climbs
                || (file.ends_with(&root) && line.contains("super::") && !line.starts_with(' '))
            {
                offences.push(format!("{}: {line}", file.display()));
            }
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn each_library_stays_in_its_home() {
    let mut offences = Vec::new();
    for (library, homes) in HOMES {
        for (module, _) in LAYERS.iter().filter(|(module, _)| !homes.contains(module)) {
            for (file, line) in lines_of(module) {
                let path = format!("{library}::");
                let is_used = line.match_indices(&path).any(|(at, _)| {
                    !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
                });
                if is_used {
                    offences.push(format!("{}: {library} lives in {homes:?}", file.display()));
                }
            }
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn every_folder_of_src_has_a_layer() {
    for entry in fs::read_dir(root().join("src")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let is_known = LAYERS.iter().any(|(module, _)| *module == name);
        assert!(!entry.path().is_dir() || is_known, "src/{name} has no place in LAYERS");
    }
}

#[test]
fn every_path_that_the_architecture_names_exists() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let named = text.split('`').skip(1).step_by(2).filter(|word| {
        let folders = ["src/", "tests/", "scripts/", "evals/", "migrations/", "models/", "docs/"];
        folders.iter().any(|folder| word.starts_with(folder))
    });
    let missing: Vec<&str> = named.filter(|path| !root().join(path).exists()).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names what is not there: {missing:?}");
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn lines_of(module: &str) -> Vec<(PathBuf, String)> {
    let mut lines = Vec::new();
    for path in rust_files(&root().join("src").join(module)) {
        let text = fs::read_to_string(&path).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.extend(code.map(|line| (path.clone(), line.to_owned())));
    }
    lines
}

/// All Rust files below `folder`.
pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The modules that a line names after `crate::`. A group, `crate::{…}`, comes
/// back as an empty name and so counts as an offence: one `use` names one module.
fn crate_paths(line: &str) -> Vec<String> {
    line.split("crate::")
        .skip(1)
        .map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
        .collect()
}

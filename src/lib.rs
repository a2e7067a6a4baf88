//! Coffer: a local-first gateway for coding agents.
//!
//! `ARCHITECTURE.md` has the layers: each module uses only lower ones, which
//! `tests/it/architecture.rs` keeps.

/// Wiring: from a `Config` to running parts.
pub mod app;
/// Keeps servers, their tools and the index in step; swaps in a new view whole.
pub mod catalog;
/// One file a command, printing, exit codes.
pub mod cli;
/// Defaults, file, environment and flags joined into one checked `Config`.
pub mod config;
/// The words of the project as types: names, tools, servers, raw JSON.
pub mod domain;
/// The model: installing it, and turning texts into vectors with it.
pub mod embedding;
/// Recall, MRR and nDCG over labelled queries.
pub mod evaluation;
/// The embedded example server, a real MCP server over a private folder.
pub mod example_server;
/// MCP both ways: upstream connections and the server that clients see.
pub mod gateway;
/// The HTTP front: routes, checks, status codes.
pub mod http;
/// Tokens, the BM25 index, confidence; an immutable snapshot of them.
pub mod search;
/// The database file: open, migrate, one file a table.
pub mod storage;
/// The few calls to the operating system that the standard library lacks.
pub mod sys;
/// Logging set-up.
pub mod telemetry;

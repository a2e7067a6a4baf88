//! A data folder of its own, and the command line over it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::stdio::StdioClient;

/// A home: everything the program keeps is in it, and gone with it.
pub(crate) struct Home {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Home {
    /// An empty home.
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    /// A home whose `config.toml` has the given settings.
    pub(crate) fn with_settings(settings: &str) -> Self {
        let home = Self::new();
        fs::write(home.path().join("config.toml"), settings).unwrap();
        home
    }

    /// Sets a variable for every program started in this home.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A path inside the home.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// The program with this home, ready for arguments.
    pub(crate) fn program(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coffer"));
        command.env("COFFER_HOME", self.path()).env("NO_COLOR", "1");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        let output = self.program().args(arguments).stdin(Stdio::null()).output().unwrap();
        let Output { status, stdout, stderr } = output;
        Outcome {
            code: status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        }
    }

    /// Runs a command that has to succeed.
    #[track_caller]
    pub(crate) fn ok(&self, arguments: &[&str]) -> Outcome {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code, 0, "{arguments:?}: {outcome:?}");
        outcome
    }

    /// Runs a command that has to succeed and reads its output as JSON.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let outcome = self.ok(arguments);
        serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
    }

    /// Registers a server by its command, without connecting.
    #[track_caller]
    pub(crate) fn add(&self, name: &str, command: &[String]) {
        let mut arguments = vec!["add", name, "--no-connect", "--"];
        arguments.extend(command.iter().map(String::as_str));
        self.ok(&arguments);
    }

    /// Writes an `mcpServers` file with stdio servers and returns its path.
    pub(crate) fn servers_file(&self, servers: &[(&str, Vec<String>)]) -> String {
        let entries: serde_json::Map<String, Value> = servers
            .iter()
            .map(|(name, command)| {
                let entry = json!({ "command": command[0], "args": command[1..] });
                ((*name).to_owned(), entry)
            })
            .collect();
        let path = self.file("servers.json");
        fs::write(&path, json!({ "mcpServers": entries }).to_string()).unwrap();
        path.to_string_lossy().into_owned()
    }

    /// A greeted client over stdio.
    pub(crate) fn stdio(&self) -> StdioClient {
        self.stdio_with(&[])
    }

    /// A greeted client over stdio, with more arguments for the gateway.
    pub(crate) fn stdio_with(&self, arguments: &[&str]) -> StdioClient {
        let mut client = self.stdio_silent(arguments);
        client.greet("2025-06-18");
        client
    }

    /// A client over stdio that has not said anything yet.
    pub(crate) fn stdio_silent(&self, arguments: &[&str]) -> StdioClient {
        let mut command = self.program();
        command.args(["stdio", "--standalone"]).args(arguments);
        StdioClient::start(command)
    }

    /// The rows of the invocation log once there are `count` of them, oldest first.
    #[track_caller]
    pub(crate) fn logged(&self, count: usize) -> Vec<Value> {
        let mut rows = Vec::new();
        super::wait_until(&format!("{count} rows are logged"), || {
            let text = self.ok(&["log", "--json", "--limit", "10000"]).stdout;
            rows = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            rows.len() >= count
        });
        assert_eq!(rows.len(), count, "{rows:?}");
        rows
    }
}

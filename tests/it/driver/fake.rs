//! Misbehaving servers, written in Python: small, and each started by a command.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// The command of a fake stdio server of `tests/fixtures`.
pub(crate) fn fake(name: &str, arguments: &[&str]) -> Vec<String> {
    let script = fixture(&format!("{name}.py")).to_string_lossy().into_owned();
    let mut command = vec!["python3".to_owned(), script];
    command.extend(arguments.iter().map(|&argument| argument.to_owned()));
    command
}

/// A running fake HTTP server.
pub(crate) struct FakeHttp {
    child: Child,
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl FakeHttp {
    /// Starts one of `tests/fixtures`, which prints its port and notes requests on
    /// standard error.
    pub(crate) fn start(name: &str, arguments: &[&str]) -> Self {
        let command = fake(name, arguments);
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("PORT ").expect("the fake prints its port");
        let url = format!("http://127.0.0.1:{port}/mcp");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (kept, stderr) = (seen.clone(), BufReader::new(child.stderr.take().unwrap()));
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                kept.lock().unwrap().push(line);
            }
        });
        Self { child, url, seen }
    }

    /// The requests so far that hold `text`.
    pub(crate) fn count(&self, text: &str) -> usize {
        self.seen.lock().unwrap().iter().filter(|line| line.contains(text)).count()
    }

    /// What was seen, for messages.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for FakeHttp {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

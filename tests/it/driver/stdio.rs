//! A client over standard input and output.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// Longest wait for a message.
const PATIENCE: Duration = Duration::from_secs(30);

/// A client with the gateway as its child.
pub(crate) struct StdioClient {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Messages that were read while another was waited for.
    aside: VecDeque<Value>,
    stderr: Arc<Mutex<String>>,
    last_id: u64,
}

impl StdioClient {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let stderr = Arc::new(Mutex::new(String::new()));
        let (kept, mut pipe) = (stderr.clone(), child.stderr.take().unwrap());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = pipe.read(&mut bytes) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        });
        Self { child, stdin, lines, aside: VecDeque::new(), stderr, last_id: 0 }
    }

    /// The gateway's process.
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// What the gateway has printed on standard error.
    pub(crate) fn stderr(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    /// Sends bytes as they are.
    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes());
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request without waiting; returns its id.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The next line as it was written.
    #[track_caller]
    pub(crate) fn line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).unwrap_or_else(|error| {
            panic!("no message ({error}); standard error:\n{}", self.stderr())
        })
    }

    /// The next message for which `fits` holds; others are kept for later.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.aside.iter().position(&fits) {
            return self.aside.remove(at).unwrap();
        }
        loop {
            let line = self.line();
            // Whatever happens, standard output is the protocol and nothing else.
            let message: Value = serde_json::from_str(&line)
                .unwrap_or_else(|error| panic!("no JSON on standard output ({error}): {line}"));
            if fits(&message) {
                return message;
            }
            self.aside.push_back(message);
        }
    }

    /// The answer to request `id`.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.wait_for(|message| message["id"] == id && message.get("method").is_none())
    }

    /// Asks and waits.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// Shakes hands and returns the result.
    #[track_caller]
    pub(crate) fn greet(&mut self, version: &str) -> Value {
        let params = json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": { "name": "test-client", "version": "1.2" }
        });
        let answer = self.request("initialize", &params);
        self.notify("notifications/initialized", &json!({}));
        answer["result"].clone()
    }

    /// Calls a tool and returns the whole answer.
    #[track_caller]
    pub(crate) fn call(&mut self, name: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({ "name": name, "arguments": arguments }))
    }

    /// Calls a tool and returns the text of its result.
    #[track_caller]
    pub(crate) fn call_text(&mut self, name: &str, arguments: &Value) -> String {
        let answer = self.call(name, arguments);
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("no text in {answer}")).to_owned()
    }

    /// The names of all listed tools.
    #[track_caller]
    pub(crate) fn tool_names(&mut self) -> Vec<String> {
        let tools = self.tools();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The definitions of all listed tools.
    #[track_caller]
    pub(crate) fn tools(&mut self) -> Vec<Value> {
        let answer = self.request("tools/list", &json!({}));
        answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}")).clone()
    }

    /// The structured answer of a search.
    #[track_caller]
    pub(crate) fn search(&mut self, arguments: &Value) -> Value {
        let answer = self.call("coffer__search_tools", arguments);
        answer["result"]["structuredContent"].clone()
    }

    /// Asks for the list until it holds `name`: servers may come late.
    #[track_caller]
    pub(crate) fn wait_for_tool(&mut self, name: &str) {
        super::wait_until(&format!("`{name}` is listed"), || {
            self.tool_names().iter().any(|listed| listed == name)
        });
    }

    /// Closes the gateway's input.
    pub(crate) fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Closes the input and waits for the end; returns the exit code.
    #[track_caller]
    pub(crate) fn finish(mut self) -> i32 {
        self.close_input();
        self.wait()
    }

    /// Waits for the end; returns the exit code.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> i32 {
        let mut code = None;
        super::wait_until("the gateway ends", || {
            code = self.child.try_wait().unwrap();
            code.is_some()
        });
        code.unwrap().code().unwrap_or(-1)
    }
}

impl Drop for StdioClient {
    fn drop(&mut self) {
        self.stdin = None;
        // A failed test must leave nothing behind; an error means it has ended.
        if let Ok(None) = self.child.try_wait() {
            std::thread::sleep(Duration::from_millis(100));
            let _ended = self.child.kill();
            let _reaped = self.child.wait();
        }
    }
}

//! A client over Streamable HTTP, with the gateway as its child.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use reqwest::blocking::{Client, RequestBuilder, Response};
use serde_json::{Value, json};

use super::home::Home;

/// A running `coffer serve` and a session with it.
pub(crate) struct HttpClient {
    child: Child,
    pub(crate) address: String,
    pub(crate) token: Option<String>,
    pub(crate) session: Option<String>,
    client: Client,
    last_id: u64,
}

/// An answer with its status.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    fn of(response: Response) -> Self {
        let headers = response.headers().iter();
        let headers = headers
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect();
        Self { status: response.status().as_u16(), headers, body: response.text().unwrap() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl HttpClient {
    /// Starts `coffer serve` on a free port, with more arguments.
    pub(crate) fn start(home: &Home, arguments: &[&str]) -> Self {
        // An error means that another test has chosen it before.
        let _chosen_before = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().no_proxy().timeout(Duration::from_secs(30)).build().unwrap();
        let mut command: Command = home.program();
        command.args(["serve", "--port", "0"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = loop {
            let line = lines.next().expect("the gateway ended at start").unwrap();
            if let Some((_, rest)) = line.split_once("http://") {
                break rest.split('/').next().unwrap().to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        let token = std::fs::read_to_string(home.file("token")).ok();
        Self { child, address, token, session: None, client, last_id: 0 }
    }

    /// Starts it and shakes hands.
    pub(crate) fn greeted(home: &Home, arguments: &[&str]) -> Self {
        let mut client = Self::start(home, arguments);
        client.greet();
        client
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// A request to `path`, without any header.
    pub(crate) fn bare(&self, method: &str, path: &str) -> RequestBuilder {
        let method = method.parse().unwrap();
        self.client.request(method, format!("http://{}{path}", self.address))
    }

    /// A request to the endpoint with token, session and what MCP asks for.
    pub(crate) fn prepared(&self, method: &str) -> RequestBuilder {
        let mut request = self
            .bare(method, "/mcp")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        request
    }

    pub(crate) fn send(request: RequestBuilder) -> Reply {
        Reply::of(request.send().unwrap())
    }

    /// Posts a message.
    pub(crate) fn post(&self, message: &Value) -> Reply {
        Self::send(self.prepared("POST").body(message.to_string()))
    }

    /// Asks and waits.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let message =
            json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params });
        let reply = self.post(&message);
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }

    /// Shakes hands and keeps the session.
    #[track_caller]
    pub(crate) fn greet(&mut self) -> Value {
        self.session = None;
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test-client", "version": "1.2" }
        });
        let message =
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let reply = self.post(&message);
        assert_eq!(reply.status, 200, "{reply:?}");
        self.session = reply.header("mcp-session-id").map(ToOwned::to_owned);
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.post(&initialized).status, 202);
        reply.json()["result"].clone()
    }

    #[track_caller]
    pub(crate) fn call(&mut self, name: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({ "name": name, "arguments": arguments }))
    }

    /// Asks it to end and waits for that; returns the exit code.
    #[track_caller]
    pub(crate) fn terminate(mut self) -> i32 {
        super::kill(self.pid(), "-TERM");
        let mut code = None;
        super::wait_until("the gateway ends", || {
            code = self.child.try_wait().unwrap();
            code.is_some()
        });
        code.unwrap().code().unwrap_or(-1)
    }
}

impl Drop for HttpClient {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ended = self.child.kill();
            let _reaped = self.child.wait();
        }
    }
}

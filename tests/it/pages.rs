//! Servers for tests whose lists are given as text, page by page, and pass through no
//! JSON library on their way to the gateway.

use std::fs;

use serde_json::Value;

use crate::driver::{Home, StdioClient, fake};

/// The command of a server whose list is these pages, each the text of its tools.
pub(crate) fn command(home: &Home, server: &str, flags: &[&str], pages: &[&str]) -> Vec<String> {
    let mut arguments: Vec<String> = flags.iter().map(|&flag| flag.to_owned()).collect();
    for (number, page) in pages.iter().enumerate() {
        let path = home.file(&format!("{server}.{number}.json"));
        fs::write(&path, page).unwrap();
        arguments.push(path.to_string_lossy().into_owned());
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    fake("pages", &arguments)
}

/// Registers such a server, without connecting.
#[track_caller]
pub(crate) fn register(home: &Home, server: &str, pages: &[&str]) {
    home.add(server, &command(home, server, &[], pages));
}

/// Connects to a registered server once, so that its tools are kept; returns the report.
#[track_caller]
pub(crate) fn connect(home: &Home, server: &str) -> Value {
    home.json(&["test", server, "--json"])
}

/// The row of a server in `coffer list`.
#[track_caller]
pub(crate) fn row(home: &Home, server: &str) -> Value {
    let rows = home.json(&["list", "--json"]);
    let row = rows.as_array().unwrap().iter().find(|row| row["name"] == server);
    row.unwrap_or_else(|| panic!("no `{server}` in {rows}")).clone()
}

/// The server, tool and arguments that a call came to.
#[track_caller]
pub(crate) fn call(client: &mut StdioClient, name: &str, arguments: &Value) -> Value {
    let text = client.call_text(name, arguments);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The answer to request `id` as it was written; what comes before it is dropped.
#[track_caller]
pub(crate) fn raw_answer(client: &mut StdioClient, id: u64) -> String {
    loop {
        let line = client.line();
        if line.contains(&format!("\"id\":{id},")) {
            return line;
        }
    }
}

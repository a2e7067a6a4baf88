//! Servers for tests, their tools written as text.

use std::fs;

use serde_json::{Value, json};

use crate::driver::{Home, fake};

/// Definitions from a text with a tool a line: `name | description`.
pub(crate) fn tools(text: &str) -> Vec<Value> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let (name, description) = line.split_once('|').unwrap_or((line, ""));
            tool(name.trim(), description.trim(), &json!({ "type": "object" }))
        })
        .collect()
}

/// A definition.
pub(crate) fn tool(name: &str, description: &str, schema: &Value) -> Value {
    json!({ "name": name, "description": description, "inputSchema": schema })
}

/// A tool whose calls end in a way of their own, see `lists_file.py`.
pub(crate) fn ending(name: &str, answer: &str) -> Value {
    json!({
        "name": name,
        "description": format!("Ends in {answer}"),
        "inputSchema": { "type": "object" },
        "x-answer": answer
    })
}

/// Makes `server` offer these tools from its next list on.
pub(crate) fn offer(home: &Home, server: &str, tools: &[Value]) {
    let path = home.file(&format!("{server}.json"));
    fs::write(path, json!({ "tools": tools }).to_string()).unwrap();
}

/// The command of a server that offers what was written for it.
pub(crate) fn command(home: &Home, server: &str, arguments: &[&str]) -> Vec<String> {
    let path = home.file(&format!("{server}.json")).to_string_lossy().into_owned();
    fake("lists_file", &[&[path.as_str()], arguments].concat())
}

/// Registers a server with these tools, without connecting.
#[track_caller]
pub(crate) fn register(home: &Home, server: &str, tools: &[Value]) {
    offer(home, server, tools);
    home.add(server, &command(home, server, &[]));
}

/// Registers a server and connects once, so that its tools are kept.
#[track_caller]
pub(crate) fn connect(home: &Home, server: &str, tools: &[Value]) {
    offer(home, server, tools);
    let command = command(home, server, &[]);
    let mut arguments = vec!["add", server, "--"];
    arguments.extend(command.iter().map(String::as_str));
    home.ok(&arguments);
}

/// Tools that have nothing to do with the others, so that the words of those are telling.
pub(crate) fn strangers() -> Vec<Value> {
    let things = ["lamp", "roof", "door", "garden", "river", "bridge", "harbour", "mill"];
    let deeds = ["paint", "measure", "clean", "repair", "sell", "inspect"];
    let pairs = things.iter().flat_map(|thing| deeds.iter().map(move |deed| (deed, thing)));
    let line = |(deed, thing)| format!("{deed}_{thing} | To {deed} the {thing} of the town\n");
    tools(&pairs.map(line).collect::<String>())
}

/// The names of the tools in the answer of a search.
pub(crate) fn names(answer: &Value) -> Vec<&str> {
    let tools = answer["tools"].as_array();
    tools.into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect()
}

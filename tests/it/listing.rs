//! Lists: complete, in a stable order, each tool once, and cheap to hand out (D010, D013 to
//! D016).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::driver::{Home, HttpClient, StdioClient, fake, is_alive, kill, wait_until};
use crate::offering::names;
use crate::pages::{call, command, connect, raw_answer, register, row};
use crate::process_table::{lines_of, resident, wait_for_pids};

/// Pages of `size` tools, `count` in all, with a distinct description each.
fn numbered(count: usize, size: usize) -> Vec<String> {
    let tool = |number: usize| {
        json!({
            "name": format!("item_{number:03}"),
            "description": format!("Fetches shelf number{number} of the store"),
            "inputSchema": { "type": "object", "properties": { "n": { "type": "integer" } } }
        })
    };
    let tools: Vec<Value> = (0..count).map(tool).collect();
    tools.chunks(size).map(|page| Value::from(page).to_string()).collect()
}

#[track_caller]
fn register_numbered(home: &Home, server: &str, count: usize, size: usize) {
    let pages = numbered(count, size);
    register(home, server, &pages.iter().map(String::as_str).collect::<Vec<_>>());
}

/// The list as it was written, without the envelope.
#[track_caller]
fn raw_list(client: &mut StdioClient) -> String {
    let id = client.ask("tools/list", &json!({}));
    let line = raw_answer(client, id);
    line.split_once("\"result\":").unwrap_or_else(|| panic!("{line}")).1.to_owned()
}

// D010

#[test]
fn every_page_of_a_list_is_read_indexed_and_callable() {
    let home = Home::new();
    register_numbered(&home, "store", 101, 50);
    let report = connect(&home, "store");
    assert_eq!(report["tools"].as_array().unwrap().len(), 101);
    assert_eq!(row(&home, "store")["tools"], 101);
    let mut client = home.stdio();
    assert_eq!(client.tool_names().len(), 102);
    let found = client.search(&json!({ "query": "fetch shelf number100", "top_k": 1 }));
    assert_eq!(names(&found), ["store__item_100"]);
    assert_eq!(found["total_searched"], 101);
    assert_eq!(call(&mut client, "store__item_100", &json!({ "n": 3 }))["tool"], "item_100");
}

// D013

#[test]
fn a_tool_that_is_listed_twice_is_offered_once_and_told() {
    let first = r#"[{"name":"a","inputSchema":{"type":"object"}},
        {"name":"a","inputSchema":{"type":"object"}},
        {"name":"b","description":"First","inputSchema":{"type":"object"}},
        {"name":"b","description":"Second","inputSchema":{"type":"object","required":["x"]}},
        {"name":"c.d","inputSchema":{"type":"object"}},
        {"name":"c_d","inputSchema":{"type":"object"}}]"#;
    let second = r#"[{"name":"a","inputSchema":{"type":"object"}},
        {"name":"e","inputSchema":{"type":"object"}}]"#;
    let home = Home::new();
    register(&home, "twice", &[first, second]);
    connect(&home, "twice");
    let mut client = home.stdio();
    let tools = client.tools();
    let listed: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), listed.len(), "{listed:?}");
    assert_eq!(listed.len(), 6, "{listed:?}");
    let b = tools.iter().find(|tool| tool["name"] == "twice__b").unwrap();
    assert_eq!(b["description"], "First");
    let reached = listed.iter().filter(|name| name.starts_with("twice__"));
    let reached: BTreeSet<String> = reached
        .map(|name| call(&mut client, name, &json!({}))["tool"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(reached, ["a", "b", "c.d", "c_d", "e"].map(ToOwned::to_owned).into());
    let remarks = row(&home, "twice")["remarks"].to_string();
    assert!(remarks.contains("`a` is listed twice") && remarks.contains("`b`"), "{remarks}");
}

#[test]
fn an_empty_list_is_a_healthy_server_and_asked_for_once() {
    let home = Home::new();
    let record = home.file("record");
    let flags = ["--record", record.to_str().unwrap()];
    home.add("empty", &command(&home, "empty", &flags, &["[]"]));
    // By the time that this one is there, a retry would have come.
    home.add("late", &fake("slow_start", &["--delay", "1.5"]));
    let mut client = home.stdio();
    client.wait_for_tool("late__work");
    let row = row(&home, "empty");
    assert_eq!((&row["state"], &row["tools"]), (&json!("ok"), &json!(0)), "{row}");
    let asked = |method: &str| {
        let method = format!("\"method\":\"{method}\"");
        lines_of(&record).iter().filter(|line| line.contains(&method)).count()
    };
    assert_eq!((asked("initialize"), asked("tools/list")), (1, 1), "{:?}", lines_of(&record));
}

#[test]
fn a_server_without_the_capability_is_not_asked_for_tools() {
    let home = Home::new();
    let record = home.file("record");
    let flags = ["--record", record.to_str().unwrap(), "--no-capability"];
    let page = r#"[{"name":"a","inputSchema":{"type":"object"}}]"#;
    home.add("none", &command(&home, "none", &flags, &[page]));
    let report = connect(&home, "none");
    assert!(report["error"].is_null() && report["tools"] == json!([]), "{report}");
    let asked = lines_of(&record);
    assert!(asked.iter().any(|line| line.contains("prompts/list")), "{asked:?}");
    assert!(!asked.iter().any(|line| line.contains("tools/list")), "{asked:?}");
    assert_eq!(row(&home, "none")["state"], "ok");
}

// D014

#[test]
fn the_list_has_the_same_bytes_in_whatever_order_the_servers_come() {
    let delays = ["0", "0.3", "0.1", "0.2", "0.4"];
    let mut lists = BTreeSet::new();
    for run in 0..delays.len() {
        let home = Home::new();
        let servers: Vec<(String, Vec<String>)> = (0..delays.len())
            .map(|at| {
                let delay = delays[(at + run) % delays.len()];
                (format!("server-{at}"), fake("slow_start", &["--delay", delay]))
            })
            .collect();
        let servers: Vec<(&str, Vec<String>)> =
            servers.iter().map(|(name, command)| (name.as_str(), command.clone())).collect();
        let mut client = home.stdio_with(&["--config", &home.servers_file(&servers)]);
        wait_until("all are listed", || client.tool_names().len() == delays.len() + 1);
        lists.insert(raw_list(&mut client));
    }
    assert_eq!(lists.len(), 1, "{lists:?}");
}

#[test]
fn an_outage_takes_no_tool_from_the_list_and_changes_no_byte() {
    let home = Home::new();
    let pids = home.file("pids");
    home.add("weak", &fake("slow_start", &["--pids", pids.to_str().unwrap(), "--delay", "0.5"]));
    register_numbered(&home, "firm", 3, 3);
    let mut client = home.stdio();
    wait_until("all are listed", || client.tool_names().len() == 5);
    let before = raw_list(&mut client);
    let pid = wait_for_pids(&pids, 1)[0];
    kill(pid, "-KILL");
    wait_until("it is gone", || !is_alive(pid));
    assert_eq!(raw_list(&mut client), before);
    wait_for_pids(&pids, 2);
    assert_eq!(raw_list(&mut client), before);
    assert_eq!(client.call_text("weak__work", &json!({})), "worked");
    assert_eq!(raw_list(&mut client), before);
}

// D015

#[test]
fn the_gateways_own_tools_come_first_and_find_what_a_client_cuts_off() {
    let home = Home::new();
    register_numbered(&home, "a-store", 200, 200);
    connect(&home, "a-store");
    let mut client = home.stdio();
    let listed = client.tool_names();
    assert_eq!(listed.len(), 201);
    assert!(listed[0] == "coffer__search_tools", "{:?}", &listed[..5]);
    let cut = &listed[40..];
    assert!(!cut.iter().any(|name| name.starts_with("coffer__")), "{cut:?}");
    assert!(raw_list(&mut client).find("coffer__search_tools").unwrap() < 1_000);
    let last = cut.last().unwrap();
    let found = client.search(&json!({ "query": "fetch the shelf number199" }));
    assert_eq!(names(&found)[0], last);
    assert_eq!(call(&mut client, last, &json!({}))["tool"], "item_199");
    let row = row(&home, "a-store");
    assert!(row["tools"] == 200 && row["bytes"].as_u64().unwrap() > 20_000, "{row}");
    let table = home.ok(&["list"]).stdout;
    assert!(table.contains("200 tools") && table.contains("bytes"), "{table}");
}

// D016

#[test]
fn a_list_of_megabytes_is_shared_by_all_clients() {
    const CLIENTS: usize = 20;
    let home = Home::new();
    let output = json!({ "type": "object", "description": "o".repeat(20_000) });
    for server in ["one", "two", "three"] {
        let tool = |number: usize| {
            json!({
                "name": format!("tool_{number}"),
                "inputSchema": { "type": "object" },
                "outputSchema": output
            })
        };
        register(&home, server, &[&Value::from_iter((0..60).map(tool)).to_string()]);
        connect(&home, server);
    }
    let bytes: u64 = ["one", "two", "three"]
        .iter()
        .map(|name| row(&home, name)["bytes"].as_u64().unwrap())
        .sum();
    assert!(bytes > 3_600_000, "{bytes}");
    let mut client = HttpClient::start(&home, &[]);
    let sessions: Vec<String> = (0..CLIENTS)
        .map(|_| {
            client.greet();
            client.session.clone().unwrap()
        })
        .collect();
    let list = |client: &HttpClient, session: &str| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
        let reply =
            HttpClient::send(client.prepared("POST").header("mcp-session-id", session).body(body));
        assert_eq!(reply.status, 200);
        reply.body
    };
    client.session = None;
    let first = list(&client, &sessions[0]);
    assert!(first.len() as u64 > bytes, "{}", first.len());
    let before = resident(client.pid());
    std::thread::scope(|scope| {
        let lists: Vec<_> =
            sessions.iter().map(|session| scope.spawn(|| list(&client, session))).collect();
        for other in lists {
            assert!(other.join().unwrap() == first, "lists differ");
        }
    });
    // A copy for each client would be five times as much.
    let limit = before + 4 * bytes / 1024;
    wait_until("the memory is returned", || resident(client.pid()) < limit);
    assert_eq!(client.terminate(), 0);
}

//! Names: under which one a tool is offered, and where a call of it goes (D001 to D004).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::driver::{Home, wait_until};
use crate::pages::{call, command, connect, register, row};

/// The text of a page with tools of these names.
fn page(names: &[&str]) -> String {
    let tool = |name: &&str| json!({ "name": name, "inputSchema": { "type": "object" } });
    Value::from_iter(names.iter().map(tool)).to_string()
}

#[track_caller]
fn check_is_legal(name: &str) {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    assert!((1..=64).contains(&name.len()) && name.chars().all(fits), "`{name}`");
}

/// The name under which a tool of a registered server is offered.
#[track_caller]
fn exposed(home: &Home, server: &str, original: &str) -> String {
    let shown = home.json(&["show", server, "--json"]);
    let tool = shown["tools"].as_array().unwrap().iter().find(|tool| tool["original"] == original);
    let tool = tool.unwrap_or_else(|| panic!("no `{original}` in {shown}"));
    tool["name"].as_str().unwrap().to_owned()
}

/// Two names of 70 characters that differ in the middle alone.
fn twins() -> [String; 2] {
    ["create", "delete"].map(|verb| {
        let name =
            format!("handle-the-purchase-orders-to-{verb}-for-every-warehouse-of-the-region");
        assert_eq!(name.len(), 70);
        name
    })
}

// D001

#[test]
fn long_names_that_differ_in_the_middle_alone_are_two_tools() {
    let [create, delete] = twins();
    let home = Home::new();
    register(&home, "depot", &[&page(&[&create, &delete])]);
    let mut client = home.stdio();
    wait_until("both are listed", || client.tool_names().len() == 3);
    let mut reached = BTreeSet::new();
    for name in client.tool_names().iter().filter(|name| name.starts_with("depot__")) {
        check_is_legal(name);
        let came_to = call(&mut client, name, &json!({ "n": 1 }));
        assert_eq!(came_to["arguments"], json!({ "n": 1 }));
        reached.insert(came_to["tool"].as_str().unwrap().to_owned());
    }
    assert_eq!(reached, BTreeSet::from([create, delete]));
}

#[test]
fn a_shortened_name_is_the_same_after_a_restart_in_another_order_and_in_another_home() {
    let [create, delete] = twins();
    let home = Home::new();
    register(&home, "depot", &[&page(&[&create, &delete])]);
    connect(&home, "depot");
    let before = [&create, &delete].map(|original| exposed(&home, "depot", original));
    command(&home, "depot", &[], &[&page(&["another", &delete, &create])]);
    connect(&home, "depot");
    let after = [&create, &delete].map(|original| exposed(&home, "depot", original));
    assert_eq!(before, after);
    let elsewhere = Home::new();
    register(&elsewhere, "depot", &[&page(&[&delete])]);
    connect(&elsewhere, "depot");
    assert_eq!(exposed(&elsewhere, "depot", &delete), before[1]);
}

// D002

#[test]
fn odd_names_are_offered_as_legal_ones_and_go_upstream_as_they_were() {
    let odd = ["calendar.list", "files/read", "a b", "größe", "工具", "工作", "tab\tbed"];
    let home = Home::new();
    register(&home, "odd", &[&page(&[&odd[..], &[""]].concat())]);
    let report = connect(&home, "odd");
    assert_eq!(report["tools"].as_array().unwrap().len(), odd.len(), "{report}");
    let mut client = home.stdio();
    let names = client.tool_names();
    assert_eq!(names.len(), odd.len() + 1, "{names:?}");
    names.iter().for_each(|name| check_is_legal(name));
    for original in odd {
        let came_to = call(&mut client, &exposed(&home, "odd", original), &json!({}));
        assert_eq!(came_to["tool"], original);
    }
}

#[test]
fn a_tool_without_a_name_is_left_out_with_a_remark_and_the_others_stay() {
    let home = Home::new();
    register(&home, "odd", &[&page(&["", "good"])]);
    connect(&home, "odd");
    let row = row(&home, "odd");
    assert_eq!((&row["tools"], &row["state"]), (&json!(1), &json!("ok")), "{row}");
    let remarks = row["remarks"].to_string();
    assert!(remarks.contains("left out") && remarks.contains("`name`"), "{remarks}");
    let shown = home.ok(&["show", "odd"]).stdout;
    assert!(shown.contains("left out"), "{shown}");
}

// D003

#[test]
fn a_separator_in_any_name_leads_no_call_astray() {
    let tools = ["__init", "run__now", "_x", "x", "db__x"];
    let servers = [
        "my__db",
        "my",
        "db",
        "db_",
        "MY",
        "the-server-with-a-long-name-one",
        "the-server-with-a-long-name-two",
    ];
    let home = Home::new();
    let entries = servers.map(|server| (server, command(&home, server, &[], &[&page(&tools)])));
    let file = home.servers_file(&entries);
    let mut client = home.stdio_with(&["--config", &file]);
    let all = servers.len() * tools.len();
    wait_until("all are listed", || client.tool_names().len() == all + 1);
    let mut reached = BTreeSet::new();
    for name in client.tool_names().iter().filter(|name| !name.starts_with("coffer__")) {
        check_is_legal(name);
        let came_to = call(&mut client, name, &json!({}));
        let pair =
            [&came_to["server"], &came_to["tool"]].map(|part| part.as_str().unwrap().to_owned());
        assert!(reached.insert(pair), "{name} comes to {came_to} as another does");
    }
    assert_eq!(reached.len(), all);
}

#[test]
fn a_server_name_that_could_be_mistaken_is_refused_up_front() {
    let home = Home::new();
    for name in ["my__db", "db_", "_db", "db.x", "a/b", "Db", "-db", "", "工具"] {
        let outcome = home.run(&["add", name, "--no-connect", "--", "python3"]);
        assert_ne!(outcome.code, 0, "{name}: {outcome:?}");
    }
    let outcome = home.run(&["add", "my__db", "--no-connect", "--", "python3"]);
    assert_eq!(outcome.code, 5, "{outcome:?}");
    assert!(outcome.stderr.contains("`my__db`") && outcome.stderr.contains("a-z"), "{outcome:?}");
    assert_eq!(home.json(&["list", "--json"]), json!([]));
}

// D004

#[test]
fn the_name_of_the_gateway_itself_is_refused_in_any_case() {
    let home = Home::new();
    for name in ["coffer", "COFFER", "Coffer"] {
        let outcome = home.run(&["add", name, "--no-connect", "--", "python3"]);
        assert_eq!(outcome.code, 5, "{outcome:?}");
        assert!(outcome.stderr.contains("reserved"), "{outcome:?}");
    }
    assert_eq!(home.json(&["list", "--json"]), json!([]));
}

#[test]
fn a_file_cannot_shadow_the_gateways_own_tools() {
    let home = Home::new();
    let server = |name| (name, command(&home, name, &[], &[&page(&["search_tools"])]));
    let file = home.servers_file(&["coffer", "COFFER", " Coffer ", "coffer_", "good"].map(server));
    let mut client = home.stdio_with(&["--config", &file]);
    client.wait_for_tool("good__search_tools");
    wait_until("each refused name is told", || {
        let told = client.stderr();
        ["`coffer`", "`COFFER`", "` Coffer `"].iter().all(|name| told.contains(name))
    });
    let tools = client.tools();
    let own: Vec<&Value> =
        tools.iter().filter(|tool| tool["name"] == "coffer__search_tools").collect();
    assert!(own.len() == 1 && own[0]["inputSchema"]["properties"]["query"].is_object(), "{own:?}");
    let found = client.search(&json!({ "query": "search tools" }));
    assert_eq!(found["total_searched"], tools.len() - 1, "{found}");
    assert_eq!(call(&mut client, "good__search_tools", &json!({}))["server"], "good");
}

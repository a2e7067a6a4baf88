//! Changes of what servers offer: told, followed, and no matter to clients that do not
//! listen (D011, D012).

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::driver::{Home, StdioClient, fake, kill, wait_until, wait_until_gone};
use crate::offering::{names, tool, tools};
use crate::pages::row;
use crate::process_table::wait_for_pids;

/// Makes the server `x` offer these from now on.
fn offer(home: &Home, tools: &[Value]) {
    let path = home.file("offer.json");
    let draft = home.file("offer.draft");
    fs::write(&draft, Value::from(tools).to_string()).unwrap();
    fs::rename(draft, path).unwrap();
}

/// Registers the server `x` with its offer.
#[track_caller]
fn register(home: &Home, tools: &[Value]) {
    offer(home, tools);
    let [path, pids] = ["offer.json", "pids"].map(|name| home.file(name));
    home.add("x", &fake("changing", &[path.to_str().unwrap(), pids.to_str().unwrap()]));
}

/// How often the client has heard of changed tools since the last look.
#[track_caller]
fn notices(client: &mut StdioClient) -> usize {
    let ping = client.ask("ping", &json!({}));
    let mut count = 0;
    loop {
        let message = client.wait_for(|message| {
            message["id"] == ping || message["method"] == "notifications/tools/list_changed"
        });
        if message["id"] == ping {
            return count;
        }
        count += 1;
    }
}

#[track_caller]
fn lists(client: &mut StdioClient, name: &str) -> bool {
    client.tool_names().iter().any(|listed| listed == name)
}

/// A definition of the tool `gamma` that can be told from another.
fn gamma(word: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { word: { "type": "string" } } });
    tool("gamma", &format!("Polishes the {word}"), &schema)
}

fn alpha() -> Value {
    tools("alpha | Waters the orchids")[0].clone()
}

fn beta() -> Value {
    tools("beta | Ships a crate of lemons")[0].clone()
}

// D011

#[test]
fn a_change_reaches_list_search_schemas_and_calls_with_one_notice() {
    let home = Home::new();
    register(&home, &[alpha(), gamma("silver")]);
    let mut client = home.stdio();
    client.wait_for_tool("x__alpha");
    notices(&mut client);
    offer(&home, &[beta(), gamma("copper")]);
    client.call("x__announce", &json!({ "times": 7 }));
    wait_until("the change is listed", || lists(&mut client, "x__beta"));
    client.wait_for(|message| message["method"] == "notifications/tools/list_changed");
    assert!(!lists(&mut client, "x__alpha"));
    let listed = client.tools();
    let listed = listed.iter().find(|tool| tool["name"] == "x__gamma").unwrap();
    assert_eq!(listed["description"], "Polishes the copper");
    assert!(listed["inputSchema"]["properties"]["copper"].is_object(), "{listed}");
    let found = client.search(&json!({ "query": "polish the copper" }));
    assert_eq!(found["tools"][0]["inputSchema"], listed["inputSchema"], "{found}");
    let found = client.search(&json!({ "query": "water the orchids" }));
    assert!(!names(&found).contains(&"x__alpha"), "{found}");
    let refused = client.call("x__alpha", &json!({}));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    // The next change has its own notice, and nothing else has come before it.
    offer(&home, &[alpha()]);
    client.call("x__announce", &json!({}));
    wait_until("the next change is listed", || lists(&mut client, "x__alpha"));
    client.wait_for(|message| message["method"] == "notifications/tools/list_changed");
    assert_eq!(notices(&mut client), 0);
}

#[test]
fn a_notice_without_a_change_is_told_to_nobody() {
    let home = Home::new();
    register(&home, &[alpha()]);
    let mut client = home.stdio();
    client.wait_for_tool("x__alpha");
    notices(&mut client);
    client.call("x__announce", &json!({ "times": 3 }));
    // A true change after it is the first that is heard of.
    offer(&home, &[alpha(), beta()]);
    client.call("x__announce", &json!({ "times": 3 }));
    wait_until("the change is listed", || lists(&mut client, "x__beta"));
    client.wait_for(|message| message["method"] == "notifications/tools/list_changed");
    client.call("x__announce", &json!({ "times": 3 }));
    assert_eq!(notices(&mut client), 0);
}

#[test]
fn what_changed_while_a_server_was_down_is_seen_when_it_is_back() {
    let home = Home::new();
    register(&home, &[alpha()]);
    let mut client = home.stdio();
    client.wait_for_tool("x__alpha");
    offer(&home, &[beta()]);
    let pid = wait_for_pids(&home.file("pids"), 1)[0];
    kill(pid, "-KILL");
    wait_until_gone(&[pid]);
    wait_until("the change is listed", || lists(&mut client, "x__beta"));
    assert!(!lists(&mut client, "x__alpha"));
}

#[test]
fn what_changed_while_no_gateway_ran_is_seen_after_the_start() {
    let home = Home::new();
    register(&home, &[alpha()]);
    home.ok(&["test", "x"]);
    offer(&home, &[beta()]);
    let mut client = home.stdio();
    wait_until("the change is listed", || lists(&mut client, "x__beta"));
    assert!(!lists(&mut client, "x__alpha"));
}

#[test]
fn a_command_refreshes_the_list_of_a_server_that_never_tells() {
    let home = Home::new();
    register(&home, &[alpha()]);
    let mut client = home.stdio();
    client.wait_for_tool("x__alpha");
    wait_until("the list is kept", || row(&home, "x")["tools"] == 2);
    offer(&home, &[beta()]);
    let told = home.ok(&["refresh", "x"]).stdout;
    assert!(told.contains("1 new") && told.contains("1 gone"), "{told}");
    wait_until("the running gateway lists it", || lists(&mut client, "x__beta"));
    assert!(!lists(&mut client, "x__alpha"));
}

#[test]
fn a_tool_that_is_switched_off_stays_off_through_changes() {
    let home = Home::new();
    register(&home, &[alpha(), gamma("silver")]);
    let mut client = home.stdio();
    client.wait_for_tool("x__gamma");
    home.ok(&["disable", "x__gamma"]);
    wait_until("it is off", || !lists(&mut client, "x__gamma"));
    // It changes, goes, and comes back.
    for offered in [vec![beta(), gamma("copper")], vec![alpha()], vec![beta(), gamma("gold")]] {
        let first = format!("x__{}", offered[0]["name"].as_str().unwrap());
        offer(&home, &offered);
        client.call("x__announce", &json!({}));
        wait_until("the change is listed", || lists(&mut client, &first));
        assert!(!lists(&mut client, "x__gamma"));
    }
    let refused = client.call("x__gamma", &json!({}));
    assert_eq!(refused["error"]["code"], -32000, "{refused}");
    let found = client.search(&json!({ "query": "polish the gold" }));
    assert!(!names(&found).contains(&"x__gamma"), "{found}");
}

#[test]
fn a_server_that_tells_of_changes_without_end_is_listed_all_the_same() {
    let home = Home::new();
    register(&home, &[alpha()]);
    let mut client = home.stdio();
    client.wait_for_tool("x__alpha");
    client.call("x__announce", &json!({ "for_ever": true }));
    offer(&home, &[beta()]);
    let begin = Instant::now();
    wait_until("the change is listed", || lists(&mut client, "x__beta"));
    assert!(begin.elapsed() < Duration::from_secs(6), "{:?}", begin.elapsed());
}

#[test]
fn a_change_after_a_refused_list_is_seen_as_soon_as_any_other() {
    let home = Home::new();
    register(&home, &[alpha()]);
    let mut client = home.stdio();
    client.wait_for_tool("x__alpha");
    fs::remove_file(home.file("offer.json")).unwrap();
    client.call("x__announce", &json!({}));
    wait_until("the refusal is told", || row(&home, "x")["error"].to_string().contains("-32603"));
    assert!(lists(&mut client, "x__alpha"), "the known tools are gone");
    offer(&home, &[beta()]);
    client.call("x__announce", &json!({}));
    let begin = Instant::now();
    wait_until("the change is listed", || lists(&mut client, "x__beta"));
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    wait_until("the error is gone", || row(&home, "x")["error"].is_null());
}

// D012

#[test]
fn a_client_that_never_lists_again_finds_and_calls_what_came_later() {
    let home = Home::new();
    let mut client = home.stdio();
    assert_eq!(client.tool_names(), ["coffer__search_tools"]);
    register(&home, &[beta()]);
    wait_until("it is found", || {
        let found = client.search(&json!({ "query": "ship lemons" }));
        names(&found).contains(&"x__beta")
    });
    let text = client.call_text("x__beta", &json!({}));
    assert!(text.contains("\"tool\": \"beta\""), "{text}");
}

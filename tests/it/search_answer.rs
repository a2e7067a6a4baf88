//! The answer of a search: its size, and what it says of servers that are not ready.

use std::time::Instant;

use serde_json::{Map, Value, json};

use crate::driver::{Home, StdioClient, wait_until};
use crate::offering::{command, ending, names, offer, register, strangers, tool, tools};

/// Characters that an answer may have.
const BUDGET: usize = 24_000;

/// A schema of about `length` characters.
fn schema(length: usize) -> Value {
    let mut properties = Map::new();
    let words = "which of the many settings of the loom this one is, in a sentence";
    while properties.len() * 150 < length {
        let name = format!("setting_of_the_loom_{}", properties.len());
        properties.insert(name, json!({ "type": "string", "description": words }));
    }
    json!({ "type": "object", "properties": properties })
}

/// Searches; returns the text block, which must be within its budget, and its JSON.
#[track_caller]
fn searched(client: &mut StdioClient, arguments: &Value) -> (String, Value) {
    let answer = client.call("coffer__search_tools", arguments);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json, answer["result"]["structuredContent"]);
    let length = text.chars().count();
    assert!(length < BUDGET, "{length} characters: {text:.300}");
    (text, json)
}

// D067

#[test]
fn twenty_hits_with_huge_schemas_fit_and_all_keep_name_and_description() {
    let home = Home::new();
    let looms: Vec<Value> = (0..25)
        .map(|at| tool(&format!("weave_{at}"), "Weave a carpet on the loom", &schema(30_000)))
        .collect();
    register(&home, "loom", &looms);
    register(&home, "town", &strangers());
    let mut client = home.stdio();
    client.wait_for_tool("loom__weave_0");
    client.wait_for_tool("town__paint_lamp");
    let (_, answer) = searched(&mut client, &json!({ "query": "weave a carpet", "top_k": 20 }));
    let hits = answer["tools"].as_array().unwrap();
    assert_eq!(hits.len(), 20);
    for hit in hits {
        assert!(hit["name"].as_str().unwrap().starts_with("loom__weave_"), "{hit}");
        assert_eq!(hit["description"], "Weave a carpet on the loom");
        assert_eq!(hit.get("inputSchema"), None, "30 KB cannot fit");
    }
    assert!(answer["notices"].to_string().contains("schema"), "{}", answer["notices"]);
}

#[test]
fn the_first_hit_keeps_a_schema_that_fits_alone_and_others_can_be_had_whole() {
    let home = Home::new();
    let looms: Vec<Value> = (0..20)
        .map(|at| tool(&format!("weave_{at}"), "Weave a carpet on the loom", &schema(9_000)))
        .collect();
    register(&home, "loom", &looms);
    register(&home, "town", &strangers());
    let mut client = home.stdio();
    client.wait_for_tool("loom__weave_0");
    client.wait_for_tool("town__paint_lamp");
    let (_, answer) = searched(&mut client, &json!({ "query": "weave a carpet", "top_k": 5 }));
    let hits = answer["tools"].as_array().unwrap();
    assert_eq!(hits[0]["inputSchema"], schema(9_000), "{:.300}", hits[0].to_string());
    let short = hits.iter().find(|hit| hit.get("inputSchema").is_none()).unwrap();
    let name = short["name"].as_str().unwrap();
    let (_, whole) = searched(&mut client, &json!({ "query": name, "top_k": 1 }));
    assert_eq!(whole["tools"][0]["name"], name);
    assert_eq!(whole["tools"][0]["inputSchema"], schema(9_000));
}

#[test]
fn one_tool_with_half_a_megabyte_of_schema_hides_neither_itself_nor_its_server() {
    let home = Home::new();
    let small = tool("wind_bobbin", "Wind thread on a bobbin", &schema(300));
    let giant = tool("weave_all", "Weave everything on the loom", &schema(500_000));
    register(&home, "loom", &[giant, small]);
    let mut client = home.stdio();
    client.wait_for_tool("loom__weave_all");
    let (_, answer) = searched(&mut client, &json!({ "query": "weave_all", "top_k": 1 }));
    assert_eq!(answer["tools"][0]["name"], "loom__weave_all");
    assert_eq!(answer["tools"][0]["shortened"], true, "{answer}");
    let (_, answer) = searched(&mut client, &json!({ "query": "wind thread on a bobbin" }));
    assert_eq!(answer["tools"][0]["name"], "loom__wind_bobbin");
    assert_eq!(answer["tools"][0]["inputSchema"], schema(300));
}

#[test]
fn long_descriptions_are_cut_with_a_mark() {
    let home = Home::new();
    let words = "Dye the \"wool\" in the vat. ".repeat(800);
    let vats: Vec<Value> =
        (0..20).map(|at| tool(&format!("dye_{at}"), &words, &schema(300))).collect();
    register(&home, "vat", &vats);
    register(&home, "town", &strangers());
    let mut client = home.stdio();
    client.wait_for_tool("town__paint_lamp");
    client.wait_for_tool("vat__dye_0");
    for detail in ["schema", "name"] {
        let arguments = json!({ "query": "dye the wool", "top_k": 20, "detail": detail });
        let (_, answer) = searched(&mut client, &arguments);
        let hits = answer["tools"].as_array().unwrap();
        assert_eq!(hits.len(), 20);
        for hit in hits {
            let description = hit["description"].as_str().unwrap();
            assert!(description.starts_with("Dye the \"wool\""), "{hit}");
            assert!(description.ends_with('…') || description == words, "{description}");
        }
    }
}

#[test]
fn many_servers_that_cannot_be_reached_leave_room_for_the_tools() {
    let home = Home::new();
    for number in 0..60 {
        let missing = format!("/nowhere/in/this/world/there/is/a/server/{number}");
        home.add(&format!("missing-{number}"), &[missing]);
    }
    let looms: Vec<Value> = (0..20)
        .map(|at| tool(&format!("weave_{at}"), "Weave a carpet on the loom", &schema(3_000)))
        .collect();
    register(&home, "loom", &looms);
    register(&home, "town", &strangers());
    let mut client = home.stdio();
    client.wait_for_tool("loom__weave_0");
    client.wait_for_tool("town__paint_lamp");
    wait_until("every server was tried", || {
        let servers = home.json(&["list", "--json"]);
        let servers = servers.as_array().unwrap();
        servers.iter().filter(|server| server["state"] == "unreachable").count() == 60
    });
    let (_, answer) = searched(&mut client, &json!({ "query": "weave a carpet", "top_k": 20 }));
    assert_eq!(names(&answer).len(), 20);
    assert!(answer["notices"].to_string().contains("missing-0"), "{answer:.300}");
}

#[test]
fn unknown_names_in_a_filter_are_told_in_few_words() {
    let home = Home::new();
    register(&home, "loom", &tools("weave | Weave a carpet"));
    let mut client = home.stdio();
    client.wait_for_tool("loom__weave");
    let (_, answer) = searched(&mut client, &json!({ "query": "weave", "servers": ["lom"] }));
    let notices = answer["notices"].to_string();
    assert!(notices.contains("lom") && notices.contains("loom"), "{answer}");
    let unknown: Vec<String> = (0..3_000).map(|number| format!("unknown-{number}")).collect();
    searched(&mut client, &json!({ "query": "weave", "servers": unknown, "tags": unknown }));
}

// D068

#[test]
fn a_search_during_the_start_names_the_server_that_is_still_starting() {
    let home = Home::new();
    register(&home, "swift", &tools("weave | Weave a carpet"));
    offer(&home, "tardy", &tools("knit_sock | Knit a sock"));
    home.add("tardy", &command(&home, "tardy", &["--delay", "3"]));
    let mut client = home.stdio();
    let early = client.search(&json!({ "query": "knit a sock" }));
    let notices = early["notices"].to_string();
    assert!(notices.contains("tardy") && notices.contains("starting"), "{early}");
    let call = client.call("tardy__knit_sock", &json!({}));
    let sentence = call["result"]["content"][0]["text"].as_str();
    let is_clear = |text: &str| text.contains("knit_sock") || text.contains("tardy");
    assert!(sentence.is_some_and(is_clear), "an early call waits or can be repeated: {call}");
    client.wait_for_tool("tardy__knit_sock");
    let late = client.search(&json!({ "query": "knit a sock" }));
    assert_eq!(late["tools"][0]["name"], "tardy__knit_sock");
    assert_eq!(late["tools"][0]["status"], "ready");
    assert_eq!(late.get("notices"), None, "{late}");
    drop(client);
    // The next run knows the tools before their server has said a word.
    let mut client = home.stdio();
    let begin = Instant::now();
    let cached = client.search(&json!({ "query": "knit a sock" }));
    assert_eq!(cached["tools"][0]["name"], "tardy__knit_sock");
    assert_eq!(cached["tools"][0]["status"], "cold", "{cached}");
    assert!(begin.elapsed().as_millis() < 1_500, "{:?}", begin.elapsed());
    let text = client.call_text("tardy__knit_sock", &json!({ "size": 43 }));
    assert!(text.contains("43"), "a call waits for its server: {text}");
}

#[test]
fn a_server_that_died_is_named_and_its_tools_are_found_and_called_again_at_once() {
    let home = Home::new();
    let mut offered = tools("knit_sock | Knit a sock");
    offered.push(ending("burn", "die"));
    register(&home, "frail", &offered);
    let mut client = home.stdio();
    client.wait_for_tool("frail__knit_sock");
    let died = client.call("frail__burn", &json!({}));
    assert_eq!(died["result"]["isError"], true, "{died}");
    let found = client.search(&json!({ "query": "knit a sock" }));
    assert_eq!(found["tools"][0]["name"], "frail__knit_sock", "{found}");
    wait_until("a call gets through", || {
        let answer = client.call("frail__knit_sock", &json!({}));
        let sentence = answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(sentence.contains("frail") || sentence.contains("knit_sock"), "{answer}");
        answer["result"]["isError"] != true
    });
}

#[test]
fn a_server_that_cannot_be_reached_is_named_with_the_reason() {
    let home = Home::new();
    home.add("absent", &["/nowhere/absent-server".to_owned()]);
    register(&home, "loom", &tools("weave | Weave a carpet"));
    let mut client = home.stdio();
    client.wait_for_tool("loom__weave");
    let answer = client.search(&json!({ "query": "weave" }));
    let notices = answer["notices"].to_string();
    assert!(notices.contains("absent") && notices.contains("not reachable"), "{answer}");
    let call = client.call("absent__weave", &json!({}));
    assert_eq!(call["result"]["isError"], true, "the tool may exist: {call}");
    let sentence = call["result"]["content"][0]["text"].as_str().unwrap();
    assert!(sentence.contains("`absent`") && !sentence.contains("no tool"), "{sentence}");
}

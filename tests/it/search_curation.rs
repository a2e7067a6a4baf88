//! Search beside the user's decisions, and what the search tool says of itself.

use serde_json::{Value, json};

use crate::driver::{Home, StdioClient, wait_until};
use crate::offering::{connect, names, offer, register, tools};

const DESK: &str = "stamp_letter | Put a stamp on a letter
    seal_letter | Close a letter with wax
    open_letter | Open a letter";

fn refused(client: &mut StdioClient, name: &str) -> bool {
    let answer = client.call(name, &json!({}));
    answer["error"]["code"] == -32000
        && answer["error"]["message"].as_str().unwrap().contains("disabled")
}

/// Checks that a tool is neither listed, found nor callable.
#[track_caller]
fn check_gone(client: &mut StdioClient, name: &str, others: usize) {
    wait_until(&format!("`{name}` is not listed"), || {
        !client.tool_names().iter().any(|listed| listed == name)
    });
    let bare = name.split("__").nth(1).unwrap();
    for query in [name, bare] {
        let answer = client.search(&json!({ "query": query, "top_k": 20 }));
        assert!(!names(&answer).contains(&name), "{query}: {answer}");
        assert_eq!(answer["total_searched"], others, "{answer}");
    }
    assert!(refused(client, name));
}

// D063

#[test]
fn a_disabled_tool_is_neither_listed_nor_found_nor_called_and_stays_so() {
    let home = Home::new();
    register(&home, "desk", &tools(DESK));
    let mut client = home.stdio();
    client.wait_for_tool("desk__seal_letter");
    home.ok(&["disable", "desk__seal_letter"]);
    check_gone(&mut client, "desk__seal_letter", 2);
    drop(client);
    let mut client = home.stdio();
    client.wait_for_tool("desk__open_letter");
    check_gone(&mut client, "desk__seal_letter", 2);
    let outcome = home.run(&["call", "desk__seal_letter"]);
    assert_eq!(outcome.code, 8, "{outcome:?}");
    let kept = home.json(&["search", "--json", "seal_letter"]);
    assert!(!names(&kept).contains(&"desk__seal_letter"), "{kept}");
}

#[test]
fn a_disabled_server_is_neither_listed_nor_found_nor_called() {
    let home = Home::new();
    register(&home, "desk", &tools(DESK));
    register(&home, "shelf", &tools("read_book | Read a book"));
    let mut client = home.stdio();
    client.wait_for_tool("desk__seal_letter");
    client.wait_for_tool("shelf__read_book");
    home.ok(&["disable", "desk"]);
    check_gone(&mut client, "desk__seal_letter", 1);
    check_gone(&mut client, "desk__open_letter", 1);
    home.ok(&["enable", "desk"]);
    client.wait_for_tool("desk__seal_letter");
    wait_until("a call gets through", || {
        client.call("desk__seal_letter", &json!({}))["result"]["isError"] == false
            || client.call("desk__seal_letter", &json!({}))["result"]["content"][0]["text"]
                .as_str()
                .is_some_and(|text| text.contains("seal_letter"))
    });
}

#[test]
fn a_switch_survives_a_refresh_and_a_tool_that_goes_and_comes_back() {
    let home = Home::new();
    register(&home, "desk", &tools(DESK));
    let mut client = home.stdio();
    client.wait_for_tool("desk__seal_letter");
    home.ok(&["disable", "desk__seal_letter"]);
    check_gone(&mut client, "desk__seal_letter", 2);
    offer(&home, "desk", &tools("stamp_letter | Put a stamp on a letter\nfold_letter | Fold it"));
    home.ok(&["refresh", "desk"]);
    client.wait_for_tool("desk__fold_letter");
    assert!(!client.tool_names().contains(&"desk__open_letter".to_owned()));
    // The renamed tool is a new one, and the old name is unknown rather than disabled.
    let gone = client.call("desk__open_letter", &json!({}));
    assert_eq!(gone["error"]["code"], -32602, "{gone}");
    offer(&home, "desk", &tools(DESK));
    home.ok(&["refresh", "desk"]);
    client.wait_for_tool("desk__open_letter");
    check_gone(&mut client, "desk__seal_letter", 2);
}

#[test]
fn a_removed_server_is_gone_from_list_search_and_calls_at_once() {
    let home = Home::new();
    register(&home, "desk", &tools(DESK));
    register(&home, "shelf", &tools("read_book | Read a book"));
    let mut client = home.stdio();
    client.wait_for_tool("desk__seal_letter");
    client.wait_for_tool("shelf__read_book");
    home.ok(&["remove", "desk"]);
    wait_until("its tools are gone", || client.tool_names().len() == 2);
    let answer = client.search(&json!({ "query": "seal_letter" }));
    assert_eq!(answer["total_searched"], 1, "{answer}");
    let gone = client.call("desk__seal_letter", &json!({}));
    assert_eq!(gone["error"]["code"], -32602, "{gone}");
}

// D069

/// The description of the search tool with these servers registered.
fn description(home: &Home) -> String {
    let mut client = home.stdio();
    let tools = client.tools();
    assert_eq!(tools[0]["name"], "coffer__search_tools");
    tools[0]["description"].as_str().unwrap().to_owned()
}

#[test]
fn the_search_tool_says_when_to_use_it_and_names_its_servers_in_bounds() {
    let home = Home::new();
    let check = |text: &str| {
        assert!(text.len() < 1_500, "{}", text.len());
        for word in ["e.g.", "Use it", "name"] {
            assert!(text.contains(word), "`{word}` is missing: {text}");
        }
    };
    let none = description(&home);
    check(&none);
    home.add("larder", &["/nowhere/larder".to_owned()]);
    let one = description(&home);
    check(&one);
    assert!(one.contains("larder") && !none.contains("larder"));
    assert_eq!(one, description(&home), "the same servers give the same bytes");
    for number in 0..29 {
        home.add(&format!("a-rather-long-name-{number}"), &["/nowhere".to_owned()]);
    }
    let many = description(&home);
    check(&many);
    assert!(many.contains("a-rather-long-name-0") && many.contains("more"), "{many}");
}

#[test]
fn a_disabled_server_is_not_promised_by_the_search_tool() {
    let home = Home::new();
    connect(&home, "desk", &tools(DESK));
    assert!(description(&home).contains("desk"));
    home.ok(&["disable", "desk"]);
    assert!(!description(&home).contains("desk"));
}

#[test]
fn the_definition_found_is_the_definition_listed() {
    let home = Home::new();
    let schema = json!({
        "type": "object",
        "properties": { "wax": { "$ref": "#/$defs/wax" }, "copies": { "default": null } },
        "$defs": { "wax": { "enum": ["red", "black"], "x-vendor": 9_007_199_254_740_993_u64 } },
        "additionalProperties": false
    });
    let definition = json!({
        "name": "seal_letter",
        "title": "Seal",
        "description": "Close a letter with wax",
        "inputSchema": schema,
        "outputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": false }
    });
    register(&home, "desk", &[definition]);
    let mut client = home.stdio();
    client.wait_for_tool("desk__seal_letter");
    let listed: Value =
        client.tools().into_iter().find(|tool| tool["name"] == "desk__seal_letter").unwrap();
    let found = client.search(&json!({ "query": "seal a letter" }))["tools"][0].clone();
    for member in ["name", "title", "description", "inputSchema", "outputSchema", "annotations"] {
        assert_eq!(found[member], listed[member], "{member}");
    }
}

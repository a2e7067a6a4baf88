//! What a search finds: names, prefixes, and the same thing every time.

use serde_json::{Value, json};

use crate::driver::{Home, HttpClient, StdioClient, wait_until};
use crate::offering::{connect, names, register, strangers, tool, tools};

const DRIVER: &str = "nimbus-cloud-web-driver";

/// A small estate: each server with its tools.
const ESTATE: &[(&str, &str)] = &[
    (
        "forge",
        "graph_lookup | Look up a symbol
         create_ticket | Open a new ticket for a defect
         list_tickets | List the tickets of a project
         merge_change | Merge an approved change into the main line
         search | Search the code",
    ),
    (
        "depot",
        "list_items | List the goods on a shelf
         move_item | Move goods to another shelf
         search | Search the goods",
    ),
    (
        "pantry",
        "list_items | List the goods on a shelf
         search | Search the jars",
    ),
    (
        "mailbox",
        "send_mail | Send a mail to a person
         archive_mail | Put a mail into the archive
         list_folders | List the folders of the mailbox
         draft_mail | Write a mail without sending it
         count_unread | Count the mails that nobody has read",
    ),
    (
        DRIVER,
        "tab_open | Open a page in a new tab
         tab_close | Close a tab
         tab_evaluate | Evaluate a script in a tab
         tab_screenshot | Take a picture of a tab
         tab_cookies | Read the cookies of a tab
         tab_reload | Load the page again
         tab_back | Go back to the page before
         tab_title | Read the title of a tab
         tab_links | List the links of a page
         tab_scroll | Scroll a page
         tab_click | Click an element
         tab_type | Type text into a field
         tab_print | Print a page on paper
         tab_zoom | Make a page larger or smaller
         tab_wait | Wait until a page has loaded",
    ),
];

/// A home in which the estate is registered.
fn estate() -> Home {
    let home = Home::new();
    for (server, text) in ESTATE {
        register(&home, server, &tools(text));
    }
    home
}

/// A client that sees the whole estate.
fn client(home: &Home) -> StdioClient {
    let mut client = home.stdio();
    let count: usize = ESTATE.iter().map(|(_, text)| text.lines().count()).sum();
    wait_until("every server is ready", || {
        let answer = client.search(&json!({ "query": "search" }));
        answer["total_searched"] == count && answer.get("notices").is_none()
    });
    client
}

#[track_caller]
fn check_first(client: &mut StdioClient, query: &str, expected: &str) {
    let answer = client.search(&json!({ "query": query }));
    assert_eq!(names(&answer).first(), Some(&expected), "{query}: {answer}");
}

// D060

#[test]
fn a_tool_whose_name_is_typed_comes_before_two_hundred_wordier_siblings() {
    let home = Home::new();
    let words = "graph lookup of callers, lookup in the graph, graph_lookup for callers";
    for number in 0..5 {
        let siblings: Vec<Value> = (0..40)
            .map(|at| tool(&format!("graph_walk_{at}"), words, &json!({ "type": "object" })))
            .collect();
        register(&home, &format!("walker-{number}"), &siblings);
    }
    register(&home, "forge", &tools("graph_lookup | Finds it"));
    let mut client = home.stdio();
    client.wait_for_tool("forge__graph_lookup");
    for query in [
        "graph_lookup",
        "forge__graph_lookup",
        "GRAPH_LOOKUP",
        "graph lookup",
        "graph-lookup",
        "Forge__Graph_Lookup",
        "use graph_lookup to find callers",
        "please call `graph_lookup`, then report",
    ] {
        check_first(&mut client, query, "forge__graph_lookup");
    }
}

#[test]
fn every_name_of_a_typed_list_is_among_the_results() {
    let home = estate();
    let mut client = client(&home);
    let wanted = [
        "forge__create_ticket",
        "forge__merge_change",
        "depot__move_item",
        "mailbox__draft_mail",
        "mailbox__count_unread",
        "nimbus-cloud-web-driver__tab_cookies",
        "nimbus-cloud-web-driver__tab_print",
    ];
    let query =
        "create_ticket merge_change move_item draft_mail count_unread tab_cookies tab_print";
    let answer = client.search(&json!({ "query": query, "top_k": 10 }));
    for name in wanted {
        assert!(names(&answer).contains(&name), "{name}: {answer}");
    }
}

// D061

#[test]
fn a_name_that_several_servers_have_finds_all_of_them_first_and_in_order() {
    let home = estate();
    let mut client = client(&home);
    let answer = client.search(&json!({ "query": "search", "top_k": 5 }));
    let mut first: Vec<&str> = names(&answer).into_iter().take(3).collect();
    let again = client.search(&json!({ "query": "search", "top_k": 5 }));
    assert_eq!(answer, again);
    first.sort_unstable();
    assert_eq!(first, ["depot__search", "forge__search", "pantry__search"], "{answer}");
    let goods = &answer["tools"].as_array().unwrap()[..3];
    let of = |name: &str| goods.iter().find(|tool| tool["name"] == name).unwrap();
    assert_eq!(of("depot__search")["description"], "Search the goods");
    assert_eq!(of("pantry__search")["description"], "Search the jars");
}

// D062

#[test]
fn the_words_of_a_long_server_name_do_not_outweigh_the_deed() {
    let home = estate();
    let mut client = client(&home);
    let driver = |tool: &str| format!("{DRIVER}__{tool}");
    for (query, expected) in [
        ("nimbus cloud web driver evaluate script", driver("tab_evaluate")),
        ("nimbus-cloud-web-driver take a picture", driver("tab_screenshot")),
        ("nimbus cloud web driver cookies", driver("tab_cookies")),
        ("nimbus cloud web driver archive mail", "mailbox__archive_mail".to_owned()),
        ("forge merge", "forge__merge_change".to_owned()),
    ] {
        check_first(&mut client, query, &expected);
    }
}

#[test]
fn a_server_name_alone_finds_its_tools_and_beside_a_deed_chooses_the_server() {
    let home = estate();
    let mut client = client(&home);
    for (query, server) in [("mailbox", "mailbox"), ("nimbus cloud web driver", DRIVER)] {
        let answer = client.search(&json!({ "query": query }));
        let found = names(&answer);
        assert_eq!(found.len(), 5, "{query}: {answer}");
        let prefix = format!("{server}__");
        assert!(found.iter().all(|name| name.starts_with(&prefix)), "{query}: {found:?}");
    }
    check_first(&mut client, "pantry list items", "pantry__list_items");
    check_first(&mut client, "depot list items", "depot__list_items");
}

// D070

const QUERIES: &[&str] = &[
    "search",
    "list",
    "list the goods",
    "mail",
    "tab",
    "open",
    "page",
    "read",
    "move goods to a shelf",
    "go back",
    "nimbus",
    "merge an approved change",
    "tickets of a project",
    "write without sending",
    "load again",
];

/// The answers to all queries as they are written on the wire.
fn answers(client: &mut StdioClient) -> Vec<String> {
    let texts = QUERIES.iter().map(|query| {
        client.call_text("coffer__search_tools", &json!({ "query": query, "top_k": 10 }))
    });
    texts.collect()
}

#[test]
fn the_same_catalogue_gives_the_same_bytes_after_every_restart() {
    let home = estate();
    let first = answers(&mut client(&home));
    for _ in 0..5 {
        assert_eq!(answers(&mut client(&home)), first);
    }
}

#[test]
fn eight_clients_at_once_get_the_same_answers() {
    let home = estate();
    let mut client = client(&home);
    let expected = answers(&mut client);
    drop(client);
    let gateway = HttpClient::greeted(&home, &[]);
    let ask = |id: usize| -> Vec<String> {
        let asked = QUERIES.iter().map(|query| {
            let arguments = json!({ "query": query, "top_k": 10 });
            let params = json!({ "name": "coffer__search_tools", "arguments": arguments });
            let reply = gateway.post(
                &json!({ "jsonrpc": "2.0", "id": format!("{id} {query}"), "method": "tools/call", "params": params }),
            );
            reply.json()["result"]["content"][0]["text"].as_str().unwrap().to_owned()
        });
        asked.collect()
    };
    wait_until("all servers are connected", || ask(0) == expected);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (1..9).map(|id| scope.spawn(move || ask(id))).collect();
        for client in clients {
            assert_eq!(client.join().unwrap(), expected);
        }
    });
}

#[test]
fn equal_tools_come_in_the_order_of_their_names() {
    let home = Home::new();
    connect(&home, "town", &strangers());
    for server in ["mike", "alpha", "zulu", "kilo"] {
        connect(&home, server, &tools("water_plants | Water the plants of the house"));
    }
    let answer = home.json(&["search", "--json", "water the plants"]);
    let expected =
        ["alpha__water_plants", "kilo__water_plants", "mike__water_plants", "zulu__water_plants"];
    assert_eq!(names(&answer), expected);
}

#[test]
fn the_command_line_ranks_as_the_gateway_does() {
    let home = estate();
    let mut client = client(&home);
    for query in QUERIES {
        let theirs = client.search(&json!({ "query": query, "top_k": 10 }));
        let ours = home.json(&["search", "--json", "-k", "10", query]);
        let ranked = |answer: &Value| -> Vec<(Value, Value)> {
            let tools = answer["tools"].as_array().unwrap();
            tools.iter().map(|tool| (tool["name"].clone(), tool["score"].clone())).collect()
        };
        assert_eq!(ranked(&theirs), ranked(&ours), "{query}");
    }
}

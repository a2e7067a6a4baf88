//! Odd queries and arguments: each gets results or a clear sentence, never a crash.

use serde_json::{Value, json};

use crate::driver::{Home, StdioClient};
use crate::offering::{connect, names, register, strangers, tools};

const KITCHEN: &str = "
    list_pots | List the pots on the stove with their state
    create_recipe | Write a new recipe into the book
    list_recipes | List the recipes of the book, filtered by title
    scale_recipe | Change the number of servings of a recipe
    search_code | Search the code of the oven
    boil_water | Heat water until it boils
    count_eggs | Count the eggs that are left";

fn kitchen() -> (Home, StdioClient) {
    let home = Home::new();
    register(&home, "kitchen", &tools(KITCHEN));
    let mut client = home.stdio();
    client.wait_for_tool("kitchen__list_pots");
    (home, client)
}

/// Searches with arguments as they are; returns the result, which must be there.
#[track_caller]
fn result(client: &mut StdioClient, arguments: &Value) -> Value {
    let answer = client.call("coffer__search_tools", arguments);
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].clone()
}

/// Checks that the search is refused with a sentence that says what to do.
#[track_caller]
fn check_refused(client: &mut StdioClient, arguments: &Value, word: &str) {
    let result = result(client, arguments);
    assert_eq!(result["isError"], true, "{arguments:.200}: {result}");
    let sentence = result["content"][0]["text"].as_str().unwrap();
    assert!(sentence.contains(word), "{arguments:.200}: {sentence}");
}

/// The structured answer, whose scores are numbers and whose next search is good.
#[track_caller]
fn check_answered(client: &mut StdioClient, arguments: &Value) -> Value {
    let result = result(client, arguments);
    assert_eq!(result["isError"], false, "{arguments:.200}: {result}");
    let answer = result["structuredContent"].clone();
    for tool in answer["tools"].as_array().unwrap() {
        assert!(tool["score"].as_f64().is_some_and(f64::is_finite), "{tool}");
    }
    let good = client.search(&json!({ "query": "list pots" }));
    assert_eq!(names(&good).first(), Some(&"kitchen__list_pots"), "after {arguments:.200}");
    answer
}

// D064

#[test]
fn an_empty_query_is_refused_with_an_example() {
    let (_home, mut client) = kitchen();
    for query in ["", "   ", "\t\n", "\u{3000}"] {
        check_refused(&mut client, &json!({ "query": query }), "e.g.");
    }
    check_refused(&mut client, &json!({}), "query");
    let answer = client.request("tools/call", &json!({ "name": "coffer__search_tools" }));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
}

#[test]
fn a_query_without_words_says_so_and_recommends_nothing() {
    let (_home, mut client) = kitchen();
    for query in ["🔥🔥", "!!!", "\u{200b}", "\u{0}", "the and of to", ">>>", "-", "「」"] {
        let answer = check_answered(&mut client, &json!({ "query": query }));
        assert_eq!(answer["confidence"], "none", "{query:?}: {answer}");
        let notices = answer["notices"].to_string();
        assert!(notices.contains("word"), "{query:?}: {answer}");
    }
}

#[test]
fn odd_queries_are_searched_like_any_other() {
    let (_home, mut client) = kitchen();
    for query in ["a", "2024", "<script>alert(1)</script>", "a\u{0}b", "{\"q\": \"list\"}", "é"] {
        check_answered(&mut client, &json!({ "query": query }));
    }
    let answer = check_answered(&mut client, &json!({ "query": "🔥 list pots" }));
    assert_eq!(names(&answer)[0], "kitchen__list_pots");
}

// D065

#[test]
fn gibberish_finds_nothing_and_is_told_apart_from_a_request_in_other_words() {
    let (_home, mut client) = kitchen();
    let score = |answer: &Value| answer["tools"][0]["score"].as_f64().unwrap_or_default();
    let requests = ["heat the water", "write a recipe", "how many eggs are left"];
    let weakest = requests
        .map(|query| {
            let answer = check_answered(&mut client, &json!({ "query": query }));
            assert_ne!(answer["confidence"], "none", "{query}: {answer}");
            score(&answer)
        })
        .into_iter()
        .fold(f64::MAX, f64::min);
    for query in ["asdfghjkl", "petrichor", "qwxz flurb", "ichthyology", "zzzzzz"] {
        let answer = check_answered(&mut client, &json!({ "query": query }));
        assert_eq!(answer["confidence"], "none", "{query}: {answer}");
        assert!(names(&answer).len() <= 3, "{query}: {answer}");
        assert!(score(&answer) < weakest, "{query}: {answer}");
        assert!(answer["notices"].to_string().contains(query), "{query}: {answer}");
    }
}

#[test]
fn a_request_that_most_tools_fit_is_not_told_that_nothing_fits() {
    let home = Home::new();
    let many: String = (0..30).map(|at| format!("fold_{at} | Fold a sheet of paper\n")).collect();
    connect(&home, "paper", &tools(&many));
    for query in ["fold a sheet of paper", "fold a sheet", "fold paper"] {
        let answer = home.json(&["search", "--json", query]);
        assert_ne!(answer["confidence"], "none", "{query}: {answer}");
        assert_eq!(names(&answer).len(), 5, "{query}: {answer}");
    }
}

// D066

#[test]
fn a_whole_number_of_results_is_brought_into_range_however_it_is_written() {
    let home = Home::new();
    let many: String = (0..30).map(|at| format!("fold_{at} | Fold a sheet of paper\n")).collect();
    register(&home, "paper", &tools(&many));
    register(&home, "town", &strangers());
    let mut client = home.stdio();
    client.wait_for_tool("paper__fold_0");
    client.wait_for_tool("town__paint_lamp");
    for (given, expected) in [
        (json!(0), 1),
        (json!(-1), 1),
        (json!(-5), 1),
        (json!(1), 1),
        (json!(20), 20),
        (json!(21), 20),
        (json!(1_000_000_000), 20),
        (json!(2_147_483_648_u64), 20),
        (json!(5.0), 5),
        (json!("5"), 5),
        (Value::Null, 5),
    ] {
        let answer = client.search(&json!({ "query": "fold a sheet", "top_k": given }));
        assert_eq!(names(&answer).len(), expected, "{given}: {answer}");
    }
    for refused in [json!(5.5), json!("abc"), json!([5]), json!(true), json!({})] {
        let arguments = json!({ "query": "fold a sheet", "top_k": refused });
        check_refused(&mut client, &arguments, "top_k");
    }
    let answer = client.search(&json!({ "query": "fold a sheet", "colour": "red" }));
    assert_eq!(names(&answer).len(), 5, "unknown members are passed over");
}

#[test]
fn the_command_line_has_the_same_rule_for_the_number_of_results() {
    let home = Home::new();
    let many: String = (0..30).map(|at| format!("fold_{at} | Fold a sheet of paper\n")).collect();
    connect(&home, "paper", &tools(&many));
    connect(&home, "town", &strangers());
    for (given, expected) in [("0", 1), ("-5", 1), ("7", 7), ("21", 20), ("5.0", 5)] {
        let answer = home.json(&["search", "--json", "-k", given, "fold", "a", "sheet"]);
        assert_eq!(names(&answer).len(), expected, "{given}");
    }
    for refused in ["5.5", "abc"] {
        let outcome = home.run(&["search", "-k", refused, "fold"]);
        assert_eq!(outcome.code, 5, "{outcome:?}");
        assert!(outcome.stderr.contains("top_k"), "{outcome:?}");
    }
}

#[test]
fn the_schema_says_what_the_search_keeps_to() {
    let (_home, mut client) = kitchen();
    let tools = client.tools();
    let schema = &tools[0]["inputSchema"];
    assert_eq!(tools[0]["name"], "coffer__search_tools");
    let top_k = &schema["properties"]["top_k"];
    assert_eq!((&top_k["type"], &top_k["minimum"]), (&json!("integer"), &json!(1)));
    assert_eq!(top_k["maximum"], 20);
    assert_eq!(schema["required"], json!(["query"]));
}

#[test]
fn a_query_of_another_type_is_refused() {
    let (_home, mut client) = kitchen();
    for query in [json!(5), Value::Null, json!(["list"]), json!({ "q": "x" }), json!(true)] {
        check_refused(&mut client, &json!({ "query": query }), "query");
    }
}

#[test]
fn a_huge_query_is_answered_in_bounded_time() {
    let (_home, mut client) = kitchen();
    let repeated = "list pots ".repeat(100_000);
    let distinct: String = (0..10_000).map(|number| format!("w{number} ")).collect();
    let unbroken = "x".repeat(1_000_000);
    for query in [&repeated, &distinct, &unbroken] {
        let begin = std::time::Instant::now();
        let answer = check_answered(&mut client, &json!({ "query": query }));
        assert!(begin.elapsed().as_secs() < 3, "{:?}", begin.elapsed());
        assert!(answer.to_string().len() < 24_000, "the answer repeats the query");
    }
}

// D072

#[test]
fn query_syntax_is_plain_words() {
    let (_home, mut client) = kitchen();
    for (odd, plain) in [
        ("list recipes for book:owner/name", "list recipes for book owner name"),
        ("-list recipes", "list recipes"),
        ("list -recipes", "list recipes"),
        ("\"count eggs", "count eggs"),
        ("(list+pots)", "list pots"),
        ("https://example.org/recipes?list=pots", "https example org recipes list pots"),
        ("list AND OR NOT pots", "list and or not pots"),
        ("title:*", "title"),
        ("recipes~2^5", "recipes 2 5"),
        ("boil\\water", "boil water"),
        ("NEAR(boil, water)", "near boil water"),
        ("list* pots?", "list pots"),
        ("[list TO pots]", "list to pots"),
    ] {
        let odd_answer = check_answered(&mut client, &json!({ "query": odd }));
        let plain_answer = check_answered(&mut client, &json!({ "query": plain }));
        assert_eq!(odd_answer["tools"], plain_answer["tools"], "{odd}");
        assert_eq!(odd_answer["confidence"], plain_answer["confidence"], "{odd}");
    }
    for query in ["-v flag", "AND OR NOT", "C++", ">>> eggs", "a\\b", "' OR 1=1 --"] {
        check_answered(&mut client, &json!({ "query": query }));
    }
}

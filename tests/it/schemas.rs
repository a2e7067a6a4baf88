//! Schemas: passed through as they are, and the bad ones kept from harming the good (D005 to
//! D009).

use serde_json::{Value, json};

use crate::driver::{Home, HttpClient, wait_until};
use crate::opaque::{BAD, REFERRING, UNUSUAL, page};
use crate::pages::{call, connect, raw_answer, register, row};

fn names(report: &Value) -> Vec<&str> {
    report["tools"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

// D005

#[test]
fn a_schema_with_references_is_listed_and_found_as_it_was_written() {
    let home = Home::new();
    register(&home, "zoo", &[&page(REFERRING)]);
    connect(&home, "zoo");
    let mut client = home.stdio();
    for (name, definition) in REFERRING {
        let sent: Value = serde_json::from_str(definition).unwrap();
        let tools = client.tools();
        let exposed = format!("zoo__{name}");
        let listed = tools.iter().find(|tool| tool["name"] == exposed).unwrap();
        let found = client.search(&json!({ "query": exposed, "top_k": 1 }));
        for member in ["inputSchema", "outputSchema"] {
            assert_eq!(listed[member], sent[member], "{name}");
        }
        assert_eq!(found["tools"][0]["name"], exposed, "{found}");
        assert_eq!(found["tools"][0]["inputSchema"], sent["inputSchema"], "{found}");
        assert_eq!(call(&mut client, &exposed, &json!({}))["tool"], *name);
    }
    assert_eq!(row(&home, "zoo")["tools"], REFERRING.len());
}

// D006

#[test]
fn every_keyword_and_number_of_a_schema_survives_to_the_byte() {
    let home = Home::new();
    register(&home, "zoo", &[&page(UNUSUAL)]);
    connect(&home, "zoo");
    let mut client = home.stdio();
    let listing = client.ask("tools/list", &json!({}));
    let listing = raw_answer(&mut client, listing);
    for (name, definition) in UNUSUAL {
        // Everything but the name, which has the server's before it.
        let rest = definition.split_once(',').unwrap().1;
        assert!(listing.contains(rest), "{name}: {listing}");
        let schema = rest.strip_prefix("\"inputSchema\":").unwrap().strip_suffix('}').unwrap();
        let arguments = json!({ "query": format!("zoo__{name}"), "top_k": 1 });
        let params = json!({ "name": "coffer__search_tools", "arguments": arguments });
        let found = client.ask("tools/call", &params);
        let found = raw_answer(&mut client, found);
        assert!(found.contains(schema), "{name}: {found}");
    }
}

#[test]
fn every_member_of_a_definition_survives_and_the_right_name_is_changed() {
    let before = r#"{"annotations":{"name":"not this","title":"T"},"description":"says \"name\": \"x\"", "x-new":{"name":["nor this"]},"#;
    let after = r#","inputSchema":{"type":"object","properties":{"name":{"type":"string"}}},"icons":[{"src":"data:,"}],"_meta":{"a.b/c":1e400},"execution":{"taskSupport":"optional"}}"#;
    let definition = format!(r#"{before}"name":"odd\u0031"{after}"#);
    let home = Home::new();
    register(&home, "zoo", &[&page(&[("odd1", &definition)])]);
    connect(&home, "zoo");
    let mut client = home.stdio();
    let listing = client.ask("tools/list", &json!({}));
    let listing = raw_answer(&mut client, listing);
    assert!(listing.contains(&format!(r#"{before}"name":"zoo__odd1"{after}"#)), "{listing}");
    assert_eq!(call(&mut client, "zoo__odd1", &json!({}))["tool"], "odd1");
}

// D007

#[test]
fn a_combinator_at_the_root_is_told_and_can_be_switched_off() {
    let pick = r#"{"type":"object","properties":{"a":{},"b":{}},"oneOf":[{"required":["a"]},{"required":["b"]}]}"#;
    let pick_tool = format!(r#"{{"name":"pick","inputSchema":{pick}}}"#);
    let home = Home::new();
    let tools = [
        ("good", r#"{"name":"good","inputSchema":{"type":"object"}}"#),
        ("pick", pick_tool.as_str()),
        (
            "either",
            r#"{"name":"either","inputSchema":{"anyOf":[{"type":"object"},{"type":"object"}]}}"#,
        ),
    ];
    register(&home, "zoo", &[&page(&tools)]);
    let report = connect(&home, "zoo");
    for told in [report["remarks"].to_string(), row(&home, "zoo")["remarks"].to_string()] {
        assert!(told.contains("`zoo__pick`") && told.contains("oneOf"), "{told}");
        assert!(told.contains("`zoo__either`"), "{told}");
    }
    assert!(home.ok(&["list"]).stdout.contains("remark"));
    let mut client = home.stdio();
    for name in ["good", "pick", "either"] {
        let came_to = call(&mut client, &format!("zoo__{name}"), &json!({ "a": 1 }));
        assert_eq!(came_to["tool"], name, "{came_to}");
    }
    let tools = client.tools();
    let listed = tools.iter().find(|tool| tool["name"] == "zoo__pick").unwrap();
    assert_eq!(
        listed["inputSchema"].to_string(),
        serde_json::from_str::<Value>(pick).unwrap().to_string()
    );
    home.ok(&["disable", "zoo__pick"]);
    wait_until("it is no longer listed", || !client.tool_names().contains(&"zoo__pick".to_owned()));
    assert!(client.tool_names().contains(&"zoo__good".to_owned()));
    assert_eq!(client.call("zoo__pick", &json!({ "a": 1 }))["error"]["code"], -32000);
}

// D008

#[test]
fn a_bad_schema_costs_its_own_tool_alone_and_is_named_with_the_reason() {
    let home = Home::new();
    register(&home, "zoo", &[&page(BAD)]);
    let report = connect(&home, "zoo");
    assert!(names(&report).contains(&"zoo__good"), "{report}");
    let mut client = home.stdio();
    let tools = client.tools();
    for tool in &tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }
    assert!(tools.iter().any(|tool| tool["name"] == "zoo__good"), "{tools:?}");
    assert_eq!(call(&mut client, "zoo__good", &json!({}))["tool"], "good");
    let remarks = row(&home, "zoo")["remarks"].clone();
    for (name, _) in BAD.iter().filter(|(name, _)| *name != "good") {
        let told = |remark: &&Value| {
            let remark = remark.as_str().unwrap();
            if *name == "nameless" {
                remark.contains("`name`")
            } else {
                remark.contains(&format!("`zoo__{name}`")) && remark.contains("chema")
            }
        };
        let count = remarks.as_array().unwrap().iter().filter(told).count();
        assert!(count >= 1, "{name} is not told: {remarks}");
    }
}

#[test]
fn a_server_that_has_only_bad_tools_is_not_healthy_without_a_word() {
    let home = Home::new();
    register(&home, "zoo", &[r#"[{"name":"empty","inputSchema":{}},{"name":"none"}]"#]);
    connect(&home, "zoo");
    assert_eq!(row(&home, "zoo")["tools"], 0);
    let table = home.ok(&["list"]).stdout;
    assert!(table.contains("2 remarks"), "{table}");
    let shown = home.ok(&["show", "zoo"]).stdout;
    assert!(shown.contains("`zoo__empty`") && shown.contains("`zoo__none`"), "{shown}");
}

#[test]
fn entries_that_are_no_tools_cost_no_good_one() {
    let home = Home::new();
    let good = r#"{"name":"good","inputSchema":{"type":"object"}}"#;
    register(&home, "zoo", &[&format!(r#"[null,7,"x",[],{{}},{good}]"#)]);
    let report = connect(&home, "zoo");
    assert_eq!(names(&report), ["zoo__good"], "{report}");
    assert!(report["remarks"].as_array().unwrap().len() >= 5, "{report}");
}

#[test]
fn a_list_that_is_no_list_is_told() {
    for page in ["{}", "7", "\"x\""] {
        let home = Home::with_settings("start-timeout-seconds = 5\nlist-timeout-seconds = 2\n");
        register(&home, "zoo", &[page]);
        let outcome = home.run(&["test", "zoo"]);
        assert!(outcome.stderr.contains("list of tools"), "{page}: {outcome:?}");
        let row = row(&home, "zoo");
        let told = [row["error"].to_string(), row["remarks"].to_string()].concat();
        assert!(told.contains("list of tools"), "{page}: {row}");
    }
}

#[test]
fn a_list_of_null_is_an_empty_list() {
    let home = Home::new();
    register(&home, "zoo", &["null"]);
    let report = connect(&home, "zoo");
    assert!(report["error"].is_null() && report["remarks"] == json!([]), "{report}");
    assert_eq!(
        (&row(&home, "zoo")["state"], &row(&home, "zoo")["tools"]),
        (&json!("ok"), &json!(0))
    );
}

// D009

/// Strict clients refuse a whole list for any of these.
#[track_caller]
fn check_schema(schema: &Value, path: &str) {
    let Some(members) = schema.as_object() else { panic!("{path} is {schema}") };
    for refused in ["$ref", "$defs", "definitions"] {
        assert!(!members.contains_key(refused), "{path} has {refused}");
    }
    let format = members.get("format").and_then(Value::as_str).unwrap_or_default();
    assert!(!format.contains("int") && !["double", "float"].contains(&format), "{path}: {format}");
    for (name, property) in
        members.get("properties").and_then(Value::as_object).into_iter().flatten()
    {
        check_schema(property, &format!("{path}.{name}"));
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner_schema) = members.get(inner).filter(|schema| !schema.is_boolean()) {
            check_schema(inner_schema, &format!("{path}.{inner}"));
        }
    }
}

#[track_caller]
fn check_own(tools: &[Value]) {
    let own = tools.iter().filter(|tool| tool["name"].as_str().unwrap().starts_with("coffer__"));
    let mut count = 0;
    for tool in own {
        count += 1;
        for member in ["inputSchema", "outputSchema"] {
            let Some(schema) = tool.get(member) else { continue };
            let path = format!("{}.{member}", tool["name"]);
            assert_eq!(schema["type"], "object", "{path}");
            for combinator in ["anyOf", "oneOf", "allOf"] {
                assert!(schema.get(combinator).is_none(), "{path} has {combinator}");
            }
            check_schema(schema, &path);
        }
    }
    assert!(count >= 1, "{tools:?}");
}

#[test]
fn the_gateways_own_schemas_are_plain_with_and_without_servers() {
    let home = Home::new();
    let mut client = HttpClient::greeted(&home, &[]);
    let listed = |client: &mut HttpClient| {
        let answer = client.request("tools/list", &json!({}));
        answer["result"]["tools"].as_array().unwrap().clone()
    };
    check_own(&listed(&mut client));
    register(&home, "zoo", &[&page(REFERRING)]);
    wait_until("the server is there", || listed(&mut client).len() > REFERRING.len());
    check_own(&listed(&mut client));
    assert_eq!(client.terminate(), 0);
}

//! The server as a client sees it, over an in-memory pipe, and what it leaves on the disk.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::path::PathBuf;

use rmcp::RoleClient;
use rmcp::RoleServer;
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::model::CallToolResult;
use rmcp::model::GetPromptRequestParams;
use rmcp::model::ReadResourceRequestParams;
use rmcp::service::RunningService;
use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;

use crate::example_server::ExampleServer;

struct Session {
    client: RunningService<RoleClient, ()>,
    /// Kept, because a server stops when it is dropped.
    _server: RunningService<RoleServer, ExampleServer>,
    folder: TempDir,
}

impl Session {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = ExampleServer::open(&folder.path().join("example")).unwrap();
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (server, client) = tokio::join!(server.serve(far), ().serve(near));
        Self { client: client.unwrap(), _server: server.unwrap(), folder }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join("example").join(relative)
    }

    async fn call(&self, tool: &str, arguments: Value) -> CallToolResult {
        let arguments = arguments.as_object().unwrap().clone();
        let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        self.client.call_tool(request).await.unwrap()
    }

    /// The structured result of a call that must succeed.
    async fn answer(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments).await;
        assert_ne!(result.is_error, Some(true), "{result:?}");
        result.structured_content.unwrap()
    }

    /// The text of a call that must fail inside its result.
    async fn failure(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert_eq!(result.is_error, Some(true), "{result:?}");
        text_of(&result)
    }
}

fn text_of(result: &CallToolResult) -> String {
    result
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .map(|text| text.text.as_str())
        .collect()
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn every_tool_is_described_annotated_and_plain_for_strict_clients() {
    let session = Session::start().await;
    let tools = session.client.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(
        names.join(" "),
        "append_row calculate change_case convert_time count_words current_time days_between \
         delete_note describe_table list_notes list_tables list_users query_table read_note \
         replace_text search_notes statistics text_diff write_note"
    );
    for tool in &tools {
        assert!(tool.title.is_some() && tool.description.is_some(), "{}", tool.name);
        let annotations = tool.annotations.as_ref().unwrap();
        assert!(annotations.read_only_hint.is_some() && annotations.idempotent_hint.is_some());
        assert!(annotations.read_only_hint == Some(true) || annotations.destructive_hint.is_some());
        let input = Value::Object((*tool.input_schema).clone());
        assert_eq!(input["type"], "object", "{}", tool.name);
        check_schema(&tool.name, &input);
        for (name, property) in input["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{}.{name}", tool.name);
        }
        match &tool.output_schema {
            Some(output) => check_schema(&tool.name, &Value::Object((**output).clone())),
            None => assert!(matches!(tool.name.as_ref(), "read_note" | "change_case")),
        }
    }
}

/// Checks a schema and all below it for what strict clients refuse.
#[track_caller]
fn check_schema(tool: &str, schema: &Value) {
    let object = schema.as_object().unwrap_or_else(|| panic!("{tool}: {schema} is no object"));
    for refused in ["$ref", "$defs", "$schema", "format", "anyOf", "oneOf", "allOf", "not"] {
        assert!(!object.contains_key(refused), "{tool}: {refused} in {schema}");
    }
    assert!(schema["type"].is_string(), "{tool}: {schema} has not one type");
    if let Some(properties) = schema["properties"].as_object() {
        properties.values().for_each(|property| check_schema(tool, property));
    }
    for key in ["items", "additionalProperties"] {
        if let Some(nested) = object.get(key) {
            check_schema(tool, nested);
        }
    }
}

#[tokio::test]
async fn a_note_can_be_written_once_found_and_deleted() {
    let session = Session::start().await;
    let note = json!({ "name": "plan", "text": "# Plan\nbuy a kettle" });
    assert_eq!(session.answer("write_note", note.clone()).await["replaced"], false);
    let failure = session.failure("write_note", note).await;
    assert!(failure.starts_with("The note `plan` exists already. Choose"), "{failure}");
    let again = json!({ "name": "plan", "text": "# Plan\nbuy a Kettle", "overwrite": true });
    assert_eq!(session.answer("write_note", again).await["replaced"], true);
    let found = session.answer("search_notes", json!({ "query": "kettle" })).await;
    assert_eq!(
        found,
        json!({ "matches": [{ "note": "plan", "line": 2, "text": "buy a Kettle" }], "total": 1 })
    );
    session.answer("delete_note", json!({ "name": "plan" })).await;
    let failure = session.failure("read_note", json!({ "name": "plan" })).await;
    assert_eq!(failure, "There is no note `plan`. Use one of: packing, reading-list, welcome.");
}

#[tokio::test]
async fn a_row_appended_to_a_table_is_found_by_a_query() {
    let session = Session::start().await;
    let values = json!({ "date": "2025-02-01", "category": "Food", "what": "figs", "amount": 7 });
    let row = json!({ "name": "expenses", "values": values });
    assert_eq!(session.answer("append_row", row).await["rows"], 11);
    let question = json!({
        "name": "expenses",
        "filters": [
            { "column": "category", "op": "equals", "value": "food" },
            { "column": "amount", "op": "less_than", "value": 40 }
        ],
        "sort_by": "amount",
        "columns": ["what", "amount"],
        "limit": 2
    });
    let answer = session.answer("query_table", question).await;
    let rows = json!([["figs", "7"], ["bread, cheese, apples", "16.75"]]);
    assert_eq!(answer, json!({ "columns": ["what", "amount"], "rows": rows, "matched": 3 }));
}

#[tokio::test]
async fn all_users_come_at_once_as_data_and_as_text() {
    let session = Session::start().await;
    let result = session.call("list_users", json!({})).await;
    let data = result.structured_content.clone().unwrap();
    assert_eq!(data["total"], 10_000);
    assert_eq!(data["users"].as_array().unwrap().len(), 10_000);
    assert_eq!(serde_json::from_str::<Value>(&text_of(&result)).unwrap(), data);
    let window = session.answer("list_users", json!({ "offset": 9_998, "limit": 5 })).await;
    assert_eq!(window["users"].as_array().unwrap().len(), 2);
    let failure = session.failure("list_users", json!({ "city": "Atlantis" })).await;
    assert!(failure.starts_with("No user lives in `Atlantis`. Use one of: Amsterdam"), "{failure}");
}

#[tokio::test]
async fn failures_and_wrong_arguments_come_inside_the_result() {
    let session = Session::start().await;
    let failure = session.failure("calculate", json!({ "expression": "1 / 0" })).await;
    assert_eq!(failure, "Division by zero at position 3. Change the divisor.");
    let failure = session.failure("read_note", json!({ "name": "../secret" })).await;
    assert!(failure.contains("for example `secret`"), "{failure}");
    let failure = session.failure("calculate", json!({ "formula": "1" })).await;
    assert!(failure.contains("unknown field `formula`, expected `expression`"), "{failure}");
}

#[tokio::test]
async fn notes_and_tables_are_resources_and_fill_prompts() {
    let session = Session::start().await;
    let resources = session.client.list_all_resources().await.unwrap();
    let addresses: Vec<&str> = resources.iter().map(|resource| resource.uri.as_str()).collect();
    assert_eq!(
        addresses.join(" "),
        "note://packing note://reading-list note://welcome table://books table://expenses"
    );
    let templates = session.client.list_all_resource_templates().await.unwrap();
    assert_eq!(templates[0].uri_template, "note://{name}");
    let request = ReadResourceRequestParams::new("note://packing");
    let contents = session.client.read_resource(request).await.unwrap();
    assert!(json!(contents)["contents"][0]["text"].as_str().unwrap().starts_with("# Packing"));
    for uri in ["note://../../etc/passwd", "note://none", "file:///etc/passwd"] {
        let request = ReadResourceRequestParams::new(uri);
        assert!(session.client.read_resource(request).await.is_err(), "{uri}");
    }
    let arguments = json!({ "name": "packing" }).as_object().unwrap().clone();
    let request = GetPromptRequestParams::new("summarise_note").with_arguments(arguments);
    let prompt = json!(session.client.get_prompt(request).await.unwrap());
    assert!(prompt["messages"][0]["content"]["text"].as_str().unwrap().contains("binoculars"));
    let prompts = json!(session.client.list_all_prompts().await.unwrap());
    assert!(prompts[1]["arguments"][0]["description"].is_string(), "{prompts}");
}

#[tokio::test]
async fn links_are_neither_read_nor_written_nor_listed() {
    let session = Session::start().await;
    let outside = session.folder.path().join("outside.md");
    fs::write(&outside, "secret").unwrap();
    symlink(&outside, session.path("notes/link.md")).unwrap();
    for (tool, arguments) in [
        ("read_note", json!({ "name": "link" })),
        ("delete_note", json!({ "name": "link" })),
        ("write_note", json!({ "name": "link", "text": "x", "overwrite": true })),
    ] {
        let failure = session.failure(tool, arguments).await;
        assert!(failure.starts_with("`link` is a link"), "{failure}");
    }
    assert_eq!(session.answer("list_notes", json!({})).await["total"], 3);
    assert_eq!(fs::read_to_string(outside).unwrap(), "secret");
}

#[tokio::test]
async fn files_are_private_whole_and_seeded_only_once() {
    let session = Session::start().await;
    assert_eq!(mode_of(&session.path("")), 0o700);
    assert_eq!(mode_of(&session.path("tables")), 0o700);
    assert_eq!(mode_of(&session.path("notes/welcome.md")), 0o600);
    session.answer("delete_note", json!({ "name": "welcome" })).await;
    ExampleServer::open(&session.path("")).unwrap();
    let files: Vec<String> = fs::read_dir(session.path("notes"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(files.len(), 2, "no draft and no second seed: {files:?}");
}

#[test]
fn a_folder_whose_notes_are_a_link_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    symlink("/tmp", folder.path().join("notes")).unwrap();
    let error = ExampleServer::open(folder.path()).unwrap_err();
    assert_eq!(error.to_string(), "`notes` is a link or no plain file or folder");
}

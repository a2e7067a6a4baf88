//! What Coffer's own tools say of themselves. Written for a model that sees
//! nothing else; the same servers give the same bytes.

use std::fmt::Write;
use std::sync::Arc;

use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// The name of the search tool behind Coffer's prefix.
pub const SEARCH_TOOLS: &str = "search_tools";

/// Characters of the description that server names may take.
const MOST_OF_SERVERS: usize = 500;

/// The definitions of all built-in tools as JSON, given the names of the servers.
pub fn definitions(servers: &[&str]) -> Vec<String> {
    let tools = [search_tools(servers)];
    tools.iter().filter_map(|tool| serde_json::to_string(tool).ok()).collect()
}

fn search_tools(servers: &[&str]) -> Tool {
    let mut description = String::from(
        "Finds tools among all connected MCP servers by what they do. Use it first whenever a task \
         needs a tool that you do not see, before you say that there is none or fall back to a \
         shell. Say in a few words what has to be done, e.g. \"create a pull request\"; a tool name \
         works too. The answer holds complete definitions, best first: call a tool by the exact \
         `name` given there. `confidence` \"none\" means that nothing here fits.",
    );
    if !servers.is_empty() {
        description.push_str(" Connected servers: ");
        description.push_str(&some_of(servers));
    }
    Tool::new("coffer__search_tools", description, object(input_schema()))
        .with_title("Search tools")
        .with_raw_output_schema(object(output_schema()))
        .with_annotations(
            ToolAnnotations::new()
                .read_only(true)
                .destructive(false)
                .idempotent(true)
                .open_world(false),
        )
        .with_meta(MetaObject(map(json!({
            "anthropic/alwaysLoad": true,
            "anthropic/searchHint": "find a tool for the task among all connected MCP servers"
        }))))
}

/// The names in order, as many as fit, and how many more there are.
fn some_of(servers: &[&str]) -> String {
    let mut text = String::new();
    for (position, name) in servers.iter().enumerate() {
        if text.len() + name.len() > MOST_OF_SERVERS {
            // Writing to a string cannot fail.
            let _infallible = write!(text, " and {} more", servers.len() - position);
            break;
        }
        if position > 0 {
            text.push_str(", ");
        }
        text.push_str(name);
    }
    text.push('.');
    text
}

fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "What has to be done, in a few words of any language, or a tool's name."
            },
            "top_k": {
                "type": "integer",
                "minimum": 1,
                "maximum": 20,
                "default": 5,
                "description": "How many tools to return."
            },
            "servers": {
                "type": "array",
                "items": { "type": "string" },
                "description": "Search only these servers."
            },
            "tags": {
                "type": "array",
                "items": { "type": "string" },
                "description": "Search only servers of these categories."
            },
            "detail": {
                "type": "string",
                "enum": ["schema", "name"],
                "default": "schema",
                "description": "\"schema\" returns complete definitions, \"name\" only names and descriptions."
            }
        },
        "required": ["query"]
    })
}

fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "tools": {
                "type": "array",
                "description": "The tools found, best first.",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": { "type": "string", "description": "Call the tool by this name." },
                        "description": { "type": "string" },
                        "inputSchema": { "type": "object", "description": "JSON schema of its arguments." },
                        "score": { "type": "number", "description": "Higher is better; comparable within one answer only." },
                        "status": { "type": "string", "enum": ["ready", "cold", "stale", "unavailable"] }
                    },
                    "required": ["name", "description", "score", "status"]
                }
            },
            "total_searched": { "type": "integer", "description": "How many tools were ranked." },
            "ranker": { "type": "string", "enum": ["hybrid", "bm25"] },
            "confidence": { "type": "string", "enum": ["high", "low", "none"] },
            "notices": { "type": "array", "items": { "type": "string" } }
        },
        "required": ["tools", "total_searched", "ranker", "confidence"]
    })
}

fn object(schema: Value) -> Arc<JsonObject> {
    Arc::new(map(schema))
}

fn map(value: Value) -> JsonObject {
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            JsonObject::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Value, definitions};

    /// Strict clients refuse a whole list for any of these.
    fn check_schema(schema: &Value, path: &str) {
        assert!(schema.is_object(), "{path} is no object schema");
        assert!(schema.get("$ref").is_none(), "{path} has a reference");
        let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
        assert!(!format.contains("int"), "{path} has format {format}");
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            check_schema(property, &format!("{path}.{name}"));
        }
        if let Some(items) = schema.get("items") {
            check_schema(items, &format!("{path}[]"));
        }
    }

    #[test]
    fn own_definitions_are_plain_enough_for_every_client() {
        let many: Vec<String> = (0..200).map(|number| format!("server-{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for servers in [&[][..], &["github"][..], &many[..]] {
            for definition in definitions(servers) {
                let tool: Value = serde_json::from_str(&definition).unwrap();
                for member in ["inputSchema", "outputSchema"] {
                    assert_eq!(tool[member]["type"], "object");
                    for combinator in ["anyOf", "oneOf", "allOf"] {
                        assert!(tool[member].get(combinator).is_none());
                    }
                    check_schema(&tool[member], member);
                }
                let length = tool["description"].as_str().unwrap().len();
                assert!(length < 1_500, "{length}");
                assert_eq!(definitions(servers)[0], definition);
            }
        }
        assert!(definitions(&many)[0].contains(" more."));
        assert!(definitions(&["github"])[0].contains("Connected servers: github."));
    }
}

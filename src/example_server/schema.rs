//! Makes the generated JSON schemas plain enough for clients that know little of JSON Schema.

use rmcp::model::JsonObject;
use serde_json::Value;

/// Writes a schema without what strict clients refuse and plain ones misread.
///
/// Left out are `$schema`, formats of Rust's number types, boolean `additionalProperties`, and the
/// `null` that an optional value brings along: such a value is not required, which says enough.
pub(crate) fn for_strict_clients(schema: &JsonObject) -> JsonObject {
    let mut plain = JsonObject::new();
    for (key, value) in schema {
        match (key.as_str(), value) {
            ("$schema" | "format", _)
            | ("default", Value::Null)
            | ("additionalProperties", Value::Bool(_)) => {}
            // Documentation is wrapped for the source file, not for the reader of the schema.
            ("description", Value::String(text)) => {
                plain.insert(key.clone(), Value::String(text.replace('\n', " ")));
            }
            ("type", Value::Array(types)) => {
                plain.insert(key.clone(), single(types).unwrap_or(value).clone());
            }
            ("enum", Value::Array(values)) => {
                let values = values.iter().filter(|value| !value.is_null()).cloned();
                plain.insert(key.clone(), values.collect());
            }
            ("anyOf", Value::Array(choices)) => match single_choice(choices) {
                Some(choice) => plain.extend(for_strict_clients(choice)),
                None => {
                    plain.insert(key.clone(), value.clone());
                }
            },
            ("properties", Value::Object(properties)) => {
                let properties = properties.iter();
                let cleaned = properties.map(|(name, schema)| (name.clone(), clean(schema)));
                plain.insert(key.clone(), Value::Object(cleaned.collect()));
            }
            ("items" | "additionalProperties", nested) => {
                plain.insert(key.clone(), clean(nested));
            }
            _ => {
                plain.insert(key.clone(), value.clone());
            }
        }
    }
    plain
}

fn clean(schema: &Value) -> Value {
    match schema.as_object() {
        Some(object) => Value::Object(for_strict_clients(object)),
        None => schema.clone(),
    }
}

/// The one type beside `null`.
fn single(types: &[Value]) -> Option<&Value> {
    let mut others = types.iter().filter(|name| name.as_str() != Some("null"));
    others.next().filter(|_| others.next().is_none())
}

/// The one schema beside that of `null`.
fn single_choice(choices: &[Value]) -> Option<&JsonObject> {
    let is_null = |choice: &&Value| choice.get("type").and_then(Value::as_str) == Some("null");
    let mut others = choices.iter().filter(|choice| !is_null(choice));
    others.next().filter(|_| others.next().is_none()).and_then(Value::as_object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_optional_number_becomes_a_plain_integer() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "limit": {
                    "description": "Most\nrows",
                    "type": ["integer", "null"],
                    "format": "uint32",
                    "minimum": 0,
                    "default": null
                },
                "format": { "anyOf": [{ "type": "string", "enum": ["a"] }, { "type": "null" }] }
            },
            "additionalProperties": false
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "limit": { "description": "Most rows", "type": "integer", "minimum": 0 },
                "format": { "type": "string", "enum": ["a"] }
            }
        });
        assert_eq!(clean(&schema), expected);
    }
}

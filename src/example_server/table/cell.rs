//! One value of a table as a model may write it.

use rmcp::schemars;
use rmcp::schemars::JsonSchema;
use serde::Deserialize;
use serde::Deserializer;
use serde::de::Error as _;
use serde_json::Value;

/// Text of a cell.
// Models write `1972` for `"1972"` often enough, so a number or a truth value is taken as its
// text. The schema promises a string only, because some clients allow one type a value.
#[derive(Clone, Debug, Eq, JsonSchema, PartialEq)]
#[schemars(inline, transparent)]
pub(crate) struct Cell(pub(crate) String);

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self(text)),
            Value::Number(number) => Ok(Self(number.to_string())),
            Value::Bool(truth) => Ok(Self(truth.to_string())),
            Value::Null => Ok(Self(String::new())),
            Value::Array(_) | Value::Object(_) => {
                Err(D::Error::custom("a value of a table is text or a number"))
            }
        }
    }
}

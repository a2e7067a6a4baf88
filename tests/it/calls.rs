//! What most tests of calls need: a gateway that knows a tool, and the text of an answer.

use serde_json::{Value, json};

use crate::driver::{Home, HttpClient, wait_until};

/// The text of a tool's result.
#[track_caller]
pub(crate) fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// The text of a failure that the gateway made itself, which has to be of this class.
#[track_caller]
pub(crate) fn failure<'a>(answer: &'a Value, class: &str) -> &'a str {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(answer["result"]["_meta"]["coffer/error"], class, "{answer}");
    text(answer)
}

/// A greeted client over HTTP whose gateway has listed a tool.
#[track_caller]
pub(crate) fn serving(home: &Home, tool: &str) -> HttpClient {
    let mut client = HttpClient::greeted(home, &[]);
    wait_until(&format!("`{tool}` is listed"), || {
        let answer = client.request("tools/list", &json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap();
        tools.iter().any(|listed| listed["name"] == tool)
    });
    client
}

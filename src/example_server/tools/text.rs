//! Tools that count, replace, rewrite and compare text.

use rmcp::handler::server::wrapper::Json;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::schemars;
use rmcp::schemars::JsonSchema;
use rmcp::tool;
use rmcp::tool_router;
use serde::Deserialize;
use serde::Serialize;

use crate::example_server::diff;
use crate::example_server::failure::ToolFailure;
use crate::example_server::server::ExampleServer;
use crate::example_server::text;
use crate::example_server::text::Case;
use crate::example_server::text::TextSize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CountedText {
    /// Text to count.
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Replacement {
    /// Text to change.
    text: String,
    /// Exact text to find; it is no pattern, so every character stands for itself.
    find: String,
    /// Text to put in its place; an empty string removes it.
    replacement: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CaseChange {
    /// Text to rewrite.
    text: String,
    /// How to write it: lower and upper keep all signs; title and sentence also, with capitals at
    /// each word or once; snake, kebab, camel and pascal make one identifier of the words.
    case: Case,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Comparison {
    /// Text as it was, at most 2000 lines.
    before: String,
    /// Text as it is now, at most 2000 lines.
    after: String,
}

#[derive(JsonSchema, Serialize)]
struct Replaced {
    /// Text with all occurrences replaced.
    text: String,
    /// How many there were.
    replacements: usize,
}

#[derive(JsonSchema, Serialize)]
struct Compared {
    /// How many lines are new.
    added: usize,
    /// How many lines are gone.
    removed: usize,
    /// All lines of both texts: "+ " leads a new one, "- " one that is gone, two spaces the rest.
    diff: String,
}

#[tool_router(router = text_tools, vis = "pub(crate)")]
impl ExampleServer {
    #[tool(
        title = "Count words",
        description = "Counts words, characters, lines, paragraphs and bytes of a text exactly.",
        annotations(read_only_hint = true, idempotent_hint = true, open_world_hint = false)
    )]
    fn count_words(Parameters(CountedText { text }): Parameters<CountedText>) -> Json<TextSize> {
        Json(text::measure(&text))
    }

    #[tool(
        title = "Replace text",
        description = "Replaces every occurrence of an exact text by another and returns the \
            result with their number. Fails when there is none.",
        annotations(read_only_hint = true, idempotent_hint = true, open_world_hint = false)
    )]
    fn replace_text(
        Parameters(Replacement { text, find, replacement }): Parameters<Replacement>,
    ) -> Result<Json<Replaced>, ToolFailure> {
        let (text, replacements) = text::replace(&text, &find, &replacement)?;
        Ok(Json(Replaced { text, replacements }))
    }

    #[tool(
        title = "Change case",
        description = "Rewrites a text in lower, upper, title or sentence case, or as a snake, \
            kebab, camel or pascal identifier.",
        annotations(read_only_hint = true, idempotent_hint = true, open_world_hint = false)
    )]
    fn change_case(Parameters(CaseChange { text, case }): Parameters<CaseChange>) -> String {
        text::change_case(&text, case)
    }

    #[tool(
        title = "Compare texts",
        description = "Compares two texts line by line and says which lines are new and which are \
            gone.",
        annotations(read_only_hint = true, idempotent_hint = true, open_world_hint = false)
    )]
    fn text_diff(
        Parameters(Comparison { before, after }): Parameters<Comparison>,
    ) -> Result<Json<Compared>, ToolFailure> {
        let compared = diff::diff(&before, &after)?;
        Ok(Json(Compared {
            added: compared.added,
            removed: compared.removed,
            diff: compared.lines.join("\n"),
        }))
    }
}

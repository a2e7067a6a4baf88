//! Prompts that put a note or a table in front of a task.

use rmcp::ErrorData;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::GetPromptResult;
use rmcp::model::PromptMessage;
use rmcp::model::Role;
use rmcp::prompt;
use rmcp::prompt_router;
use rmcp::schemars;
use rmcp::schemars::JsonSchema;
use serde::Deserialize;

use crate::example_server::failure::ToolFailure;
use crate::example_server::folder::Kind;
use crate::example_server::server::ExampleServer;

#[derive(Deserialize, JsonSchema)]
struct SummariseNote {
    /// Name of the note, as `list_notes` gives it.
    name: String,
    /// For whom or for what the summary is, for example "a colleague who was away".
    purpose: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct ExploreTable {
    /// Name of the table, as `list_tables` gives it.
    name: String,
    /// Question to answer from the table; without it, the most telling patterns are asked for.
    question: Option<String>,
}

#[expect(missing_docs, reason = "the macro writes functions without documentation")]
#[prompt_router(vis = "pub(crate)")]
impl ExampleServer {
    #[prompt(
        name = "summarise_note",
        title = "Summarise a note",
        description = "Asks for a short summary of one note, whose text is included."
    )]
    fn summarise_note(
        &self,
        Parameters(SummariseNote { name, purpose }): Parameters<SummariseNote>,
    ) -> Result<GetPromptResult, ErrorData> {
        let text = self.text_of(Kind::Note, &name)?;
        let purpose = purpose.map(|purpose| format!(" for {purpose}")).unwrap_or_default();
        let task = format!(
            "Summarise the note `{name}`{purpose} in at most three sentences. Keep names, dates \
             and numbers as they are.\n\n<note>\n{text}\n</note>"
        );
        Ok(asking(task, format!("Summary of the note `{name}`")))
    }

    #[prompt(
        name = "explore_table",
        title = "Explore a table",
        description = "Asks for an answer, or for the most telling patterns, from one table."
    )]
    fn explore_table(
        &self,
        Parameters(ExploreTable { name, question }): Parameters<ExploreTable>,
    ) -> Result<GetPromptResult, ErrorData> {
        let text = self.text_of(Kind::Table, &name)?;
        let header = text.lines().next().unwrap_or_default();
        let question = question.unwrap_or_else(|| "Which three patterns stand out?".to_owned());
        let task = format!(
            "Look at the table `{name}`, whose columns are: {header}\nUse describe_table, \
             query_table and statistics rather than guessing, then answer:\n\n{question}"
        );
        Ok(asking(task, format!("Question to the table `{name}`")))
    }
}

impl ExampleServer {
    fn text_of(&self, kind: Kind, name: &str) -> Result<String, ToolFailure> {
        Ok(self.folder.read(kind, &name.parse()?)?)
    }
}

fn asking(task: String, description: String) -> GetPromptResult {
    GetPromptResult::new(vec![PromptMessage::new_text(Role::User, task)])
        .with_description(description)
}

//! Tools that list, read, search, write and delete notes.

use jiff::Timestamp;
use rmcp::handler::server::wrapper::Json;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::schemars;
use rmcp::schemars::JsonSchema;
use rmcp::tool;
use rmcp::tool_router;
use serde::Deserialize;
use serde::Serialize;

use crate::example_server::entry_name::EntryName;
use crate::example_server::failure::ToolFailure;
use crate::example_server::folder::Existing;
use crate::example_server::folder::Kind;
use crate::example_server::notes;
use crate::example_server::notes::FoundLine;
use crate::example_server::server::ExampleServer;

/// Lines that a search shows when the model does not say how many.
const DEFAULT_FOUND_LINES: usize = 50;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoteName {
    /// Name of the note without extension, as `list_notes` gives it, for example "welcome".
    name: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewNote {
    /// Name of the note: 1 to 64 letters, digits, `-` or `_`, for example "meeting-2025-03-30".
    name: String,
    /// Whole text of the note in Markdown, at most 1 MiB. Begin with a line "# Title".
    text: String,
    /// Set to true to replace a note of that name; otherwise such a note is kept and the call
    /// fails.
    #[serde(default)]
    overwrite: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoteSearch {
    /// Words to find. A line is found when it contains all of them, in any order and any case.
    query: String,
    /// Most lines to return; 50 when left out.
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct NoteEntry {
    /// Name to call the other tools with.
    name: String,
    /// First line of the note.
    title: String,
    /// Size of the text in bytes.
    bytes: u64,
    /// When the note was last written, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct NoteList {
    /// All notes by name.
    notes: Vec<NoteEntry>,
    /// How many notes there are.
    total: usize,
}

#[derive(JsonSchema, Serialize)]
struct FoundLines {
    /// Lines that contain all words, by note and line number.
    matches: Vec<FoundLine>,
    /// How many lines were found, the unreturned ones included.
    total: usize,
}

#[derive(JsonSchema, Serialize)]
struct WrittenNote {
    /// Name under which the note was written.
    name: String,
    /// Size of its text in bytes.
    bytes: usize,
    /// Whether it replaced another note.
    replaced: bool,
}

#[derive(JsonSchema, Serialize)]
struct DeletedNote {
    /// Name of the note that is gone.
    deleted: String,
}

#[tool_router(router = note_tools, vis = "pub(crate)")]
impl ExampleServer {
    #[tool(
        title = "List notes",
        description = "Lists all notes with name, title, size and time of the last change. Call \
            this first when you do not know the name of a note.",
        annotations(read_only_hint = true, idempotent_hint = true, open_world_hint = false)
    )]
    fn list_notes(&self) -> Result<Json<NoteList>, ToolFailure> {
        let mut notes = Vec::new();
        for entry in self.folder.list(Kind::Note)? {
            let modified = entry.modified.and_then(|time| Timestamp::try_from(time).ok());
            // A note too large to read is still worth listing.
            let text = self.folder.read(Kind::Note, &entry.name).unwrap_or_default();
            notes.push(NoteEntry {
                name: entry.name.to_string(),
                title: notes::title_of(&text),
                bytes: entry.bytes,
                modified: modified.map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
            });
        }
        Ok(Json(NoteList { total: notes.len(), notes }))
    }

    #[tool(
        title = "Read a note",
        description = "Returns the whole Markdown text of one note.",
        annotations(read_only_hint = true, idempotent_hint = true, open_world_hint = false)
    )]
    fn read_note(
        &self,
        Parameters(NoteName { name }): Parameters<NoteName>,
    ) -> Result<String, ToolFailure> {
        Ok(self.folder.read(Kind::Note, &name.parse()?)?)
    }

    #[tool(
        title = "Search notes",
        description = "Finds lines in all notes that contain all words of the query, and returns \
            each with the name of its note and its line number.",
        annotations(read_only_hint = true, idempotent_hint = true, open_world_hint = false)
    )]
    fn search_notes(
        &self,
        Parameters(NoteSearch { query, limit }): Parameters<NoteSearch>,
    ) -> Result<Json<FoundLines>, ToolFailure> {
        let mut matches = notes::search(&self.folder, &query)?;
        let total = matches.len();
        matches.truncate(limit.unwrap_or(DEFAULT_FOUND_LINES));
        Ok(Json(FoundLines { matches, total }))
    }

    #[tool(
        title = "Write a note",
        description = "Creates a note, or with `overwrite` replaces the whole text of one. To add \
            to a note, read it first and write the complete new text.",
        annotations(
            read_only_hint = false,
            destructive_hint = true,
            idempotent_hint = true,
            open_world_hint = false
        )
    )]
    fn write_note(
        &self,
        Parameters(NewNote { name, text, overwrite }): Parameters<NewNote>,
    ) -> Result<Json<WrittenNote>, ToolFailure> {
        let name: EntryName = name.parse()?;
        let existing = match overwrite {
            Some(true) => Existing::Replace,
            Some(false) | None => Existing::Keep,
        };
        let replaced = self.folder.write(Kind::Note, &name, &text, existing)?;
        Ok(Json(WrittenNote { name: name.to_string(), bytes: text.len(), replaced }))
    }

    #[tool(
        title = "Delete a note",
        description = "Deletes one note for good; there is no way to restore it. Call this only \
            when the user asked for it.",
        annotations(
            read_only_hint = false,
            destructive_hint = true,
            idempotent_hint = false,
            open_world_hint = false
        )
    )]
    fn delete_note(
        &self,
        Parameters(NoteName { name }): Parameters<NoteName>,
    ) -> Result<Json<DeletedNote>, ToolFailure> {
        let name: EntryName = name.parse()?;
        self.folder.delete(Kind::Note, &name)?;
        Ok(Json(DeletedNote { deleted: name.to_string() }))
    }
}

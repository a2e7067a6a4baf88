//! Notes and tables as resources: `note://NAME` and `table://NAME`.

use rmcp::ErrorData;
use rmcp::model::ReadResourceResult;
use rmcp::model::Resource;
use rmcp::model::ResourceContents;
use rmcp::model::ResourceTemplate;

use crate::example_server::entry_name::EntryName;
use crate::example_server::failure::ToolFailure;
use crate::example_server::folder::Entry;
use crate::example_server::folder::Folder;
use crate::example_server::folder::Kind;

/// Lists all notes, then all tables.
pub(crate) fn list(folder: &Folder) -> Result<Vec<Resource>, ErrorData> {
    let mut resources = Vec::new();
    for kind in [Kind::Note, Kind::Table] {
        let entries = folder.list(kind).map_err(ToolFailure::from)?;
        resources.extend(entries.iter().map(|entry| resource(kind, entry)));
    }
    Ok(resources)
}

/// The two shapes of address.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{}{{name}}", scheme(Kind::Note)), "note")
            .with_title("Note")
            .with_description("A Markdown note by its name, as list_notes gives it.")
            .with_mime_type(mime_type(Kind::Note)),
        ResourceTemplate::new(format!("{}{{name}}", scheme(Kind::Table)), "table")
            .with_title("Table")
            .with_description("A whole CSV table by its name, as list_tables gives it.")
            .with_mime_type(mime_type(Kind::Table)),
    ]
}

/// Reads the note or table at an address.
pub(crate) fn read(folder: &Folder, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let unknown = |reason: String| ErrorData::resource_not_found(reason, None);
    let Some((kind, name)) = target(uri) else {
        let shapes = "Use note://NAME or table://NAME.";
        return Err(unknown(format!("`{uri}` is no address of this server. {shapes}")));
    };
    let not_found = |failure: ToolFailure| unknown(failure.sentences());
    let name: EntryName = name.parse().map_err(ToolFailure::from).map_err(not_found)?;
    let text = folder.read(kind, &name).map_err(ToolFailure::from).map_err(not_found)?;
    let contents = ResourceContents::text(text, uri).with_mime_type(mime_type(kind));
    Ok(ReadResourceResult::new(vec![contents]))
}

fn resource(kind: Kind, entry: &Entry) -> Resource {
    Resource::new(format!("{}{}", scheme(kind), entry.name), entry.name.as_str())
        .with_description(format!("The {} `{}`", kind.noun(), entry.name))
        .with_mime_type(mime_type(kind))
        .with_size(entry.bytes)
}

fn target(uri: &str) -> Option<(Kind, &str)> {
    let of_kind = |kind| uri.strip_prefix(scheme(kind)).map(|name| (kind, name));
    of_kind(Kind::Note).or_else(|| of_kind(Kind::Table))
}

fn scheme(kind: Kind) -> &'static str {
    match kind {
        Kind::Note => "note://",
        Kind::Table => "table://",
    }
}

fn mime_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Note => "text/markdown",
        Kind::Table => "text/csv",
    }
}

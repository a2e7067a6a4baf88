//! What the notes say: their titles, and the lines that contain some words.

use rmcp::schemars;
use rmcp::schemars::JsonSchema;
use serde::Serialize;

use crate::example_server::folder::Folder;
use crate::example_server::folder::FolderError;
use crate::example_server::folder::Kind;

/// A line of a note that a search found.
#[derive(Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(inline)]
pub(crate) struct FoundLine {
    /// Name of the note.
    pub(crate) note: String,
    /// Number of the line, counted from 1.
    pub(crate) line: usize,
    /// The line itself.
    pub(crate) text: String,
}

/// The first line that is not empty, without the signs of a heading.
pub(crate) fn title_of(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim_start_matches('#').trim());
    lines.into_iter().find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

/// Finds the lines that contain all words of `query`, in any order and any case.
pub(crate) fn search(folder: &Folder, query: &str) -> Result<Vec<FoundLine>, FolderError> {
    let mut found = Vec::new();
    for entry in folder.list(Kind::Note)? {
        match folder.read(Kind::Note, &entry.name) {
            Ok(text) => found.extend(matching_lines(entry.name.as_str(), &text, query)),
            // One note that the user put there and nobody can read must not hide the others.
            Err(FolderError::TooLarge { .. } | FolderError::Missing { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

fn matching_lines(note: &str, text: &str, query: &str) -> Vec<FoundLine> {
    let query = query.to_lowercase();
    let words: Vec<&str> = query.split_whitespace().collect();
    let contains_all = |line: &str| {
        let line = line.to_lowercase();
        !words.is_empty() && words.iter().all(|word| line.contains(word))
    };
    let lines = text.lines().enumerate().filter(|(_, line)| contains_all(line));
    let found = lines.map(|(index, line)| FoundLine {
        note: note.to_owned(),
        line: index + 1,
        text: line.trim().to_owned(),
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_matches_when_it_contains_all_words_in_any_case() {
        let text = "# Trip\nTrain on Friday\n\n  back by train, MONDAY\n";
        let lines = |query| -> Vec<usize> {
            matching_lines("trip", text, query).iter().map(|found| found.line).collect()
        };
        assert_eq!(lines("train"), [2, 4]);
        assert_eq!(lines("monday Train"), [4]);
        assert!(lines("sunday").is_empty() && lines("  ").is_empty());
    }

    #[test]
    fn the_title_is_the_first_line_with_text() {
        assert_eq!(title_of("\n## Trip\nx"), "Trip");
        assert_eq!(title_of(""), "");
    }
}

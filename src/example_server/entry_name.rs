//! Names of notes and tables, checked so that none can leave the folder.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Longest name; far below what any file system allows, even with the extension.
const LONGEST_NAME: usize = 64;

/// Name of a note or a table, without its extension.
///
/// Invariant: 1 to 64 characters, each a letter `a-z` or `A-Z`, a digit, `-` or `_`, the first
/// a letter or a digit. So it holds no separator, no dot and cannot read as an option.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct EntryName(String);

impl EntryName {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntryName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A name that breaks the rule of [`EntryName`].
#[derive(Debug, Error)]
#[error("`{name}` is not a name for a note or table")]
pub(crate) struct InvalidName {
    name: String,
}

impl InvalidName {
    /// Says the rule and, where one can be made, a name close to the refused one.
    pub(crate) fn mend(&self) -> String {
        let rule = format!(
            "Use 1 to {LONGEST_NAME} letters, digits, `-` or `_`, beginning with a letter or digit \
             and without extension or folder"
        );
        match nearest_name(&self.name) {
            Some(name) => format!("{rule}, for example `{name}`."),
            None => format!("{rule}."),
        }
    }
}

impl FromStr for EntryName {
    type Err = InvalidName;

    fn from_str(name: &str) -> Result<Self, InvalidName> {
        let is_short = name.len() <= LONGEST_NAME;
        let begins_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        if is_short && begins_well && name.chars().all(is_allowed) {
            Ok(Self(name.to_owned()))
        } else {
            let name = name.chars().take(LONGEST_NAME).collect();
            Err(InvalidName { name })
        }
    }
}

fn is_allowed(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '-' || character == '_'
}

/// Joins the allowed parts of the last path component with dashes.
fn nearest_name(refused: &str) -> Option<String> {
    let component = refused.rsplit(['/', '\\']).next().unwrap_or(refused);
    let stem = component.strip_suffix(".md").or_else(|| component.strip_suffix(".csv"));
    let parts: Vec<&str> = stem
        .unwrap_or(component)
        .split(|c| !is_allowed(c))
        .map(|part| part.trim_start_matches(['-', '_']))
        .filter(|part| !part.is_empty())
        .collect();
    let name = parts.join("-");
    name.parse().ok().map(|EntryName(name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_the_folder_are_refused() {
        for name in
            ["", "..", "../x", "a/b", "/etc/passwd", "a\\b", "a.md", ".hidden", "-r", "a\0b"]
        {
            assert!(name.parse::<EntryName>().is_err(), "{name:?}");
        }
        assert!("x".repeat(65).parse::<EntryName>().is_err());
        assert!("2025-plan_b".parse::<EntryName>().is_ok());
    }

    #[test]
    fn a_refused_name_comes_with_a_near_one() {
        let error = "notes/My plan.md".parse::<EntryName>().unwrap_err();
        assert!(error.mend().ends_with("for example `My-plan`."), "{}", error.mend());
        assert!("..".parse::<EntryName>().unwrap_err().mend().ends_with("or folder."));
    }
}

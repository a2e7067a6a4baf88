//! Counting, replacing and changing the case of plain text.

use rmcp::schemars;
use rmcp::schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use thiserror::Error;

/// Why a text could not be worked on.
#[derive(Debug, Error)]
pub(crate) enum TextError {
    #[error("the text to find is empty")]
    NothingToFind,
    #[error("`{wanted}` does not occur in the text")]
    NotFound { wanted: String },
    #[error("a text to compare has {lines} lines, more than {limit}")]
    TooManyLines { lines: usize, limit: usize },
}

impl TextError {
    pub(crate) fn mend(&self) -> String {
        match self {
            Self::NothingToFind => "Give at least one character.".to_owned(),
            Self::NotFound { .. } => {
                "Copy it exactly from the text; case and spaces count.".to_owned()
            }
            Self::TooManyLines { .. } => "Compare shorter parts.".to_owned(),
        }
    }
}

/// How much text there is.
#[derive(Debug, Eq, JsonSchema, PartialEq, Serialize)]
pub(crate) struct TextSize {
    /// Words, as parted by white space.
    pub(crate) words: usize,
    /// Characters (Unicode scalar values), white space included.
    pub(crate) characters: usize,
    /// Lines, an unfinished last one included.
    pub(crate) lines: usize,
    /// Paragraphs, as parted by empty lines.
    pub(crate) paragraphs: usize,
    /// Bytes in UTF-8.
    pub(crate) bytes: usize,
}

pub(crate) fn measure(text: &str) -> TextSize {
    let mut paragraphs = 0;
    let mut was_empty = true;
    for line in text.lines() {
        let is_empty = line.trim().is_empty();
        paragraphs += usize::from(was_empty && !is_empty);
        was_empty = is_empty;
    }
    TextSize {
        words: text.split_whitespace().count(),
        characters: text.chars().count(),
        lines: text.lines().count(),
        paragraphs,
        bytes: text.len(),
    }
}

/// Replaces each occurrence and counts them.
pub(crate) fn replace(
    text: &str,
    wanted: &str,
    replacement: &str,
) -> Result<(String, usize), TextError> {
    if wanted.is_empty() {
        return Err(TextError::NothingToFind);
    }
    match text.matches(wanted).count() {
        0 => Err(TextError::NotFound { wanted: wanted.to_owned() }),
        count => Ok((text.replace(wanted, replacement), count)),
    }
}

/// A way to write words.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Case {
    Lower,
    Upper,
    Title,
    Sentence,
    Snake,
    Kebab,
    Camel,
    Pascal,
}

pub(crate) fn change_case(text: &str, case: Case) -> String {
    match case {
        Case::Lower => text.to_lowercase(),
        Case::Upper => text.to_uppercase(),
        Case::Title => text.split_inclusive(char::is_whitespace).map(capitalised).collect(),
        Case::Sentence => capitalised(text),
        Case::Snake => lower_words(text).join("_"),
        Case::Kebab => lower_words(text).join("-"),
        Case::Camel => {
            let words = lower_words(text).into_iter().enumerate();
            let word = |(index, word): (usize, String)| {
                if index == 0 { word } else { capitalised(&word) }
            };
            words.map(word).collect()
        }
        Case::Pascal => lower_words(text).iter().map(|word| capitalised(word)).collect(),
    }
}

/// Puts the first letter in upper case and the rest in lower case.
fn capitalised(text: &str) -> String {
    let start = text.find(char::is_alphanumeric).unwrap_or(0);
    let (lead, word) = text.split_at(start);
    let mut characters = word.chars();
    let first: String = characters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{lead}{first}{}", characters.as_str().to_lowercase())
}

/// Splits at everything that is no letter or digit, and before a capital after a small letter.
fn lower_words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous = ' ';
    for character in text.chars() {
        if character.is_alphanumeric() {
            let is_hump = character.is_uppercase() && !previous.is_uppercase();
            if !previous.is_alphanumeric() || is_hump {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(character.to_lowercase());
            }
        }
        previous = character;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_measured_in_words_lines_and_paragraphs() {
        let size = measure("Zwölf Boxkämpfer\njagen\n\n \nViktor.");
        assert_eq!(size, TextSize { words: 4, characters: 33, lines: 5, paragraphs: 2, bytes: 35 });
        assert_eq!(measure("").lines, 0);
    }

    #[test]
    fn every_occurrence_is_replaced_and_none_is_a_failure() {
        assert_eq!(replace("a.b.c", ".", "::").unwrap(), ("a::b::c".to_owned(), 2));
        assert!(matches!(replace("abc", "B", ""), Err(TextError::NotFound { .. })));
        assert!(matches!(replace("abc", "", "x"), Err(TextError::NothingToFind)));
    }

    #[test]
    fn each_case_writes_words_in_its_way() {
        let table = [
            (Case::Lower, "the URL of userName, again"),
            (Case::Upper, "THE URL OF USERNAME, AGAIN"),
            (Case::Title, "The Url Of Username, Again"),
            (Case::Sentence, "The url of username, again"),
            (Case::Snake, "the_url_of_user_name_again"),
            (Case::Kebab, "the-url-of-user-name-again"),
            (Case::Camel, "theUrlOfUserNameAgain"),
            (Case::Pascal, "TheUrlOfUserNameAgain"),
        ];
        for (case, expected) in table {
            let text = change_case("the URL of userName, again", case);
            let expected =
                if case == Case::Lower { expected.to_lowercase() } else { expected.to_owned() };
            assert_eq!(text, expected, "{case:?}");
        }
    }
}

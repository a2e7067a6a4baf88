//! Compares two texts line by line.

use crate::example_server::text::TextError;

/// Most lines of either text: the table of the comparison grows with their product.
const MOST_LINES: usize = 2000;

/// What turns one text into another.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct TextDiff {
    pub(crate) added: usize,
    pub(crate) removed: usize,
    /// Each line of both texts, led by `+ ` when it is added, `- ` when removed, else two spaces.
    pub(crate) lines: Vec<String>,
}

/// Compares by longest common subsequence; a removed line stands before the added one.
pub(crate) fn diff(before: &str, after: &str) -> Result<TextDiff, TextError> {
    let before = lines_of(before)?;
    let after = lines_of(after)?;
    let common = common_lengths(&before, &after);
    let width = after.len() + 1;
    let (mut i, mut j) = (0, 0);
    let mut diff = TextDiff { added: 0, removed: 0, lines: Vec::new() };
    while i < before.len() || j < after.len() {
        let (old, new) = (before.get(i), after.get(j));
        match (old, new) {
            (Some(line), Some(other)) if line == other => {
                diff.lines.push(format!("  {line}"));
                i += 1;
                j += 1;
            }
            (Some(line), _) if new.is_none() || keeps_most(&common, width, i, j) => {
                diff.lines.push(format!("- {line}"));
                diff.removed += 1;
                i += 1;
            }
            (_, Some(line)) => {
                diff.lines.push(format!("+ {line}"));
                diff.added += 1;
                j += 1;
            }
            (_, None) => break,
        }
    }
    Ok(diff)
}

fn lines_of(text: &str) -> Result<Vec<&str>, TextError> {
    let lines: Vec<&str> = text.lines().collect();
    if MOST_LINES < lines.len() {
        return Err(TextError::TooManyLines { lines: lines.len(), limit: MOST_LINES });
    }
    Ok(lines)
}

/// Whether passing over the old line leaves at least as much in common as passing over the new.
fn keeps_most(common: &[u16], width: usize, i: usize, j: usize) -> bool {
    common[i * width + j + 1] <= common[(i + 1) * width + j]
}

/// For each pair of places, how many lines the rests of both texts have in common.
fn common_lengths(before: &[&str], after: &[&str]) -> Vec<u16> {
    let width = after.len() + 1;
    let mut lengths = vec![0; (before.len() + 1) * width];
    for (i, old) in before.iter().enumerate().rev() {
        for (j, new) in after.iter().enumerate().rev() {
            lengths[i * width + j] = if old == new {
                lengths[(i + 1) * width + j + 1] + 1
            } else {
                lengths[(i + 1) * width + j].max(lengths[i * width + j + 1])
            };
        }
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, expected: &[&str]) {
        assert_eq!(diff(before, after).unwrap().lines, expected);
    }

    #[test]
    fn common_lines_stay_and_a_changed_line_is_removed_and_added() {
        check("a\nb\nc", "a\nx\nc", &["  a", "- b", "+ x", "  c"]);
        check("a\nb", "a\nb\nc", &["  a", "  b", "+ c"]);
        check("a\nb\nc", "c", &["- a", "- b", "  c"]);
        check("", "a", &["+ a"]);
        check("a\n", "a", &["  a"]);
        check("", "", &[]);
    }

    #[test]
    fn a_text_of_too_many_lines_is_refused() {
        let error = diff(&"x\n".repeat(2001), "").unwrap_err();
        assert_eq!(error.to_string(), "a text to compare has 2001 lines, more than 2000");
    }
}

//! Text as the model was taught to see it.
//!
//! The rules are those of `SentencePiece`'s `nmt_nfkc`: control characters go,
//! odd spaces become spaces, the rest is NFKC.

use unicode_normalization::UnicodeNormalization;

/// Stands for a space within a piece.
pub(super) const SPACE: char = '\u{2581}';

/// Control characters that are left out.
pub(in crate::embedding) const REMOVED: [char; 30] = [
    '\u{1}', '\u{2}', '\u{3}', '\u{4}', '\u{5}', '\u{6}', '\u{7}', '\u{8}', '\u{b}', '\u{e}',
    '\u{f}', '\u{10}', '\u{11}', '\u{12}', '\u{13}', '\u{14}', '\u{15}', '\u{16}', '\u{17}',
    '\u{18}', '\u{19}', '\u{1a}', '\u{1b}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{1f}', '\u{7f}',
    '\u{8f}', '\u{9f}',
];

/// Characters that count as a space.
pub(in crate::embedding) const SPACES: [char; 15] = [
    '\t', '\n', '\u{c}', '\r', '\u{1680}', '\u{200b}', '\u{200c}', '\u{200d}', '\u{200e}',
    '\u{200f}', '\u{2028}', '\u{2029}', SPACE, '\u{feff}', '\u{fffd}',
];

/// The words of `text`, each beginning with [`SPACE`].
pub(super) fn words(text: &str) -> Vec<String> {
    let spaced = text
        .chars()
        .filter(|c| !REMOVED.contains(c))
        .map(|c| if SPACES.contains(&c) { ' ' } else { c });
    let mut words: Vec<String> = Vec::new();
    let mut was_space = false;
    for c in spaced.nfkc() {
        if c == ' ' {
            if !was_space {
                words.push(SPACE.into());
            }
            was_space = true;
            continue;
        }
        was_space = false;
        match words.last_mut() {
            Some(word) => word.push(c),
            None => words.push([SPACE, c].iter().collect()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn spaces_of_all_kinds_part_words_and_controls_vanish() {
        for (text, expected) in [
            ("read a file", vec!["▁read", "▁a", "▁file"]),
            ("  a\t\u{200b} b ", vec!["▁a", "▁b", "▁"]),
            ("a\u{1}b Ａ１ﬁ", vec!["▁ab", "▁A1fi"]),
            ("", vec![]),
            ("数据\u{3000}库", vec!["▁数据", "▁库"]),
        ] {
            assert_eq!(words(text), expected, "{text:?}");
        }
    }
}

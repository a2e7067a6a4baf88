//! The best cut of a word into pieces.
//!
//! Kudo: "Subword regularization" (ACL 2018): of all cuts, the one whose scores
//! add up to the most, found by Viterbi's walk.

use super::normalize::words;
use super::vocabulary::Vocabulary;

/// A step of the walk: the best way to a place in the word.
#[derive(Clone, Copy)]
struct Step {
    score: f32,
    from: usize,
    id: u32,
}

/// The tokens of `text`, at most `longest` of them with the marks of begin and end.
pub(in crate::embedding) fn tokenize(
    vocabulary: &Vocabulary,
    text: &str,
    longest: usize,
) -> Vec<u32> {
    let [begin, end, _] = vocabulary.special;
    let mut tokens = vec![begin];
    for word in words(text) {
        add(vocabulary, &word, &mut tokens);
        if tokens.len() >= longest {
            break;
        }
    }
    tokens.truncate(longest.saturating_sub(1));
    tokens.push(end);
    tokens
}

fn add(vocabulary: &Vocabulary, word: &str, tokens: &mut Vec<u32>) {
    let unknown = vocabulary.special[2];
    let mut steps: Vec<Option<Step>> = vec![None; word.len() + 1];
    steps[0] = Some(Step { score: 0.0, from: 0, id: unknown });
    for (at, c) in word.char_indices() {
        let Some(here) = steps[at] else { continue };
        let mut is_known = false;
        let offer = |steps: &mut Vec<Option<Step>>, to: usize, id, score| {
            let is_better = steps[to].is_none_or(|known| score > known.score);
            if is_better {
                steps[to] = Some(Step { score, from: at, id });
            }
        };
        vocabulary.prefixes(&word.as_bytes()[at..], |length, id, score| {
            is_known |= length == c.len_utf8();
            offer(&mut steps, at + length, id, here.score + score);
        });
        if !is_known {
            offer(&mut steps, at + c.len_utf8(), unknown, here.score + vocabulary.unknown_score);
        }
    }
    let first = tokens.len();
    let mut at = word.len();
    while let Some(step) = steps[at].filter(|_| at > 0) {
        // Neighbours that no piece holds are one unknown token.
        if step.id != unknown || tokens.len() == first || tokens.last() != Some(&unknown) {
            tokens.push(step.id);
        }
        at = step.from;
    }
    tokens[first..].reverse();
}

#[cfg(test)]
mod tests {
    use super::tokenize;
    use crate::embedding::tokenizer::vocabulary::{Vocabulary, pack};

    const PIECES: [(&str, f32); 10] = [
        ("<s>", 0.0),
        ("</s>", 0.0),
        ("<unk>", 0.0),
        ("▁", -5.0),
        ("▁read", -2.0),
        ("▁re", -1.0),
        ("ad", -3.0),
        ("er", -1.0),
        ("文", -4.0),
        ("文件", -4.5),
    ];

    #[track_caller]
    fn check(text: &str, longest: usize, expected: &[&str]) {
        let vocabulary = Vocabulary::read(&pack(&PIECES, [0, 1, 2]).unwrap()).unwrap();
        let found: Vec<&str> = tokenize(&vocabulary, text, longest)
            .into_iter()
            .map(|id| PIECES[id as usize].0)
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn the_cut_with_the_best_sum_wins() {
        check("reader", 16, &["<s>", "▁read", "er", "</s>"]);
        check("read 文件", 16, &["<s>", "▁read", "▁", "文件", "</s>"]);
    }

    #[test]
    fn what_no_piece_holds_is_one_unknown_token() {
        check("xyz", 16, &["<s>", "▁", "<unk>", "</s>"]);
        check("<s>", 16, &["<s>", "▁", "<unk>", "</s>"]);
    }

    #[test]
    fn a_long_text_is_cut_and_still_ends() {
        check("read read read", 4, &["<s>", "▁read", "▁read", "</s>"]);
        check("", 4, &["<s>", "</s>"]);
    }
}

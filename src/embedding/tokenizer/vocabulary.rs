//! Pieces with their scores, in one file that is read as it stands.
//!
//! The file: a mark, the number of pieces, the numbers of the special pieces,
//! then number and score of each piece in the order of the pieces' bytes, then
//! a transducer from piece to its place in that order. All little-endian.

use fst::raw::Fst;
use thiserror::Error;

const MARK: &[u8; 4] = b"CFV1";
const HEAD: usize = 4 + 4 * 4;

/// Bytes of an entry: its number and its score.
const ENTRY: usize = 8;

/// The texts of the special pieces: begin, end, padding, unknown. A text never
/// gives one of them, however it is spelled.
pub(in crate::embedding) const SPECIAL: [&str; 4] = ["<s>", "</s>", "<pad>", "<unk>"];

/// Why a vocabulary cannot be used.
#[derive(Debug, Error)]
pub enum VocabularyError {
    /// It is not such a file, or only a part of one.
    #[error("the vocabulary is damaged")]
    Damaged,
    /// Its transducer cannot be read.
    #[error("the vocabulary is damaged")]
    Transducer(#[from] fst::Error),
}

/// The pieces.
pub(in crate::embedding) struct Vocabulary {
    places: Fst<Vec<u8>>,
    entries: Vec<(u32, f32)>,
    /// Begin, end, unknown.
    pub(super) special: [u32; 3],
    /// What a character that no piece holds costs.
    pub(super) unknown_score: f32,
}

impl std::fmt::Debug for Vocabulary {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Vocabulary({} pieces)", self.entries.len())
    }
}

/// Packs `pieces`, whose numbers are their places; `special` are the numbers of
/// begin, end and unknown.
pub(in crate::embedding) fn pack(
    pieces: &[(&str, f32)],
    special: [u32; 3],
) -> Result<Vec<u8>, fst::Error> {
    let mut entries: Vec<(&str, u32, f32)> = (0_u32..)
        .zip(pieces)
        .filter(|(_, (piece, _))| !SPECIAL.contains(piece))
        .map(|(id, (piece, score))| (*piece, id, *score))
        .collect();
    entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
    entries.dedup_by(|a, b| a.0 == b.0);
    let mut bytes = MARK.to_vec();
    let count = u32::try_from(entries.len()).unwrap_or(u32::MAX);
    for number in [count].into_iter().chain(special) {
        bytes.extend(number.to_le_bytes());
    }
    let mut places = fst::raw::Builder::memory();
    for (place, (piece, id, score)) in (0_u64..).zip(&entries) {
        bytes.extend(id.to_le_bytes());
        bytes.extend(score.to_le_bytes());
        places.insert(piece.as_bytes(), place)?;
    }
    bytes.extend(places.into_inner()?);
    Ok(bytes)
}

impl Vocabulary {
    /// Reads what [`pack`] wrote.
    pub(in crate::embedding) fn read(bytes: &[u8]) -> Result<Self, VocabularyError> {
        let head = bytes.get(..HEAD).ok_or(VocabularyError::Damaged)?;
        if !head.starts_with(MARK) {
            return Err(VocabularyError::Damaged);
        }
        let number =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let count = number(4) as usize;
        let special = [number(8), number(12), number(16)];
        let end = count.checked_mul(ENTRY).and_then(|length| length.checked_add(HEAD));
        let end = end.filter(|end| *end <= bytes.len()).ok_or(VocabularyError::Damaged)?;
        let entries: Vec<(u32, f32)> = bytes[HEAD..end]
            .as_chunks::<ENTRY>()
            .0
            .iter()
            .map(|[a, b, c, d, score @ ..]| {
                (u32::from_le_bytes([*a, *b, *c, *d]), f32::from_le_bytes(*score))
            })
            .collect();
        let places = Fst::new(bytes[end..].to_vec())?;
        places.verify()?;
        if places.len() != entries.len() {
            return Err(VocabularyError::Damaged);
        }
        let lowest = entries.iter().map(|(_, score)| *score).fold(0.0, f32::min);
        Ok(Self { places, entries, special, unknown_score: lowest - UNKNOWN_COSTS })
    }

    /// The pieces that `text` begins with: length in bytes, number, score.
    pub(super) fn prefixes(&self, text: &[u8], mut found: impl FnMut(usize, u32, f32)) {
        let mut node = self.places.root();
        let mut place = 0_u64;
        for (at, byte) in text.iter().enumerate() {
            let Some(index) = node.find_input(*byte) else { return };
            let transition = node.transition(index);
            place += transition.out.value();
            node = self.places.node(transition.addr);
            if node.is_final() {
                let place = place + node.final_output().value();
                let entry = usize::try_from(place).ok().and_then(|at| self.entries.get(at));
                if let Some((id, score)) = entry {
                    found(at + 1, *id, *score);
                }
            }
        }
    }
}

/// How much worse than the worst piece an unknown character is; `SentencePiece`'s
/// constant.
const UNKNOWN_COSTS: f32 = 10.0;

#[cfg(test)]
mod tests {
    use super::{Vocabulary, pack};

    #[test]
    fn the_pieces_that_begin_a_text_are_found_and_special_ones_are_not() {
        let pieces = [("<s>", 0.0), ("ab", -1.0), ("a", -2.0), ("abc", -3.0), ("b", -4.0)];
        let vocabulary = Vocabulary::read(&pack(&pieces, [0, 0, 0]).unwrap()).unwrap();
        let mut found = Vec::new();
        vocabulary.prefixes(b"abcd", |length, id, score| found.push((length, id, score)));
        assert_eq!(found, [(1, 2, -2.0), (2, 1, -1.0), (3, 3, -3.0)]);
        vocabulary.prefixes(b"<s>", |_, id, _| panic!("{id} is special"));
    }

    #[test]
    fn every_shorter_file_is_refused() {
        let whole = pack(&[("a", -1.0), ("b", -2.0)], [0, 0, 0]).unwrap();
        let refused = (0..whole.len()).all(|length| Vocabulary::read(&whole[..length]).is_err());
        assert!(refused && Vocabulary::read(&whole).is_ok());
    }
}

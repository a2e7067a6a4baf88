//! Reads the weight file of the pinned package.
//!
//! The file is little-endian: a head of ten numbers, the vocabulary with its
//! scores, a map of characters that is not needed here (it is NFKC but for the
//! characters in `tokenizer`), a directory of named tensors, and the tensors.
//! Nothing in it is trusted: every length is checked before it is used.

use std::collections::HashMap;

use thiserror::Error;

/// Weights that share one scale.
pub(super) const BLOCK: usize = 32;

/// Bytes of a block: a half-precision scale and 32 weights of four bits.
const BLOCK_BYTES: usize = 2 + BLOCK / 2;

/// Far more than any model here has, and little enough never to fill the memory.
const MOST: usize = 10_000_000;

/// Why a weight file cannot be read.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum WeightsError {
    /// It does not begin as it should.
    #[error("it is not a weight file of the kind that is known")]
    Foreign,
    /// It ends too early.
    #[error("it ends within {0}")]
    Short(&'static str),
    /// A number in it cannot be right.
    #[error("{0} cannot be right")]
    Implausible(&'static str),
    /// A tensor is not there, or has another size or kind.
    #[error("tensor `{0}` is missing or has another shape")]
    Tensor(String),
}

/// A weight file that was read.
#[derive(Debug)]
pub struct Weights<'a> {
    pub(super) shape: Shape,
    /// Pieces of words with their scores; a piece's number is its place.
    pub(super) pieces: Vec<(&'a str, f32)>,
    pub(super) special: Special,
    tensors: HashMap<&'a str, Tensor<'a>>,
}

/// The size of the network.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Shape {
    pub(super) hidden: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) inner: usize,
    pub(super) rows: usize,
    pub(super) positions: usize,
}

/// The numbers of the pieces that stand for no text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Special {
    pub(super) begin: usize,
    pub(super) end: usize,
    pub(super) padding: usize,
    pub(super) unknown: usize,
}

#[derive(Debug)]
struct Tensor<'a> {
    is_packed: bool,
    bytes: &'a [u8],
}

/// A matrix of four-bit weights, taken apart into what the runtime wants.
#[derive(Debug)]
pub(super) struct Packed {
    /// Two neighbouring weights a byte, the first in the low half; 0 to 15, 8 is zero.
    pub(super) nibbles: Vec<u8>,
    /// One scale a block.
    pub(super) scales: Vec<f32>,
}

/// Reads a weight file.
pub fn read_weights(bytes: &[u8]) -> Result<Weights<'_>, WeightsError> {
    let mut reader = Reader { bytes, at: 0 };
    if reader.take(4, "the head").map_err(|_| WeightsError::Foreign)? != b"E5S1"
        || reader.number("the head")? != 1
    {
        return Err(WeightsError::Foreign);
    }
    let mut size = || reader.size("the head");
    let (hidden, layers, heads, inner) = (size()?, size()?, size()?, size()?);
    let (rows, positions, _types) = (size()?, size()?, size()?);
    let shape = Shape { hidden, layers, heads, inner, rows, positions };
    let _epsilon = reader.number("the head")?;
    let block = reader.size("the head")?;
    check_shape(shape, block)?;
    let count = reader.size("the head")?;
    let special = Special {
        begin: reader.piece(count)?,
        end: reader.piece(count)?,
        padding: reader.piece(count)?,
        unknown: reader.piece(count)?,
    };
    let pieces = read_pieces(&mut reader, count)?;
    let _entries = reader.number("the map of characters")?;
    let map = reader.size("the map of characters")?;
    reader.take(map, "the map of characters")?;
    let tensors = read_directory(&mut reader)?;
    Ok(Weights { shape, pieces, special, tensors })
}

fn check_shape(shape: Shape, block: usize) -> Result<(), WeightsError> {
    let Shape { hidden, layers, heads, inner, rows, positions } = shape;
    let is_whole = |size: usize| size > 0 && size.is_multiple_of(BLOCK) && size <= 16_384;
    let is_plausible = block == BLOCK
        && is_whole(hidden)
        && is_whole(inner)
        && (1..=64).contains(&layers)
        && (1..=256).contains(&heads)
        && hidden.is_multiple_of(heads)
        && (1..=MOST).contains(&rows)
        && (1..=65_536).contains(&positions);
    if is_plausible { Ok(()) } else { Err(WeightsError::Implausible("the size of the network")) }
}

fn read_pieces<'a>(
    reader: &mut Reader<'a>,
    count: usize,
) -> Result<Vec<(&'a str, f32)>, WeightsError> {
    const PART: &str = "the vocabulary";
    let bad = WeightsError::Implausible(PART);
    let low = reader.number(PART)?;
    let length = if reader.number(PART)? == 0 { low as usize } else { return Err(bad) };
    let ends = reader.take(4 * (count + 1), PART)?;
    let scores = reader.take(4 * count, PART)?;
    let text = reader.take(length, PART)?;
    let ends: Vec<usize> =
        ends.as_chunks().0.iter().map(|end| u32::from_le_bytes(*end) as usize).collect();
    let mut pieces = Vec::with_capacity(count);
    for (bounds, score) in ends.windows(2).zip(scores.as_chunks().0) {
        let piece = text.get(bounds[0]..bounds[1]).ok_or_else(|| bad.clone())?;
        let piece = std::str::from_utf8(piece).map_err(|_| bad.clone())?;
        let score = f32::from_le_bytes(*score);
        if piece.is_empty() || !score.is_finite() {
            return Err(bad);
        }
        pieces.push((piece, score));
    }
    Ok(pieces)
}

fn read_directory<'a>(
    reader: &mut Reader<'a>,
) -> Result<HashMap<&'a str, Tensor<'a>>, WeightsError> {
    const PART: &str = "the directory of tensors";
    let count = reader.size(PART)?;
    if count > 10_000 {
        return Err(WeightsError::Implausible(PART));
    }
    let mut tensors = HashMap::new();
    for _ in 0..count {
        let length = reader.take(2, PART)?;
        let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
        let name = std::str::from_utf8(reader.take(length, PART)?)
            .map_err(|_| WeightsError::Implausible(PART))?;
        let is_packed = match reader.take(1, PART)? {
            [0] => false,
            [1] => true,
            _ => return Err(WeightsError::Tensor(name.to_owned())),
        };
        let _elements = reader.number(PART)?;
        let (start, length) = (reader.long(PART)?, reader.long(PART)?);
        let bytes = start
            .checked_add(length)
            .and_then(|end| reader.bytes.get(start..end))
            .ok_or_else(|| WeightsError::Tensor(name.to_owned()))?;
        tensors.insert(name, Tensor { is_packed, bytes });
    }
    Ok(tensors)
}

impl Weights<'_> {
    /// A tensor of `length` plain numbers.
    pub(super) fn floats(&self, name: &str, length: usize) -> Result<Vec<f32>, WeightsError> {
        let bytes = self.bytes(name, false, 4 * length)?;
        Ok(bytes.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number)).collect())
    }

    /// A matrix of four-bit weights.
    pub(super) fn packed(
        &self,
        name: &str,
        (rows, columns): (usize, usize),
    ) -> Result<Packed, WeightsError> {
        let blocks = rows * columns / BLOCK;
        let bytes = self.bytes(name, true, blocks * BLOCK_BYTES)?;
        let mut packed = Packed {
            nibbles: Vec::with_capacity(rows * columns / 2),
            scales: Vec::with_capacity(blocks),
        };
        for block in bytes.as_chunks::<BLOCK_BYTES>().0 {
            packed.scales.push(half(u16::from_le_bytes([block[0], block[1]])));
            // The file holds weight j low and weight j + 16 high in byte j.
            let own = &block[2..];
            let pairs = own.as_chunks::<2>().0;
            packed.nibbles.extend(pairs.iter().map(|[a, b]| (a & 15) | (b & 15) << 4));
            packed.nibbles.extend(pairs.iter().map(|[a, b]| (a >> 4) | (b >> 4) << 4));
        }
        Ok(packed)
    }

    fn bytes(&self, name: &str, is_packed: bool, length: usize) -> Result<&[u8], WeightsError> {
        self.tensors
            .get(name)
            .filter(|tensor| tensor.is_packed == is_packed && tensor.bytes.len() == length)
            .map(|tensor| tensor.bytes)
            .ok_or_else(|| WeightsError::Tensor(name.to_owned()))
    }
}

/// A half-precision number (IEEE 754 binary16) in full.
fn half(bits: u16) -> f32 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits >> 10 & 31);
    let fraction = f32::from(bits & 1023) / 1024.0;
    match exponent {
        0 => sign * fraction * 2.0_f32.powi(-14),
        31 if fraction == 0.0 => sign * f32::INFINITY,
        31 => f32::NAN,
        _ => sign * (1.0 + fraction) * 2.0_f32.powi(exponent - 15),
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize, part: &'static str) -> Result<&'a [u8], WeightsError> {
        let end = self.at.checked_add(length).ok_or(WeightsError::Short(part))?;
        let taken = self.bytes.get(self.at..end).ok_or(WeightsError::Short(part))?;
        self.at = end;
        Ok(taken)
    }

    fn number(&mut self, part: &'static str) -> Result<u32, WeightsError> {
        let bytes = self.take(4, part)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn size(&mut self, part: &'static str) -> Result<usize, WeightsError> {
        let size = self.number(part)? as usize;
        if size > MOST { Err(WeightsError::Implausible(part)) } else { Ok(size) }
    }

    fn piece(&mut self, count: usize) -> Result<usize, WeightsError> {
        let piece = self.size("the vocabulary")?;
        if piece < count { Ok(piece) } else { Err(WeightsError::Implausible("the vocabulary")) }
    }

    fn long(&mut self, part: &'static str) -> Result<usize, WeightsError> {
        let (low, high) = (self.number(part)?, self.number(part)?);
        let long = u64::from(high) << 32 | u64::from(low);
        usize::try_from(long).map_err(|_| WeightsError::Implausible(part))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};

    use super::{half, read_weights};
    use crate::embedding::convert::tests::small_weights;

    #[test]
    fn half_precision_numbers_are_read_exactly() {
        for (bits, expected) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_95), (0x0001, 5.960_464_5e-8)]
        {
            assert_eq!(half(bits).to_bits(), f32::to_bits(expected), "{bits:#x}");
        }
    }

    #[test]
    fn every_shorter_file_is_refused() {
        let whole = small_weights();
        let complete = read_weights(&whole).is_ok();
        let shorter = (0..whole.len()).all(|length| read_weights(&whole[..length]).is_err());
        assert!(complete && shorter);
    }

    proptest! {
        /// The fuzz target of the reader: whatever a file holds, it is read or
        /// refused, and nothing panics or fills the memory.
        #[test]
        fn no_damage_brings_the_reader_down(
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)
        ) {
            let mut bytes = small_weights();
            for (place, byte) in damage {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            if let Ok(weights) = read_weights(&bytes) {
                let _converted = crate::embedding::convert::graph::network(&weights);
            }
        }
    }
}

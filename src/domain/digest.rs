//! Short digests that people and models can type.

use sha2::{Digest, Sha256};

/// Alphabet of RFC 4648 base32 in lower case; every character is legal in a tool name.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The first `digits` base32 digits of the SHA-256 of `text`; at most 32 digits.
pub fn base32_digest(text: &str, digits: usize) -> String {
    let hash = Sha256::digest(text.as_bytes());
    (0..digits.min(32))
        .map(|position| {
            let bit = position * 5;
            let pair = u16::from(hash[bit / 8]) << 8 | u16::from(hash[bit / 8 + 1]);
            let digit = pair >> (11 - bit % 8) & 31;
            char::from(ALPHABET[usize::from(digit)])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::base32_digest;

    #[test]
    fn a_digest_is_the_rfc_4648_text_of_the_hash() {
        // sha256("") starts e3b0c44298fc1c14…, base32 "4oymiquy7qob…".
        assert_eq!(base32_digest("", 12), "4oymiquy7qob");
    }
}

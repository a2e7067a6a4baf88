//! The id of a message that is too large to be kept: found in passing, without
//! keeping anything.

/// Longest id that is read; Coffer's own are short numbers.
const LONGEST_ID: usize = 32;

/// Looks for the member `id` at the first level of an object, piece by piece.
#[derive(Debug, Default)]
pub(in crate::gateway) struct IdSearch {
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
    /// The string at the first level that is being read, or was read last.
    word: Vec<u8>,
    /// The value of `id`, once its colon was seen.
    value: Option<Vec<u8>>,
    is_over: bool,
}

impl IdSearch {
    /// Takes a piece of the message.
    pub(in crate::gateway) fn take(&mut self, piece: &[u8]) {
        for &byte in piece {
            if self.is_over {
                return;
            }
            self.step(byte);
        }
    }

    /// The id, as a number, once it has been read whole.
    pub(in crate::gateway) fn found(&self) -> Option<u64> {
        let value = self.value.as_ref().filter(|_| self.is_over)?;
        std::str::from_utf8(value).ok()?.trim().trim_matches('"').parse().ok()
    }

    fn step(&mut self, byte: u8) {
        if let Some(value) = &mut self.value {
            if matches!(byte, b',' | b'}') || value.len() == LONGEST_ID {
                self.is_over = true;
            } else {
                value.push(byte);
            }
            return;
        }
        if self.is_in_string {
            if !self.is_escaped && byte == b'"' {
                self.is_in_string = false;
            } else if self.depth == 1 && self.word.len() < LONGEST_ID {
                self.word.push(byte);
            }
            self.is_escaped = !self.is_escaped && byte == b'\\';
            return;
        }
        match byte {
            b'"' => {
                self.is_in_string = true;
                self.word.clear();
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b':' if self.depth == 1 && self.word == b"id" => self.value = Some(Vec::new()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::IdSearch;

    #[test]
    fn the_id_at_the_first_level_is_found_wherever_it_stands() {
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"id":8}}"#, Some(7)),
            (r#"{"result":{"id":8,"x":"\"id\":9 {"},"jsonrpc":"2.0","id" : 7}"#, Some(7)),
            (r#"{"a":"id","id":"7","b":1}"#, Some(7)),
            (r#"{"result":{"id":8}"#, None),
            (r#"{"id":"a very long text that is no id of ours","x":1}"#, None),
        ] {
            for size in [1, 3, 100] {
                let mut search = IdSearch::default();
                text.as_bytes().chunks(size).for_each(|piece| search.take(piece));
                assert_eq!(search.found(), expected, "{text}");
            }
        }
    }
}

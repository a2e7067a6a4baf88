//! The last lines that a server printed, masked and bounded.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::domain::Masker;

/// Characters kept of one line.
const LONGEST_LINE: usize = 500;

/// Lines kept.
const MOST_LINES: usize = 50;

/// What a server printed beside its messages. Kept in memory only.
#[derive(Debug)]
pub(super) struct Ring {
    masker: Masker,
    lines: Mutex<VecDeque<String>>,
    has_noise: AtomicBool,
}

impl Ring {
    pub(super) fn new(masker: Masker) -> Self {
        Self { masker, lines: Mutex::default(), has_noise: AtomicBool::new(false) }
    }

    /// Adds what stood where a message was expected.
    pub(super) fn push_noise(&self, line: &[u8]) {
        self.has_noise.store(true, Ordering::Relaxed);
        self.push(line);
    }

    /// Whether anything stood where a message was expected.
    pub(super) fn has_noise(&self) -> bool {
        self.has_noise.load(Ordering::Relaxed)
    }

    /// Adds a line: masked, without control characters, clipped.
    pub(super) fn push(&self, line: &[u8]) {
        // Clipped before masking too, so that a giant line costs little.
        let text = String::from_utf8_lossy(&line[..line.len().min(8 * LONGEST_LINE)]);
        let shown: String = self
            .masker
            .mask(text.trim_end())
            .chars()
            .filter(|c| !c.is_control())
            .take(LONGEST_LINE)
            .collect();
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == MOST_LINES {
            lines.pop_front();
        }
        lines.push_back(shown);
    }

    /// The kept lines, oldest first.
    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Masker, Ring};

    #[test]
    fn lines_are_masked_clipped_and_few() {
        let ring = Ring::new(Masker::new(["canary".to_owned()]));
        for number in 0..60 {
            ring.push(format!("{number} \u{1b}canary {}", "x".repeat(10_000)).as_bytes());
        }
        let lines = ring.lines();
        assert_eq!(lines.len(), 50);
        assert!(lines[0].starts_with("10 *** x"), "{}", lines[0]);
        assert_eq!(lines[0].len(), 500);
    }
}

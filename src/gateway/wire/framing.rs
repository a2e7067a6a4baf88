//! Lines from a byte stream, however it is cut into pieces.

use std::io;

use bytes::{Bytes, BytesMut};

use super::oversize::IdSearch;
use crate::sys::Pipe;

/// Room asked for before each read.
const READ_SIZE: usize = 64 * 1024;

/// A longer line gives its buffer back after use; a shorter one leaves it for the
/// next, which saves the system from handing out fresh memory each time.
const LARGE_LINE: usize = 2 << 20;

/// Once this much of a line has come, room is made for as much as the last long one.
const LONG_LINE: usize = 128 * 1024;

/// One line, without its line feed.
#[derive(Debug)]
pub(in crate::gateway) enum Line {
    Whole(Bytes),
    /// The line passed the limit and was thrown away. The id of its message, if one
    /// was found; reported as soon as that is.
    TooLong(Option<u64>),
}

/// Cuts a stream into lines.
#[derive(Debug)]
pub(in crate::gateway) struct LineReader {
    pipe: Pipe,
    buffer: BytesMut,
    /// Bytes of `buffer` that hold no line feed.
    scanned: usize,
    limit: usize,
    /// Length of the last long line.
    expected: usize,
    /// What is being thrown away.
    skipped: Option<Skipped>,
}

/// An oversize line, as far as it has come.
#[derive(Debug, Default)]
struct Skipped {
    search: IdSearch,
    is_reported: bool,
}

impl LineReader {
    pub(in crate::gateway) fn new(pipe: Pipe, limit: usize) -> Self {
        Self { pipe, buffer: BytesMut::new(), scanned: 0, limit, expected: 0, skipped: None }
    }

    /// The next line that is not blank; nothing at the end of the stream, where
    /// a last line without line feed counts too.
    pub(in crate::gateway) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(Some(line));
            }
            let come = self.buffer.len();
            let rest = if come < LONG_LINE { 0 } else { self.expected.saturating_sub(come) };
            self.buffer.reserve(READ_SIZE.max(rest));
            if self.pipe.read(&mut self.buffer).await? == 0 {
                let rest = std::mem::take(&mut self.buffer).freeze();
                self.scanned = 0;
                if let Some(skipped) = self.skipped.take() {
                    let is_news = !skipped.is_reported;
                    return Ok(is_news.then_some(Line::TooLong(skipped.search.found())));
                }
                return Ok((!is_blank(&rest)).then_some(Line::Whole(rest)));
            }
        }
    }

    fn take_line(&mut self) -> Option<Line> {
        loop {
            let Some(at) = memchr::memchr(b'\n', &self.buffer[self.scanned..]) else {
                self.scanned = self.buffer.len();
                return self.skip_what_is_there();
            };
            let mut line = self.buffer.split_to(self.scanned + at + 1);
            self.scanned = 0;
            line.truncate(line.len() - 1);
            if line.len() > LONG_LINE {
                self.expected = line.len() + READ_SIZE;
            }
            if line.len() > LARGE_LINE {
                self.buffer = BytesMut::from(&self.buffer[..]);
            }
            if line.len() > self.limit {
                self.skipped.get_or_insert_default();
            }
            if let Some(mut skipped) = self.skipped.take() {
                skipped.search.take(&line);
                if !skipped.is_reported {
                    return Some(Line::TooLong(skipped.search.found()));
                }
            } else if !is_blank(&line) {
                return Some(Line::Whole(line.freeze()));
            }
        }
    }

    /// Throws away the buffered part of a line that is over the limit.
    fn skip_what_is_there(&mut self) -> Option<Line> {
        if self.skipped.is_none() && self.buffer.len() <= self.limit {
            return None;
        }
        let skipped = self.skipped.get_or_insert_default();
        skipped.search.take(&self.buffer);
        self.buffer.clear();
        if self.buffer.capacity() > LARGE_LINE {
            self.buffer = BytesMut::new();
        }
        self.scanned = 0;
        let id = skipped.search.found().filter(|_| !skipped.is_reported)?;
        skipped.is_reported = true;
        Some(Line::TooLong(Some(id)))
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::{Line, LineReader, Pipe};
    use std::io::Write;

    /// Writes `text` in pieces of `size` and checks which lines come out.
    async fn check(text: &[u8], size: usize, limit: usize, expected: &[&str]) {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let bytes = text.to_vec();
        let thread = std::thread::spawn(move || {
            for piece in bytes.chunks(size) {
                writer.write_all(piece).unwrap();
            }
        });
        let mut lines = LineReader::new(Pipe::reading(reader.into()).unwrap(), limit);
        let mut seen = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            seen.push(match line {
                Line::Whole(line) => String::from_utf8_lossy(&line).into_owned(),
                Line::TooLong(id) => format!("too long: {id:?}"),
            });
        }
        thread.join().unwrap();
        assert_eq!(seen, expected, "pieces of {size}");
    }

    #[tokio::test]
    async fn lines_come_out_whole_however_the_stream_is_cut() {
        for size in [1, 2, 7, 4096] {
            let text = "{\"é\":1}\r\n\n  \nsecond\nlast without feed";
            let expected = ["{\"é\":1}\r", "second", "last without feed"];
            check(text.as_bytes(), size, 100, &expected).await;
        }
    }

    #[tokio::test]
    async fn an_oversize_line_is_reported_once_and_the_next_is_read() {
        let long = format!("{{\"x\":\"{}\",\"id\":7}}", "-".repeat(5_000));
        for size in [10, 100_000] {
            let text = format!("short\n{long}\nnext\n");
            check(text.as_bytes(), size, 1_000, &["short", "too long: Some(7)", "next"]).await;
            let text = format!("short\n{}", "-".repeat(5_000));
            check(text.as_bytes(), size, 1_000, &["short", "too long: None"]).await;
        }
    }
}

//! Events from an event stream (WHATWG HTML, section 9.2.6), as far as MCP uses them.

use bytes::{Bytes, BytesMut};

/// One event.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Event {
    /// Its data; lines joined by line feeds.
    pub(super) data: Bytes,
    /// The id to resume after.
    pub(super) id: Option<String>,
}

/// Puts events together from pieces of a stream.
#[derive(Debug)]
pub(super) struct EventReader {
    buffer: BytesMut,
    scanned: usize,
    data: Vec<u8>,
    has_data: bool,
    id: Option<String>,
    limit: usize,
}

/// An event larger than the limit.
#[derive(Debug)]
pub(super) struct EventTooLarge;

impl EventReader {
    pub(super) fn new(limit: usize) -> Self {
        let (buffer, data) = (BytesMut::new(), Vec::new());
        Self { buffer, scanned: 0, data, has_data: false, id: None, limit }
    }

    /// Takes a piece and returns the events that it completes.
    pub(super) fn take(&mut self, piece: &[u8]) -> Result<Vec<Event>, EventTooLarge> {
        self.buffer.extend_from_slice(piece);
        let mut events = Vec::new();
        while let Some(at) = memchr::memchr2(b'\n', b'\r', &self.buffer[self.scanned..]) {
            let end = self.scanned + at;
            let is_return = self.buffer[end] == b'\r';
            if is_return && end + 1 == self.buffer.len() {
                // The line feed of this line end may be in the next piece.
                self.scanned = end;
                break;
            }
            let length = if is_return && self.buffer[end + 1] == b'\n' { 2 } else { 1 };
            let line = self.buffer.split_to(end + length);
            self.scanned = 0;
            if let Some(event) = self.line(&line[..end]) {
                events.push(event);
            }
        }
        if self.buffer.len() + self.data.len() > self.limit {
            return Err(EventTooLarge);
        }
        if !self.buffer.ends_with(b"\r") {
            self.scanned = self.buffer.len();
        }
        Ok(events)
    }

    fn line(&mut self, line: &[u8]) -> Option<Event> {
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            let had_data = std::mem::take(&mut self.has_data);
            return had_data.then(|| Event { data: data.into(), id: self.id.clone() });
        }
        let (name, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"id" => self.id = Some(String::from_utf8_lossy(value).into_owned()),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::EventReader;

    #[test]
    fn events_come_out_whole_however_the_stream_is_cut() {
        let stream = b": hi\r\nid: 7\r\nevent: message\ndata: {\"a\":\ndata:1}\n\n\ndata: x\r\r";
        for size in [1, 2, 3, 100] {
            let mut reader = EventReader::new(1_000);
            let events: Vec<(String, Option<String>)> = stream
                .chunks(size)
                .chain([&b"\n"[..]])
                .flat_map(|piece| reader.take(piece).unwrap())
                .map(|event| (String::from_utf8(event.data.to_vec()).unwrap(), event.id))
                .collect();
            let id = Some("7".to_owned());
            let expected = [("{\"a\":\n1}".to_owned(), id.clone()), ("x".to_owned(), id)];
            assert_eq!(events, expected, "pieces of {size}");
        }
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut reader = EventReader::new(10);
        assert!(reader.take(b"data: 12345678901").is_err());
    }
}

//! Messages to a byte stream: whole, in order, and without blocking the sender.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Buf, Bytes};
use tokio::sync::Notify;

use crate::sys::Pipe;

/// Bytes that may wait before a reader of requests should pause.
const COMFORTABLE: usize = 4 << 20;

/// Bytes that may wait at all: a peer that reads nothing loses its connection.
const LARGEST_BACKLOG: usize = 256 << 20;

/// The writing end of a connection.
#[derive(Debug)]
pub struct Outbox {
    backlog: Mutex<Backlog>,
    has_work: Notify,
    has_room: Notify,
}

#[derive(Debug, Default)]
struct Backlog {
    /// Gone once the stream is closed, which the peer sees as its end.
    pipe: Option<Arc<Pipe>>,
    messages: VecDeque<Bytes>,
    bytes: usize,
    is_closed: bool,
}

/// What one attempt to write achieved.
enum Progress {
    Empty,
    Blocked,
}

impl Outbox {
    /// An outbox on `pipe`; somebody has to run [`Outbox::drain`].
    pub fn new(pipe: Pipe) -> Arc<Self> {
        let backlog = Mutex::new(Backlog { pipe: Some(Arc::new(pipe)), ..Backlog::default() });
        Arc::new(Self { backlog, has_work: Notify::new(), has_room: Notify::new() })
    }

    /// Sends one message and a line feed: at once when the stream takes it, else
    /// through [`Outbox::drain`]. `false` when the stream is closed.
    pub fn send(&self, message: Bytes) -> bool {
        let mut backlog = self.lock();
        if backlog.is_closed {
            return false;
        }
        let line = with_line_feed(message);
        backlog.bytes += line.len();
        let was_empty = backlog.messages.is_empty();
        backlog.messages.push_back(line);
        if was_empty {
            match backlog.write() {
                Ok(Progress::Empty) => {}
                Ok(Progress::Blocked) => self.has_work.notify_one(),
                Err(_) => backlog.close(),
            }
        } else if backlog.bytes > LARGEST_BACKLOG {
            backlog.close();
        }
        if backlog.is_closed {
            self.has_work.notify_one();
            self.has_room.notify_waiters();
        }
        !backlog.is_closed
    }

    /// Writes what could not be written at once, until the outbox is closed and empty.
    pub async fn drain(&self) {
        loop {
            let progress = {
                let mut backlog = self.lock();
                let progress = backlog.write();
                if progress.is_err() {
                    backlog.close();
                }
                if backlog.is_closed && backlog.messages.is_empty() {
                    backlog.pipe = None;
                    self.has_room.notify_waiters();
                    return;
                }
                progress.map(|progress| (progress, backlog.pipe.clone()))
            };
            match progress {
                Ok((Progress::Blocked, Some(pipe))) => {
                    if pipe.writable().await.is_err() {
                        self.lock().close();
                    }
                }
                Ok(_) | Err(_) => {
                    self.has_room.notify_waiters();
                    self.has_work.notified().await;
                }
            }
        }
    }

    /// Waits until a reader may take more requests.
    pub async fn room(&self) {
        loop {
            let room = self.has_room.notified();
            let is_comfortable = {
                let backlog = self.lock();
                backlog.is_closed || backlog.bytes < COMFORTABLE
            };
            if is_comfortable {
                return;
            }
            room.await;
        }
    }

    /// Whether the peer can hear nothing any more.
    pub fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Takes no more; what waits is still written.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.has_work.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backlog {
    fn close(&mut self) {
        self.is_closed = true;
        self.messages.clear();
        self.bytes = 0;
    }

    fn write(&mut self) -> io::Result<Progress> {
        let Some(pipe) = &self.pipe else { return Ok(Progress::Empty) };
        while let Some(message) = self.messages.front_mut() {
            match pipe.try_write(message) {
                Ok(written) => {
                    self.bytes -= written;
                    message.advance(written);
                    if message.is_empty() {
                        self.messages.pop_front();
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Progress::Blocked);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Progress::Empty)
    }
}

/// Makes the message one line, in place where nobody else holds it. A peer may have
/// written its JSON over several lines; outside of strings, which cannot hold a line
/// feed, it is only white space.
fn with_line_feed(message: Bytes) -> Bytes {
    let mut line = Vec::from(message);
    let mut from = 0;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', &line[from..]) {
        line[from + at] = b' ';
        from += at + 1;
    }
    line.push(b'\n');
    line.into()
}

#[cfg(test)]
mod tests {
    use super::{Bytes, Outbox, Pipe};
    use std::io::Read;

    #[tokio::test]
    async fn messages_larger_than_the_pipe_arrive_whole_and_in_order() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let outbox = Outbox::new(Pipe::writing(writer.into()).unwrap());
        let long = "x".repeat(1 << 20);
        assert!(outbox.send(Bytes::from_static(b"first")));
        assert!(outbox.send(Bytes::from(long.clone())));
        assert!(outbox.send(Bytes::from_static(b"last")));
        outbox.close();
        assert!(!outbox.send(Bytes::from_static(b"too late")));
        let reading = tokio::task::spawn_blocking(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            text
        });
        outbox.drain().await;
        drop(outbox);
        assert_eq!(reading.await.unwrap(), format!("first\n{long}\nlast\n"));
    }

    #[tokio::test]
    async fn a_closed_reader_closes_the_outbox() {
        let (reader, writer) = std::io::pipe().unwrap();
        let outbox = Outbox::new(Pipe::writing(writer.into()).unwrap());
        drop(reader);
        outbox.send(Bytes::from_static(b"nobody listens"));
        outbox.drain().await;
        assert!(!outbox.send(Bytes::from_static(b"and it is known now")));
    }
}

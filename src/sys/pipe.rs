//! Byte streams to and from another process, without blocking: pipes and local
//! sockets directly, terminals and files through a thread.

use std::io;
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;

use bytes::BytesMut;
use rustix::fs::FileType;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// One end of a stream. Node programs connect children by local sockets, others by pipes.
#[derive(Debug)]
pub enum Pipe {
    /// The reading end of a pipe.
    Reader(pipe::Receiver),
    /// The writing end of a pipe.
    Writer(pipe::Sender),
    /// A local socket.
    Socket(UnixStream),
}

impl Pipe {
    /// This process's standard input.
    pub fn stdin() -> io::Result<Self> {
        let fd = rustix::io::dup(rustix::stdio::stdin())?;
        if let Some(pipe) = Self::direct(&fd, Direction::In)? {
            return Ok(pipe);
        }
        let (reader, mut writer) = io::pipe()?;
        std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
            // An error means that one end is gone, which the other end sees as its end.
            let _ended = io::copy(&mut io::stdin(), &mut writer);
        })?;
        Self::reading(reader.into())
    }

    /// This process's standard output, and the thread to wait for before the
    /// process ends, where one was needed.
    pub fn stdout() -> io::Result<(Self, Option<JoinHandle<()>>)> {
        let fd = rustix::io::dup(rustix::stdio::stdout())?;
        if let Some(pipe) = Self::direct(&fd, Direction::Out)? {
            return Ok((pipe, None));
        }
        let (mut reader, writer) = io::pipe()?;
        let pump = std::thread::Builder::new().name("stdout".to_owned()).spawn(move || {
            let _ended = io::copy(&mut reader, &mut io::stdout());
        })?;
        Ok((Self::writing(writer.into())?, Some(pump)))
    }

    /// The reading end of a pipe.
    pub fn reading(fd: OwnedFd) -> io::Result<Self> {
        widen(&fd);
        pipe::Receiver::from_owned_fd(fd).map(Self::Reader)
    }

    /// The writing end of a pipe.
    pub fn writing(fd: OwnedFd) -> io::Result<Self> {
        widen(&fd);
        pipe::Sender::from_owned_fd(fd).map(Self::Writer)
    }

    fn direct(fd: &OwnedFd, direction: Direction) -> io::Result<Option<Self>> {
        let kind = FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode);
        if kind == FileType::Fifo {
            return match direction {
                Direction::In => Self::reading(fd.try_clone()?).map(Some),
                Direction::Out => Self::writing(fd.try_clone()?).map(Some),
            };
        }
        if kind == FileType::Socket {
            let stream = std::os::unix::net::UnixStream::from(fd.try_clone()?);
            stream.set_nonblocking(true)?;
            return UnixStream::from_std(stream).map(|socket| Some(Self::Socket(socket)));
        }
        Ok(None)
    }

    /// Appends what has come to `buffer`; 0 at the end of the stream.
    pub async fn read(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        loop {
            let read = match self {
                Self::Reader(pipe) => {
                    pipe.readable().await?;
                    pipe.try_read_buf(buffer)
                }
                Self::Socket(socket) => {
                    socket.readable().await?;
                    socket.try_read_buf(buffer)
                }
                Self::Writer(_) => return Err(io::ErrorKind::Unsupported.into()),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    }

    /// Writes as much of `bytes` as the stream takes now.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Writer(pipe) => pipe.try_write(bytes),
            Self::Socket(socket) => socket.try_write(bytes),
            Self::Reader(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Waits until the stream may take more.
    pub async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Writer(pipe) => pipe.writable().await,
            Self::Socket(socket) => socket.writable().await,
            Self::Reader(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// Makes room for more than 64 KiB, so that a long message takes fewer turns. The
/// system may refuse, which changes nothing.
fn widen(fd: &OwnedFd) {
    #[cfg(target_os = "linux")]
    let _as_it_was = rustix::pipe::fcntl_setpipe_size(fd, WIDE);
    #[cfg(not(target_os = "linux"))]
    let _no_such_call = fd;
}

/// What a pipe holds where the system allows it: a quarter of the usual upper limit.
#[cfg(target_os = "linux")]
const WIDE: usize = 256 * 1024;

#[derive(Clone, Copy)]
enum Direction {
    In,
    Out,
}

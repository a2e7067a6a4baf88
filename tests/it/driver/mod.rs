//! Drives the real program: a home of its own, clients over stdio and HTTP, fakes.
//!
//! - `home`: a data folder, and the command line over it
//! - `stdio`: a client over standard input and output
//! - `http`: a client over Streamable HTTP
//! - `fake`: misbehaving servers, written in Python

mod fake;
mod home;
mod http;
mod process;
mod stdio;

pub(crate) use fake::{FakeHttp, fake};
pub(crate) use home::{Home, Outcome};
pub(crate) use http::{HttpClient, Reply};
pub(crate) use process::{is_alive, kill, wait_until, wait_until_gone};
pub(crate) use stdio::StdioClient;

//! The server that clients see.
//!
//! - `session`: one client's session
//! - `dispatch`: what is done for each message
//! - `initialize`: the handshake and the advice to the model
//! - `forward`: requests that go upstream
//! - `rewrite`: names and progress tokens in parameters, every other byte kept
//! - `record`: the log row of a call, however it ends
//! - `gateway`: the parts together, and the news for clients
//! - `stdio`: the transport over standard input and output

mod dispatch;
mod forward;
mod gateway;
mod initialize;
mod record;
mod rewrite;
mod session;
mod stdio;

pub use gateway::Gateway;
pub use session::{Hold, Outlet, Session};
pub use stdio::serve_stdio;

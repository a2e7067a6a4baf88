//! A small MCP server of Coffer's own, for trying the gateway without installing anything.
//!
//! It keeps notes and CSV tables in one private folder and answers over stdio.

mod arithmetic;
mod calendar;
mod diff;
mod entry_name;
mod failure;
mod folder;
mod notes;
mod prompts;
mod resources;
mod schema;
mod seed;
mod serve;
mod server;
mod statistics;
mod table;
mod text;
mod tools;
mod users;

#[cfg(test)]
mod tests;

pub use self::folder::FolderError;
pub use self::folder::Kind;
pub use self::serve::ExampleServerError;
pub use self::serve::serve_stdio;
pub use self::server::ExampleServer;

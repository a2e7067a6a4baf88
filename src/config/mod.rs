//! Defaults, file, environment and flags joined into one checked `Config`.
//!
//! - `layer`: settings as one source gives them
//! - `settings`: settings as the program uses them, with the origin of each
//! - `environment`: the variables that are read
//! - `folders`: where files are
//! - `servers_file`: an `mcpServers` file

mod environment;
mod folders;
mod layer;
mod servers_file;
mod settings;

pub use environment::{Variables, own_environment};
pub use folders::Folders;
pub use layer::Layer;
pub use servers_file::{ServersFile, ServersFileError};
pub use settings::{Config, ConfigError, Origin, Setting};

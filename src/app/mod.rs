//! Wiring: from a `Config` to running parts, and their orderly end.
//!
//! - `running`: a gateway that runs, however clients reach it
//! - `registered`: registrations and the servers of a file, joined
//! - `serve`: the gateway behind HTTP
//! - `standalone`: the gateway behind standard input and output
//! - `signals`: what asks the program to end

mod registered;
mod running;
mod serve;
mod signals;
mod standalone;

pub use registered::kept_catalog;
pub use running::{
    AppError, Running, Start, Which, open_database, open_evaluation_database, vector_arm,
};
pub use serve::{GatewayFile, Listening, serve_http};
pub use standalone::serve_standalone;

//! The few calls to the operating system that the standard library lacks.
//!
//! - `files`: private files and folders, atomic writes, network file systems
//! - `clock`: the wall clock
//! - `guard`: the process that ends children when the gateway is killed
//! - `memory`: giving memory back, and how much is in use
//! - `pipe`: standard input and output without blocking
//! - `tls`: encryption for HTTPS upstreams

mod clock;
mod files;
mod guard;
mod memory;
mod pipe;
mod tls;

pub use clock::now_ms;
pub use files::{create_private_file, create_private_folder, is_on_network, write_private_file};
pub use guard::{Guard, end_group, is_group_alive, run_guard};
pub use memory::{release_memory, resident_mib};
pub use pipe::Pipe;
pub use tls::prepare_tls;

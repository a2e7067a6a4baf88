//! Fetches the pinned packages through `pip`, by name.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use thiserror::Error;

use super::pinned::Pinned;

/// Why the packages could not be fetched.
#[derive(Debug, Error)]
pub enum FetchError {
    /// This machine has no build of the runtime.
    #[error("the manifest has no ONNX Runtime for this kind of machine")]
    NoBuild,
    /// There is no Python.
    #[error("`{0}` cannot be started")]
    NoPython(String, #[source] io::Error),
    /// The list of packages cannot be written.
    #[error("the list of packages cannot be written")]
    Write(#[source] io::Error),
    /// `pip` gave up.
    #[error("`pip download` has failed; what it said stands above")]
    Failed,
}

/// Fetches the packages into `folder`. `pip` checks them against their checksums,
/// imports nothing, and speaks on standard error.
pub fn fetch(python: &str, folder: &Path) -> Result<(), FetchError> {
    let pinned = Pinned::get();
    let build = pinned.build().ok_or(FetchError::NoBuild)?;
    let list = folder.join("requirements.txt");
    fs::write(&list, pinned.requirements(build)).map_err(FetchError::Write)?;
    #[expect(clippy::disallowed_methods, reason = "a command of the user's, waited for here")]
    let mut command = Command::new(python);
    command
        .args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--require-hashes"])
        .args(["--disable-pip-version-check", "--no-input"])
        // The same files for every Python: they are read, never imported.
        .args(["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"])
        .args(build.platforms.iter().flat_map(|platform| ["--platform", platform]))
        .arg("--dest")
        .arg(folder)
        .arg("--requirement")
        .arg(&list)
        .stdin(Stdio::null())
        // Standard output is the command's own.
        .stdout(Stdio::from(io::stderr()));
    let status =
        command.status().map_err(|source| FetchError::NoPython(python.to_owned(), source))?;
    if status.success() { Ok(()) } else { Err(FetchError::Failed) }
}

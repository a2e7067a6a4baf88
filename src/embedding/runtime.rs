//! Loads the ONNX Runtime library, once a process.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use thiserror::Error;

/// Why the runtime cannot be used.
#[derive(Debug, Error)]
pub enum RuntimeError {
    /// The file is not there.
    #[error("the ONNX Runtime library `{0}` is not there")]
    Missing(PathBuf),
    /// The library was refused.
    #[error("the ONNX Runtime library `{path}` cannot be used: {reason}")]
    Refused {
        /// The library.
        path: PathBuf,
        /// What the loader said.
        reason: String,
    },
    /// Another library is loaded already; a process cannot change it.
    #[error("the ONNX Runtime library `{0}` is loaded already; start again to use `{1}`")]
    Loaded(PathBuf, PathBuf),
}

/// The library that this process has loaded.
static LOADED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Loads the library at `path`. A failure leaves everything as it was, so that
/// another library can be tried.
///
/// This has to come before anything of fastembed, which panics where it has to
/// look for the library itself.
pub(super) fn load_runtime(path: &Path) -> Result<(), RuntimeError> {
    let path = path.canonicalize().map_err(|_| RuntimeError::Missing(path.to_owned()))?;
    let mut loaded = LOADED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    match &*loaded {
        Some(other) if *other == path => return Ok(()),
        Some(other) => return Err(RuntimeError::Loaded(other.clone(), path)),
        None => {}
    }
    // The builder is dropped: fastembed makes the one environment of the process.
    let tried = catch_unwind(AssertUnwindSafe(|| ort::init_from(&path).map(drop)));
    let reason = match tried {
        Ok(Ok(())) => {
            *loaded = Some(path);
            return Ok(());
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => "loading it has panicked".to_owned(),
    };
    Err(RuntimeError::Refused { path, reason })
}

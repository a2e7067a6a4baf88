//! What a folder with a model says of itself: `MANIFEST.json`.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// The file's name.
pub(super) const MANIFEST: &str = "MANIFEST.json";

/// From the vectors of a text's tokens to that of the text.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The first one.
    Cls,
}

/// A model that is ready to be loaded.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Description {
    /// Its name.
    pub name: String,
    /// Length of a vector.
    pub dimension: usize,
    /// From tokens to text.
    pub pooling: Pooling,
    /// Stands before a query.
    pub query_prefix: String,
    /// Stands before a text that is searched.
    pub passage_prefix: String,
    /// Tokens that are read of a text.
    pub longest_input: usize,
    /// Its licence, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    /// Where it came from, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Its files.
    pub files: Vec<ModelFile>,
}

/// One file of a model.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// Its name in the folder.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its checksum.
    pub sha256: String,
}

/// Why a model's folder cannot be used.
#[derive(Debug, Error)]
pub enum DescriptionError {
    /// A file is not there or cannot be read.
    #[error("`{path}` cannot be read")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The manifest is no manifest.
    #[error("`{path}` is no manifest of a model")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// A file is not the one that was installed.
    #[error("`{path}` has changed since it was installed ({found} instead of {expected})")]
    Changed {
        /// The file.
        path: PathBuf,
        /// What it has.
        found: String,
        /// What it should have.
        expected: String,
    },
    /// A manifest names a file outside its folder.
    #[error("`{path}` names the file `{name}`, which is not in its folder")]
    Outside {
        /// The manifest.
        path: PathBuf,
        /// The name.
        name: String,
    },
}

impl Description {
    /// Reads the manifest in `folder`.
    pub fn read(folder: &Path) -> Result<Self, DescriptionError> {
        let path = folder.join(MANIFEST);
        let text = fs::read_to_string(&path).map_err(|source| unreadable(&path, source))?;
        let description: Self = serde_json::from_str(&text)
            .map_err(|source| DescriptionError::Invalid { path: path.clone(), source })?;
        match description.files.iter().find(|file| file.name.contains(['/', '\\'])) {
            Some(file) => Err(DescriptionError::Outside { path, name: file.name.clone() }),
            None => Ok(description),
        }
    }

    /// Checks every file against its size and checksum.
    pub fn verify(&self, folder: &Path) -> Result<(), DescriptionError> {
        self.files.iter().try_for_each(|file| {
            let (path, ModelFile { size, sha256, .. }) = (folder.join(&file.name), file);
            verify_file(&path, *size, sha256)
        })
    }

    /// Identifies everything that a vector depends on, but for its text: a vector
    /// of another fingerprint is never compared with one of this.
    pub fn fingerprint(&self) -> String {
        let mut sum = Sha256::new();
        let mut add = |part: &str| {
            sum.update(part.len().to_le_bytes());
            sum.update(part);
        };
        for file in &self.files {
            add(&file.name);
            add(&file.sha256);
        }
        add(&self.query_prefix);
        add(&self.passage_prefix);
        add(&format!("{} {:?} {}", self.dimension, self.pooling, self.longest_input));
        hex(&sum.finalize())
    }
}

/// Checks one file against its size and checksum.
pub(super) fn verify_file(path: &Path, size: u64, sha256: &str) -> Result<(), DescriptionError> {
    let changed = |found: String, expected: String| {
        Err(DescriptionError::Changed { path: path.to_owned(), found, expected })
    };
    let found = fs::metadata(path).map_err(|source| unreadable(path, source))?.len();
    if found != size {
        return changed(format!("{found} bytes"), size.to_string());
    }
    let found = checksum(path)?;
    if found == sha256 { Ok(()) } else { changed(found, sha256.to_owned()) }
}

/// The SHA-256 of a file.
pub(super) fn checksum(path: &Path) -> Result<String, DescriptionError> {
    let read = || {
        let mut file = File::open(path)?;
        let mut sum = Sha256::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(hex(&sum.finalize())),
                length => sum.update(&buffer[..length]),
            }
        }
    };
    read().map_err(|source| unreadable(path, source))
}

/// The entry of a file that stands in `folder`.
pub(super) fn describe_file(folder: &Path, name: &str) -> Result<ModelFile, DescriptionError> {
    let path = folder.join(name);
    let size = fs::metadata(&path).map_err(|source| unreadable(&path, source))?.len();
    Ok(ModelFile { name: name.to_owned(), size, sha256: checksum(&path)? })
}

fn unreadable(path: &Path, source: io::Error) -> DescriptionError {
    DescriptionError::Unreadable { path: path.to_owned(), source }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

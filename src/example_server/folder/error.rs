//! Why the folder or one of its files cannot be used.

use std::io;

use thiserror::Error;

use crate::example_server::folder::kind::Kind;

/// Largest file that is read or written, so that one answer stays within what clients take.
pub(crate) const LARGEST_FILE: u64 = 1024 * 1024;

/// Failure to use the folder or one of its files.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FolderError {
    /// There is no such entry.
    #[error("there is no {} `{name}`", kind.noun())]
    Missing {
        /// What was looked for.
        kind: Kind,
        /// Under which name.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A new entry would replace one.
    #[error("the {} `{name}` exists already", kind.noun())]
    Exists {
        /// What was to be written.
        kind: Kind,
        /// Under which name.
        name: String,
    },
    /// A symbolic link, a pipe or a folder stands where a plain file or folder should be.
    #[error("`{name}` is a link or no plain file or folder")]
    NotPlain {
        /// The entry, or the folder of a kind.
        name: String,
    },
    /// A file is larger than the limit.
    #[error("`{name}` is larger than {LARGEST_FILE} bytes")]
    TooLarge {
        /// The entry.
        name: String,
    },
    /// The file system refused.
    #[error("cannot {deed} `{name}`")]
    System {
        /// What was tried.
        deed: &'static str,
        /// The entry or folder it was tried on.
        name: String,
        /// The refusal.
        #[source]
        source: io::Error,
    },
}

impl FolderError {
    /// Makes an error of what the system refused.
    pub(crate) fn system(
        deed: &'static str,
        name: impl Into<String>,
    ) -> impl FnOnce(io::Error) -> Self {
        let name = name.into();
        move |source| Self::System { deed, name, source }
    }

    /// Says what the caller can do about it.
    pub(crate) fn mend(&self) -> String {
        match self {
            Self::Missing { kind, known, .. } if known.is_empty() => {
                format!("There are no {}s yet.", kind.noun())
            }
            Self::Missing { known, .. } => format!("Use one of: {}.", known.join(", ")),
            Self::Exists { .. } => {
                "Choose another name, or set `overwrite` to true to replace it.".to_owned()
            }
            Self::NotPlain { .. } => {
                "Only plain files inside the folder are used; choose another name.".to_owned()
            }
            Self::TooLarge { .. } => "Split it into smaller ones.".to_owned(),
            Self::System { .. } => {
                "Ask the user to check the folder's permissions and free space.".to_owned()
            }
        }
    }
}

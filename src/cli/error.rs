//! A failed command: what went wrong, what to type next, and the exit code.

use thiserror::Error;

use crate::app::AppError;
use crate::catalog::VectorError;
use crate::config::{ConfigError, ServersFileError};
use crate::domain::{InvalidName, chain};
use crate::embedding::{InstallError, StoreError};
use crate::evaluation::DataError;
use crate::storage::StorageError;

/// What kind of failure: each kind has its exit code.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Unexpected,
    NotFound,
    Exists,
    Invalid,
    Unavailable,
    Timeout,
    Refused,
    Storage,
}

/// A failed command.
#[derive(Debug, Error)]
#[error("{message}")]
pub(super) struct CliError {
    pub(super) kind: Kind,
    message: String,
    /// What to type next.
    pub(super) hint: Option<String>,
}

impl CliError {
    pub(super) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Unexpected => 1,
            Kind::NotFound => 3,
            Kind::Exists => 4,
            Kind::Invalid => 5,
            Kind::Unavailable => 6,
            Kind::Timeout => 7,
            Kind::Refused => 8,
            Kind::Storage => 9,
        }
    }

    /// A server that is not registered.
    pub(super) fn no_server(name: &str) -> Self {
        Self::new(Kind::NotFound, format!("no server is called `{name}`"))
            .hint("`coffer list` shows the registered servers")
    }
}

impl From<AppError> for CliError {
    fn from(error: AppError) -> Self {
        let kind = match error {
            AppError::Open(_) | AppError::Storage(_) | AppError::Folder { .. } => Kind::Storage,
            AppError::System { .. } => Kind::Unexpected,
        };
        Self::new(kind, chain(&error))
    }
}

impl From<VectorError> for CliError {
    fn from(error: VectorError) -> Self {
        let kind = match error {
            VectorError::Storage(_) => Kind::Storage,
            VectorError::Unavailable(_) => Kind::Unavailable,
        };
        Self::new(kind, chain(&error))
    }
}

impl From<StorageError> for CliError {
    fn from(error: StorageError) -> Self {
        Self::new(Kind::Storage, chain(&error))
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        Self::new(Kind::Invalid, chain(&error))
            .hint("`coffer config show` lists the settings with their defaults")
    }
}

impl From<ServersFileError> for CliError {
    fn from(error: ServersFileError) -> Self {
        Self::new(Kind::Invalid, chain(&error))
    }
}

impl From<InstallError> for CliError {
    fn from(error: InstallError) -> Self {
        let (kind, hint) = match &error {
            InstallError::Missing { .. }
            | InstallError::Wrong { .. }
            | InstallError::Package { .. } => (
                Kind::Invalid,
                Some("`coffer model install` without `--from` fetches both packages through pip"),
            ),
            InstallError::Store(_) => (Kind::Storage, None),
            InstallError::Description(_) => (
                Kind::Invalid,
                Some("`coffer model inspect FOLDER` tries a model and writes its manifest"),
            ),
            InstallError::NoBuild
            | InstallError::Convert(_)
            | InstallError::Trial(_)
            | InstallError::SelfTest(_)
            | InstallError::Hangs => (Kind::Unavailable, None),
        };
        let failed = Self::new(kind, chain(&error) + ". Nothing was changed");
        match hint {
            Some(hint) => failed.hint(hint),
            None => failed,
        }
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        Self::new(Kind::Storage, chain(&error))
    }
}

impl From<InvalidName> for CliError {
    fn from(error: InvalidName) -> Self {
        Self::new(Kind::Invalid, error.to_string())
    }
}

impl From<DataError> for CliError {
    fn from(error: DataError) -> Self {
        let kind = match error {
            DataError::NoSuchSet { .. } => Kind::NotFound,
            DataError::Unreadable { .. } | DataError::Invalid { .. } => Kind::Invalid,
        };
        Self::new(kind, chain(&error))
    }
}

//! The two kinds of entry, and where each lives.

/// What an entry of the folder is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Markdown under `notes/`.
    Note,
    /// CSV with a header row under `tables/`.
    Table,
}

impl Kind {
    /// The word for one such entry.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Table => "table",
        }
    }

    /// The folder that holds them.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Note => "notes",
            Self::Table => "tables",
        }
    }

    /// What their file names end in, without the dot.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Note => "md",
            Self::Table => "csv",
        }
    }
}

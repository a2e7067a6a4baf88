//! The private folder that holds all notes and tables.

mod error;
mod kind;
mod store;

pub use self::error::FolderError;
pub use self::kind::Kind;
pub(crate) use self::store::Entry;
pub(crate) use self::store::Existing;
pub(crate) use self::store::Folder;

//! Opens the database file: refuses what it must not touch, then migrates.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use thiserror::Error;

/// Longest wait for another process's write lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Looks at a file that seems to be cut, and the pause between them.
const LOOKS: u32 = 10;
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The steps of `migrations/`, oldest first. `PRAGMA user_version` counts them.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/0001_registry.sql"),
    include_str!("../../migrations/0002_calls.sql"),
    include_str!("../../migrations/0003_embeddings.sql"),
];

/// How SQLite keeps changes safe.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum JournalMode {
    /// A write-ahead log beside the file: readers never wait. Needs shared memory.
    WriteAhead,
    /// A rollback journal: slower, but safe on network file systems.
    Rollback,
}

/// Why the database cannot be used.
#[derive(Debug, Error)]
pub enum OpenDatabaseError {
    /// It was written by a newer Coffer.
    #[error(
        "database `{path}` has version {found}, newer than the {known} that this program knows; \
         use a newer Coffer or another data folder (`COFFER_HOME`). The file was not touched"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The highest version that this program knows.
        known: u32,
    },
    /// It is no usable SQLite file.
    #[error(
        "database `{path}` is damaged ({reason}); put a copy back, or move the file and its `-wal` \
         aside and register the servers anew. The file was not touched"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file or its folder cannot be read or written.
    #[error("database `{path}` cannot be opened")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// SQLite refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Failure of a statement.
#[derive(Debug, Error)]
pub enum StorageError {
    /// Another process held the lock for too long.
    #[error("database `{path}` is busy: another process has been writing for over 5 s; try again")]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The thread that uses the database cannot be started.
    #[error("no thread for the database")]
    Thread(#[source] io::Error),
    /// Anything else.
    #[error("database `{path}` cannot be used")]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: rusqlite::Error,
    },
}

/// An open, migrated database.
#[derive(Debug)]
pub struct Database {
    pub(super) connection: Connection,
    path: PathBuf,
}

impl Database {
    /// Opens `path`, creating it whole when it does not exist.
    pub fn open(path: &Path, journal: JournalMode) -> Result<Self, OpenDatabaseError> {
        if path.exists() {
            refuse_untouchable(path)?;
        } else {
            create(path)?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection =
            Connection::open_with_flags(path, flags).map_err(|source| damaged_or(path, source))?;
        let mut database = Self { connection, path: path.to_owned() };
        database.prepare(journal).map_err(|source| damaged_or(path, source))?;
        database.migrate()?;
        Ok(database)
    }

    /// Waits at most this long for another process's write lock.
    pub fn wait_at_most(&self, limit: Duration) -> Result<(), StorageError> {
        self.run(|connection| connection.busy_timeout(limit))
    }

    /// Runs `statements` and gives errors their place.
    pub(super) fn run<T>(
        &self,
        statements: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StorageError> {
        statements(&self.connection).map_err(|source| storage_error(&self.path, source))
    }

    /// Runs `statements` in one transaction that takes the write lock at once.
    pub(super) fn write<T>(
        &mut self,
        statements: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StorageError> {
        let path = self.path.clone();
        let work = || {
            let behavior = rusqlite::TransactionBehavior::Immediate;
            let transaction = self.connection.transaction_with_behavior(behavior)?;
            let value = statements(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        work().map_err(|source| storage_error(&path, source))
    }

    fn prepare(&self, journal: JournalMode) -> rusqlite::Result<()> {
        self.connection.busy_timeout(BUSY_TIMEOUT)?;
        let mode = match journal {
            JournalMode::WriteAhead => "wal",
            JournalMode::Rollback => "delete",
        };
        let current: String =
            self.connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
        // Setting the mode takes a lock, so a reader that finds it set leaves it.
        if current != mode {
            self.connection.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(()))?;
        }
        self.connection.pragma_update(None, "synchronous", "normal")?;
        self.connection.pragma_update(None, "foreign_keys", true)?;
        // Bounds what a long reader can leave behind.
        self.connection.pragma_update(None, "journal_size_limit", 8 << 20)?;
        Ok(())
    }

    fn migrate(&mut self) -> Result<(), OpenDatabaseError> {
        let path = self.path.clone();
        let found = self.run(version)?;
        let known = known_version();
        if found > known {
            return Err(OpenDatabaseError::Newer { path, found, known });
        }
        if found == known {
            return Ok(());
        }
        if found > 0 {
            let copy = path.with_extension(format!("db.before-{known}"));
            self.run(|connection| connection.execute("VACUUM INTO ?1", [copy.to_string_lossy()]))?;
        }
        self.write(apply)?;
        Ok(())
    }
}

fn known_version() -> u32 {
    u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX)
}

fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Applies the missing steps; reads the version again, for another process may
/// have been first.
fn apply(connection: &Connection) -> rusqlite::Result<()> {
    let done = usize::try_from(version(connection)?).unwrap_or(usize::MAX);
    for step in MIGRATIONS.iter().skip(done) {
        connection.execute_batch(step)?;
    }
    connection.pragma_update(None, "user_version", known_version())
}

/// Builds a complete file under a temporary name and moves it into place, so
/// that no other process and no crash ever shows a half-made one.
fn create(path: &Path) -> Result<(), OpenDatabaseError> {
    let unreadable = |source| OpenDatabaseError::Unreadable { path: path.to_owned(), source };
    let draft = path.with_extension(format!("db.new-{}", std::process::id()));
    let _ignored_missing = fs::remove_file(&draft);
    crate::sys::create_private_file(&draft).map_err(unreadable)?;
    let built = Connection::open(&draft).and_then(|connection| {
        connection.pragma_update(None, "auto_vacuum", "incremental")?;
        apply(&connection)
    });
    let placed = built.map_err(|source| storage_error(&draft, source).into()).and_then(|()| {
        match fs::hard_link(&draft, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                // Some file systems know no links.
                fs::rename(&draft, path).map_err(unreadable)
            }
            Ok(()) | Err(_) => Ok(()),
        }
    });
    let _ignored_moved = fs::remove_file(&draft);
    placed
}

/// Looks at the file without SQLite, which would touch it.
fn refuse_untouchable(path: &Path) -> Result<(), OpenDatabaseError> {
    let damaged = |reason: &str| OpenDatabaseError::Damaged {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    let unreadable = |source| OpenDatabaseError::Unreadable { path: path.to_owned(), source };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(damaged("it is no file"));
    }
    if metadata.len() == 0 {
        return Err(damaged("it is empty"));
    }
    // The header as https://www.sqlite.org/fileformat.html section 1.3 has it.
    let mut header = [0; 100];
    let mut file = fs::File::open(path).map_err(unreadable)?;
    if file.read_exact(&mut header).is_err() || !header.starts_with(b"SQLite format 3\0") {
        return Err(damaged("it is no SQLite database"));
    }
    let number = |at: usize| {
        u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let page_size = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        size => u64::from(size),
    };
    let is_whole = || {
        let length = fs::metadata(path).map(|metadata| metadata.len()).unwrap_or_default();
        u64::from(number(28)) * page_size <= length || has_log(path)
    };
    // Another process may be moving its log into the file at this moment.
    if !(0..LOOKS).any(|look| {
        if look > 0 {
            std::thread::sleep(LOOK_AGAIN);
        }
        is_whole()
    }) {
        return Err(damaged("its end is missing"));
    }
    let (found, known) = (number(60), known_version());
    if found > known {
        return Err(OpenDatabaseError::Newer { path: path.to_owned(), found, known });
    }
    Ok(())
}

/// Whether a write-ahead log holds what the file may lack.
fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    fs::metadata(log).is_ok_and(|metadata| metadata.len() > 0)
}

fn damaged_or(path: &Path, source: rusqlite::Error) -> OpenDatabaseError {
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            OpenDatabaseError::Damaged { path: path.to_owned(), reason: source.to_string() }
        }
        _ => storage_error(path, source).into(),
    }
}

fn storage_error(path: &Path, source: rusqlite::Error) -> StorageError {
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StorageError::Busy { path: path.to_owned() }
        }
        _ => StorageError::Sqlite { path: path.to_owned(), source },
    }
}

#[cfg(test)]
mod tests {
    use super::{Database, JournalMode, MIGRATIONS, OpenDatabaseError};
    use crate::domain::base32_digest;
    use std::fs;

    /// A shipped step is never edited: this list grows, its entries stay.
    const CHECKSUMS: &[&str] = &["4q44tmqyrehaflra", "dcobm5v4wx7yizfm", "64waarzvexnkvvaj"];

    #[test]
    fn no_shipped_migration_was_edited() {
        let sums: Vec<String> = MIGRATIONS.iter().map(|step| base32_digest(step, 16)).collect();
        assert_eq!(sums, CHECKSUMS);
    }

    #[test]
    fn files_that_must_not_be_touched_are_refused_and_keep_their_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let good = folder.path().join("good.db");
        drop(Database::open(&good, JournalMode::WriteAhead).unwrap());
        let whole = fs::read(&good).unwrap();
        let mut newer = whole.clone();
        newer[60..64].copy_from_slice(&999_u32.to_be_bytes());
        let mut headless = whole.clone();
        headless[..64].fill(0);
        let cases: [(&str, &[u8]); 5] = [
            ("newer than", &newer),
            ("no SQLite database", &headless),
            ("its end is missing", &whole[..whole.len() / 2]),
            ("it is empty", b""),
            ("no SQLite database", b"this is no database\n"),
        ];
        for (expected, bytes) in cases {
            let path = folder.path().join("bad.db");
            fs::write(&path, bytes).unwrap();
            let error = Database::open(&path, JournalMode::WriteAhead).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
    }

    #[test]
    fn a_folder_in_place_of_the_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = Database::open(folder.path(), JournalMode::WriteAhead).unwrap_err();
        assert!(matches!(error, OpenDatabaseError::Damaged { .. }), "{error}");
    }

    #[test]
    fn a_garbage_log_beside_a_good_file_does_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("coffer.db");
        drop(Database::open(&path, JournalMode::WriteAhead).unwrap());
        fs::write(folder.path().join("coffer.db-wal"), [7; 8192]).unwrap();
        Database::open(&path, JournalMode::WriteAhead).unwrap();
    }

    #[test]
    fn a_database_without_shared_memory_uses_a_rollback_journal() {
        let folder = tempfile::tempdir().unwrap();
        let database =
            Database::open(&folder.path().join("coffer.db"), JournalMode::Rollback).unwrap();
        let mode: String =
            database.connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(mode, "delete");
    }
}

//! The folder on the disk: reads and writes whole files by checked name, and nothing outside.

use std::fs;
use std::io;
use std::io::Read;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::process;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::SystemTime;

use crate::example_server::entry_name::EntryName;
use crate::example_server::folder::error::FolderError;
use crate::example_server::folder::error::LARGEST_FILE;
use crate::example_server::folder::kind::Kind;

/// What a write does about an entry of the same name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Existing {
    /// Replaces it.
    Replace,
    /// Keeps it and fails.
    Keep,
}

/// One file of the folder, as a listing shows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Entry {
    pub(crate) name: EntryName,
    pub(crate) bytes: u64,
    pub(crate) modified: Option<SystemTime>,
}

/// A folder of notes and tables that only its owner can read.
#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
    /// Held while an entry is read and written back, so that no row is lost.
    writing: Mutex<u64>,
}

impl Folder {
    /// Opens the folder; a kind whose place is missing gets one, filled with `seed`'s entries.
    pub(crate) fn open(
        root: &Path,
        seed: fn(Kind) -> &'static [(&'static str, &'static str)],
    ) -> Result<Self, FolderError> {
        let shown = root.display().to_string();
        let mut builder = fs::DirBuilder::new();
        builder.mode(0o700);
        builder.recursive(true).create(root).map_err(FolderError::system("create", &shown))?;
        let root = root.canonicalize().map_err(FolderError::system("find", shown))?;
        let folder = Self { root, writing: Mutex::new(0) };
        builder.recursive(false);
        for kind in [Kind::Note, Kind::Table] {
            match builder.create(folder.root.join(kind.folder())) {
                Ok(()) => {
                    for (name, text) in seed(kind) {
                        folder.replace(&mut folder.lock(), kind, name, text)?;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(FolderError::system("create", kind.folder())(error)),
            }
            folder.place(kind)?;
        }
        Ok(folder)
    }

    /// Lists the plain files of a kind by name; anything else in its place is passed over.
    pub(crate) fn list(&self, kind: Kind) -> Result<Vec<Entry>, FolderError> {
        let failed = || FolderError::system("list", kind.folder());
        let mut entries = Vec::new();
        for item in fs::read_dir(self.place(kind)?).map_err(failed())? {
            let item = item.map_err(failed())?;
            let file_name = item.file_name();
            let stem = file_name.to_str().and_then(|name| name.rsplit_once('.'));
            let Some((stem, extension)) = stem else { continue };
            // An entry of a directory reports on the link itself, not on its target.
            let (Ok(name), Ok(metadata)) = (stem.parse(), item.metadata()) else { continue };
            if extension == kind.extension() && metadata.is_file() {
                let modified = metadata.modified().ok();
                entries.push(Entry { name, bytes: metadata.len(), modified });
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// Reads one entry; bytes that are no UTF-8 come back as replacement characters.
    pub(crate) fn read(&self, kind: Kind, name: &EntryName) -> Result<String, FolderError> {
        let path = self.existing(kind, name)?;
        let failed = || FolderError::system("read", name.as_str());
        let file = fs::File::open(path).map_err(failed())?;
        let mut bytes = Vec::new();
        file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(failed())?;
        check_size(name.as_str(), bytes.len())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Writes one entry whole and says whether it replaced another.
    pub(crate) fn write(
        &self,
        kind: Kind,
        name: &EntryName,
        text: &str,
        existing: Existing,
    ) -> Result<bool, FolderError> {
        let mut lock = self.lock();
        let is_taken = match self.existing(kind, name) {
            Ok(_) => true,
            Err(FolderError::Missing { .. }) => false,
            Err(error) => return Err(error),
        };
        if is_taken && existing == Existing::Keep {
            return Err(FolderError::Exists { kind, name: name.to_string() });
        }
        self.replace(&mut lock, kind, name.as_str(), text)?;
        Ok(is_taken)
    }

    /// Replaces the text of an entry by what `change` makes of it, without another write between.
    pub(crate) fn update<T, E: From<FolderError>>(
        &self,
        kind: Kind,
        name: &EntryName,
        change: impl FnOnce(&str) -> Result<(String, T), E>,
    ) -> Result<T, E> {
        let mut lock = self.lock();
        let (text, outcome) = change(&self.read(kind, name)?)?;
        self.replace(&mut lock, kind, name.as_str(), &text)?;
        Ok(outcome)
    }

    /// Removes one entry for good.
    pub(crate) fn delete(&self, kind: Kind, name: &EntryName) -> Result<(), FolderError> {
        let _lock = self.lock();
        let path = self.existing(kind, name)?;
        fs::remove_file(path).map_err(FolderError::system("delete", name.as_str()))
    }

    /// The folder of a kind, which a link must not lead elsewhere.
    fn place(&self, kind: Kind) -> Result<PathBuf, FolderError> {
        let place = self.root.join(kind.folder());
        let metadata =
            fs::symlink_metadata(&place).map_err(FolderError::system("find", kind.folder()))?;
        if metadata.is_dir() {
            Ok(place)
        } else {
            Err(FolderError::NotPlain { name: kind.folder().to_owned() })
        }
    }

    fn existing(&self, kind: Kind, name: &EntryName) -> Result<PathBuf, FolderError> {
        let path = self.place(kind)?.join(format!("{name}.{}", kind.extension()));
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() => Ok(path),
            Ok(_) => Err(FolderError::NotPlain { name: name.to_string() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let known = self.list(kind)?.into_iter().map(|entry| entry.name.to_string());
                Err(FolderError::Missing { kind, name: name.to_string(), known: known.collect() })
            }
            Err(error) => Err(FolderError::system("find", name.as_str())(error)),
        }
    }

    /// Writes beside the target and renames, so that a reader never sees half a file.
    fn replace(
        &self,
        lock: &mut MutexGuard<'_, u64>,
        kind: Kind,
        name: &str,
        text: &str,
    ) -> Result<(), FolderError> {
        check_size(name, text.len())?;
        **lock += 1;
        let place = self.place(kind)?;
        // The leading dot keeps it out of listings; a left-over of another process has its id.
        let draft = place.join(format!(".{name}.{}-{}", process::id(), **lock));
        let target = place.join(format!("{name}.{}", kind.extension()));
        let written = write_private(&draft, text).and_then(|()| fs::rename(&draft, target));
        written.map_err(|error| {
            // The write has failed already; a draft that also stays behind changes nothing.
            fs::remove_file(&draft).ok();
            FolderError::system("write", name)(error)
        })
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        // The counter is valid at any time, so a panic of another holder left nothing broken.
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check_size(name: &str, bytes: usize) -> Result<(), FolderError> {
    if bytes as u64 <= LARGEST_FILE {
        Ok(())
    } else {
        Err(FolderError::TooLarge { name: name.to_owned() })
    }
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

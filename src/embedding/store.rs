//! The folder of installed models: which one is selected, installing, removing.
//!
//! A model and a runtime stand each in a folder of their own, named for what they
//! are. `selected.json` names the two that serve, and is the last thing that an
//! install writes: until then nothing has changed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::description::{Description, DescriptionError, ModelFile, describe_file, verify_file};

const SELECTED: &str = "selected.json";
const LOCK: &str = "install.lock";
const STAGING: &str = ".staging";

/// Why the store cannot be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// No model is installed.
    #[error("no model is installed; `coffer model install` installs one")]
    Nothing,
    /// A model was named by hand, but no runtime.
    #[error(
        "no ONNX Runtime is installed; `coffer model install` installs one, and COFFER_ORT_LIB can \
         name a library"
    )]
    NoRuntime,
    /// Somebody else installs.
    #[error("another `coffer model` command is at work; wait for it, then try again")]
    Busy,
    /// The selection is not readable.
    #[error("`{path}` is damaged; `coffer model install` mends it")]
    Selection {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// A file or folder cannot be read or written.
    #[error("`{path}`")]
    File {
        /// It.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file is not what it was when it was installed.
    #[error(transparent)]
    Description(#[from] DescriptionError),
}

/// What serves.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Selection {
    /// Folder of the model within the store.
    pub(super) model: String,
    /// Folder of the runtime within the store.
    pub(super) runtime: String,
    /// Its library.
    pub(super) library: ModelFile,
}

/// The folder of models.
#[derive(Clone, Debug)]
pub struct ModelStore {
    folder: PathBuf,
    overrides: Overrides,
}

/// Files that the user names instead of installed ones.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Overrides {
    /// Folder of a model with its `MANIFEST.json`.
    pub model: Option<PathBuf>,
    /// The library of the ONNX Runtime.
    pub runtime: Option<PathBuf>,
}

/// A model and the library that runs it, as they stand on disk.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Located {
    /// Folder of the model.
    pub model: PathBuf,
    /// The library.
    pub runtime: PathBuf,
    library: Option<ModelFile>,
}

/// Holds the store for one writer; the lock ends with the process.
#[derive(Debug)]
pub(super) struct Held {
    _lock: File,
}

impl ModelStore {
    /// The store in `folder`, which need not exist.
    pub fn new(folder: PathBuf, overrides: Overrides) -> Self {
        Self { folder, overrides }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The model and the runtime that serve.
    pub fn locate(&self) -> Result<Located, StoreError> {
        let selection = self.selection();
        let model = match &self.overrides.model {
            Some(model) => model.clone(),
            None => match &selection {
                Ok(Some(selection)) => self.folder.join(&selection.model),
                Ok(None) => return Err(StoreError::Nothing),
                Err(_) => return Err(selection.expect_err("it was just seen")),
            },
        };
        if let Some(runtime) = &self.overrides.runtime {
            return Ok(Located { model, runtime: runtime.clone(), library: None });
        }
        let selection = selection?.ok_or(StoreError::NoRuntime)?;
        let runtime = self.folder.join(&selection.runtime).join(&selection.library.name);
        Ok(Located { model, runtime, library: Some(selection.library) })
    }

    /// Changes whenever another model may have come.
    pub fn stamp(&self) -> Stamp {
        let located = self.locate().ok();
        let seen = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
        let files = located.iter().flat_map(|located| {
            [located.model.join(super::description::MANIFEST), located.runtime.clone()]
        });
        Stamp(located.clone(), files.map(|path| seen(&path)).collect())
    }

    pub(super) fn selection(&self) -> Result<Option<Selection>, StoreError> {
        let path = self.folder.join(SELECTED);
        match fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text)
                .map(Some)
                .map_err(|source| StoreError::Selection { path, source }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(StoreError::File { path, source }),
        }
    }

    /// Makes the folder, takes the lock and clears what a killed install left.
    pub(super) fn hold(&self) -> Result<Held, StoreError> {
        crate::sys::create_private_folder(&self.folder).map_err(at(&self.folder))?;
        let path = self.folder.join(LOCK);
        let lock = File::create(&path).map_err(at(&path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(StoreError::Busy),
            Err(fs::TryLockError::Error(source)) => return Err(StoreError::File { path, source }),
        }
        self.clear(|name| name.starts_with(STAGING))?;
        Ok(Held { _lock: lock })
    }

    /// A fresh folder that is not in place yet.
    pub(super) fn stage(&self, _held: &Held, what: &str) -> Result<PathBuf, StoreError> {
        let path = self.folder.join(format!("{STAGING}-{what}"));
        fs::create_dir(&path).map_err(at(&path))?;
        Ok(path)
    }

    /// Moves a staged folder into place, whole. One of the same name holds the same.
    pub(super) fn place(&self, _held: &Held, staged: &Path, name: &str) -> Result<(), StoreError> {
        let target = self.folder.join(name);
        sync_all_in(staged)?;
        if target.exists() {
            let old = self.folder.join(format!("{STAGING}-old-{name}"));
            fs::rename(&target, &old).map_err(at(&target))?;
            fs::rename(staged, &target).map_err(at(&target))?;
            fs::remove_dir_all(&old).map_err(at(&old))?;
        } else {
            fs::rename(staged, &target).map_err(at(&target))?;
        }
        sync(&self.folder)
    }

    /// From here on `model` and `runtime` serve; other ones are removed.
    pub(super) fn select(
        &self,
        _held: &Held,
        model: &str,
        (runtime, library): (&str, ModelFile),
    ) -> Result<(), StoreError> {
        let selection = Selection { model: model.to_owned(), runtime: runtime.to_owned(), library };
        let path = self.folder.join(SELECTED);
        let text = serde_json::to_vec_pretty(&selection)
            .map_err(|source| StoreError::Selection { path: path.clone(), source })?;
        crate::sys::write_private_file(&path, &text).map_err(at(&path))?;
        sync(&self.folder)?;
        self.clear(|name| name != model && name != runtime)
    }

    /// Removes the installed model and runtime. `false` when there was none.
    pub fn remove(&self) -> Result<bool, StoreError> {
        if !self.folder.exists() {
            return Ok(false);
        }
        let _held = self.hold()?;
        let path = self.folder.join(SELECTED);
        let was_there = match fs::remove_file(&path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(source) => return Err(StoreError::File { path, source }),
        };
        sync(&self.folder)?;
        self.clear(|_| true)?;
        Ok(was_there)
    }

    /// Removes the folders whose name passes.
    fn clear(&self, passes: impl Fn(&str) -> bool) -> Result<(), StoreError> {
        for entry in fs::read_dir(&self.folder).map_err(at(&self.folder))? {
            let path = entry.map_err(at(&self.folder))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && passes(&name) {
                fs::remove_dir_all(&path).map_err(at(&path))?;
            }
        }
        Ok(())
    }
}

/// What stands in the store at one moment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Stamp(Option<Located>, Vec<Option<std::time::SystemTime>>);

impl Located {
    /// Checks the installed library against its checksum; one that the user named
    /// is taken as it is.
    pub fn verify_runtime(&self) -> Result<(), StoreError> {
        match &self.library {
            Some(library) => Ok(verify_file(&self.runtime, library.size, &library.sha256)?),
            None => Ok(()),
        }
    }

    /// What the model says of itself.
    pub fn description(&self) -> Result<Description, StoreError> {
        Ok(Description::read(&self.model)?)
    }
}

/// Writes what a folder holds to the disk.
fn sync_all_in(folder: &Path) -> Result<(), StoreError> {
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        sync(&entry.map_err(at(folder))?.path())?;
    }
    sync(folder)
}

fn sync(path: &Path) -> Result<(), StoreError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(at(path))
}

pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::File { path, source }
}

/// The library's entry in a selection.
pub(super) fn library_in(folder: &Path, name: &str) -> Result<ModelFile, StoreError> {
    Ok(describe_file(folder, name)?)
}

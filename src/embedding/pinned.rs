//! `models/manifest.toml`: the model that Coffer installs by itself.

use serde::Deserialize;

use super::description::Pooling;

/// The pinned model and its packages.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Pinned {
    /// The model.
    pub model: PinnedModel,
    /// The package that holds its weights.
    pub weights: WeightsPackage,
    /// The package that holds the runtime.
    pub runtime: RuntimePackage,
    /// What a sound conversion gives.
    pub self_test: SelfTest,
}

/// What has to be known of the model.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PinnedModel {
    /// Its name.
    pub name: String,
    /// Length of a vector.
    pub dimension: usize,
    /// From the vectors of tokens to that of the text.
    pub pooling: Pooling,
    /// Stands before a query.
    pub query_prefix: String,
    /// Stands before a text that is searched.
    pub passage_prefix: String,
    /// Tokens that are read of a text.
    pub longest_input: usize,
    /// Its licence.
    pub licence: String,
}

/// One file of a package, by everything that it is checked against.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WeightsPackage {
    /// Name of the package.
    pub package: String,
    /// Its version.
    pub version: String,
    /// Its licence.
    pub licence: String,
    /// What is taken out of the file.
    pub member: String,
    /// Checksum of it.
    pub member_sha256: String,
    /// The file's name.
    pub file: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its checksum.
    pub sha256: String,
}

/// The runtime, with a file for each kind of machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RuntimePackage {
    /// Name of the package.
    pub package: String,
    /// Its version.
    pub version: String,
    /// Its licence.
    pub licence: String,
    /// Its files.
    pub builds: Vec<RuntimeBuild>,
}

/// The runtime for one kind of machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RuntimeBuild {
    /// Operating system, as Rust names it.
    pub os: String,
    /// Processor, as Rust names it.
    pub arch: String,
    /// Platforms to ask the package index for.
    pub platforms: Vec<String>,
    /// What is taken out of the file.
    pub member: String,
    /// The file's name.
    pub file: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its checksum.
    pub sha256: String,
}

/// Texts with what the model must make of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SelfTest {
    /// How far a sum may be off.
    pub tolerance: f32,
    /// Texts with the sums of their vectors.
    pub sums: Vec<(String, f32)>,
    /// A text,
    pub query: String,
    /// one that means the same,
    pub near: String,
    /// and one that means something else.
    pub far: String,
}

impl Pinned {
    /// The manifest that this program was built with.
    pub fn get() -> Self {
        toml::from_str(include_str!("../../models/manifest.toml"))
            .expect("`models/manifest.toml` is read by a test")
    }

    /// The runtime's file for this machine.
    pub fn build(&self) -> Option<&RuntimeBuild> {
        let is_own = |build: &&RuntimeBuild| {
            build.os == std::env::consts::OS && build.arch == std::env::consts::ARCH
        };
        self.runtime.builds.iter().find(is_own)
    }

    /// What `pip` is to fetch: one line a package, with the checksum it must have.
    pub fn requirements(&self, build: &RuntimeBuild) -> String {
        let line = |package: &str, version: &str, sha256: &str| {
            format!("{package}=={version} --hash=sha256:{sha256}\n")
        };
        line(&self.weights.package, &self.weights.version, &self.weights.sha256)
            + &line(&self.runtime.package, &self.runtime.version, &build.sha256)
    }
}

#[cfg(test)]
mod tests {
    use super::Pinned;

    #[test]
    fn the_manifest_names_whole_checksums_and_this_machine() {
        let pinned = Pinned::get();
        let build = pinned.build().expect("a runtime for this machine");
        for checksum in [&pinned.weights.sha256, &pinned.weights.member_sha256, &build.sha256] {
            assert!(checksum.len() == 64 && checksum.bytes().all(|b| b.is_ascii_hexdigit()));
        }
        assert_eq!(pinned.requirements(build).lines().count(), 2);
    }
}

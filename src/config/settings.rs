//! Settings as the program uses them: complete, checked, each with its origin.

use std::fmt;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use thiserror::Error;

use super::environment::Variables;
use super::folders::Folders;
use super::layer::Layer;
use crate::catalog::Retention;
use crate::embedding::Overrides;
use crate::gateway::GatewaySettings;

/// Longest time of a setting, in seconds: a month is for ever here, and sums of such
/// times stay far from any limit.
const LONGEST: u64 = 31 * 24 * 60 * 60;

const DEFAULTS: &str = include_str!("defaults.toml");

/// Why the settings cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// There is no place for files.
    #[error("there is no home folder; set COFFER_HOME to a folder of your choice")]
    NoHome,
    /// The settings file cannot be read.
    #[error("`{path}` cannot be read")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A source holds something that is no setting.
    #[error("{origin}: {reason}")]
    Invalid {
        /// Where it stands.
        origin: Origin,
        /// What is wrong with it.
        reason: String,
    },
}

/// Where the value of a setting comes from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Origin {
    /// Compiled in.
    Default,
    /// The settings file.
    File(PathBuf),
    /// An environment variable.
    Environment,
    /// A flag.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::Environment => formatter.write_str("environment"),
            Self::Flag => formatter.write_str("flag"),
        }
    }
}

/// One setting as `coffer config show` prints it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Where the value comes from.
    pub origin: String,
}

/// The settings of one run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where files are.
    pub folders: Folders,
    /// Address to listen on.
    pub bind: IpAddr,
    /// Port to listen on.
    pub port: u16,
    /// Limits of the gateway.
    pub gateway: GatewaySettings,
    /// How much of the log is kept.
    pub retention: Retention,
    /// What serves instead of the installed model and runtime.
    pub overrides: Overrides,
    /// Threads that embed.
    pub embedding_threads: usize,
    /// Every setting with its origin.
    pub settings: Vec<Setting>,
}

impl Config {
    /// Joins the sources: flags win over the environment, that over the file,
    /// that over the defaults.
    pub fn load(variables: &Variables, flags: Layer) -> Result<Self, ConfigError> {
        let folders = Folders::find(variables).ok_or(ConfigError::NoHome)?;
        let path = folders.settings();
        let file = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(ConfigError::Unreadable { path, source }),
        };
        let layers = [
            (Origin::Flag, flags),
            (Origin::Environment, from_environment(variables)?),
            (Origin::File(path.clone()), parsed(Origin::File(path), &file)?),
            (Origin::Default, parsed(Origin::Default, DEFAULTS)?),
        ];
        let settings = Layer::names().iter().filter_map(|name| origin_of(name, &layers)).collect();
        let joined = layers.into_iter().map(|(_, layer)| layer).reduce(Layer::or);
        let missing = || ConfigError::Invalid {
            origin: Origin::Default,
            reason: "a setting has no default".to_owned(),
        };
        joined.and_then(|layer| resolve(&layer, folders, settings)).ok_or_else(missing)
    }
}

fn resolve(layer: &Layer, folders: Folders, settings: Vec<Setting>) -> Option<Config> {
    let seconds =
        |value: Option<u64>| value.map(|seconds| Duration::from_secs(seconds.clamp(1, LONGEST)));
    let path = |text: &String| (!text.is_empty()).then(|| PathBuf::from(text));
    let gateway = GatewaySettings {
        start_timeout: seconds(layer.start_timeout_seconds)?,
        list_timeout: seconds(layer.list_timeout_seconds)?,
        call_timeout: seconds(layer.call_timeout_seconds)?,
        longest_call: seconds(layer.longest_call_seconds)?,
        parallel_starts: usize::from(layer.parallel_starts?.max(1)),
        largest_message: usize::from(layer.largest_message_mib?.max(1)) << 20,
        debounce: Duration::from_millis(layer.debounce_ms?.min(60_000)),
        session_idle: seconds(layer.session_idle_minutes?.checked_mul(60).or(Some(LONGEST)))?,
        most_sessions: usize::try_from(layer.most_sessions?.max(1)).unwrap_or(usize::MAX),
    };
    let age = Duration::from_secs(u64::from(layer.log_days?) * 24 * 60 * 60);
    Some(Config {
        folders,
        bind: layer.bind?,
        port: layer.port?,
        gateway,
        retention: Retention { age, rows: layer.log_rows? },
        overrides: Overrides {
            model: path(layer.model_dir.as_ref()?),
            runtime: path(layer.ort_lib.as_ref()?),
        },
        embedding_threads: usize::from(layer.embedding_threads?.max(1)),
        settings,
    })
}

fn origin_of(name: &str, layers: &[(Origin, Layer)]) -> Option<Setting> {
    layers.iter().find_map(|(origin, layer)| {
        let value = layer.shown(name)?;
        Some(Setting { name: name.to_owned(), value, origin: origin.to_string() })
    })
}

fn parsed(origin: Origin, text: &str) -> Result<Layer, ConfigError> {
    Layer::from_toml(text).map_err(|reason| ConfigError::Invalid { origin, reason })
}

fn from_environment(variables: &Variables) -> Result<Layer, ConfigError> {
    let names = Layer::names();
    let mut text = String::new();
    for (name, value) in variables.settings() {
        // The prefix is not ours alone: other programs may read such variables.
        if !names.contains(&name) {
            continue;
        }
        let is_number = value.parse::<u64>().is_ok();
        let value = if is_number { value } else { toml::Value::String(value).to_string() };
        text.extend([&name, " = ", &value, "\n"]);
    }
    parsed(Origin::Environment, &text)
}

#[cfg(test)]
mod tests {
    use super::{Config, Layer, Variables};

    fn load(pairs: &[(&str, &str)], file: &str, flags: Layer) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config.toml"), file).unwrap();
        let home = folder.path().to_string_lossy().into_owned();
        let pairs = [pairs, &[("COFFER_HOME", home.as_str())]].concat();
        Config::load(&Variables::of(&pairs), flags).map_err(|error| error.to_string())
    }

    #[test]
    fn a_flag_wins_over_a_variable_that_over_the_file_and_that_over_the_default() {
        let file = "port = 1\nlog-days = 1\ndebounce-ms = 1\n";
        let flags = Layer { port: Some(3), ..Layer::default() };
        let config = load(&[("COFFER_PORT", "2"), ("COFFER_LOG_DAYS", "2")], file, flags).unwrap();
        assert_eq!(config.port, 3);
        assert_eq!(config.retention.age.as_secs(), 2 * 86_400);
        assert_eq!(config.gateway.debounce.as_millis(), 1);
        assert_eq!(config.gateway.call_timeout.as_secs(), 120);
        let origin = |name: &str| {
            let origin = &config.settings.iter().find(|s| s.name == name).unwrap().origin;
            origin.rsplit('/').next().unwrap().to_owned()
        };
        assert_eq!(
            ["port", "log-days", "debounce-ms", "bind"].map(origin),
            ["flag", "environment", "config.toml", "default"]
        );
    }

    #[test]
    fn what_is_no_setting_is_named_with_its_place() {
        let error = load(&[("COFFER_PORT", "x")], "", Layer::default()).unwrap_err();
        assert!(error.starts_with("environment: line 1: invalid type"), "{error}");
        assert!(load(&[("COFFER_CMD", "x")], "", Layer::default()).is_ok());
        let error = load(&[], "bind = \"here\"", Layer::default()).unwrap_err();
        assert!(error.contains("config.toml: line 1: "), "{error}");
    }
}

//! Where files are: by the platform's rules, or all in `COFFER_HOME`.

use std::path::PathBuf;

use etcetera::{AppStrategy, AppStrategyArgs, choose_app_strategy};

use super::environment::Variables;

/// The folders of one user.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Folders {
    /// Holds `config.toml`.
    pub config: PathBuf,
    /// Holds `coffer.db`, `token` and what servers keep.
    pub data: PathBuf,
}

impl Folders {
    /// Finds the folders. Nothing when there is no home folder.
    pub fn find(variables: &Variables) -> Option<Self> {
        if let Some(home) = variables.get("COFFER_HOME") {
            let home = PathBuf::from(home);
            return Some(Self { config: home.clone(), data: home });
        }
        let strategy = choose_app_strategy(AppStrategyArgs {
            top_level_domain: "dev".to_owned(),
            author: "Coffer".to_owned(),
            app_name: "coffer".to_owned(),
        })
        .ok()?;
        Some(Self { config: strategy.config_dir(), data: strategy.data_dir() })
    }

    /// The database.
    pub fn database(&self) -> PathBuf {
        self.data.join("coffer.db")
    }

    /// The token of the HTTP front.
    pub fn token(&self) -> PathBuf {
        self.data.join("token")
    }

    /// Names the running gateway: its address, for the command line.
    pub fn gateway(&self) -> PathBuf {
        self.data.join("gateway.json")
    }

    /// Installed models.
    pub fn models(&self) -> PathBuf {
        self.data.join("models")
    }

    /// The example server's own folder.
    pub fn example(&self) -> PathBuf {
        self.data.join("example")
    }

    /// The settings file.
    pub fn settings(&self) -> PathBuf {
        self.config.join("config.toml")
    }
}

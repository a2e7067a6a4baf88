//! The environment: the only place that reads it.

use std::collections::BTreeMap;

/// Variables of the process, valid UTF-8 ones only.
#[derive(Clone, Default)]
pub struct Variables(BTreeMap<String, String>);

/// Reads the environment of this process.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
pub fn own_environment() -> Variables {
    let pairs = std::env::vars_os();
    Variables(
        pairs
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
    )
}

impl Variables {
    /// Variables given by hand.
    pub fn of(pairs: &[(&str, &str)]) -> Self {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self(pairs.iter().map(owned).collect())
    }

    /// A variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = (String, String)> + '_ {
        self.0.iter().map(|(name, value)| (name.clone(), value.clone()))
    }

    /// Those that may give settings, under the name of the setting:
    /// `COFFER_CALL_TIMEOUT_SECONDS` gives `call-timeout-seconds`.
    pub(super) fn settings(&self) -> Vec<(String, String)> {
        self.0
            .iter()
            .filter_map(|(name, value)| {
                let setting = name.strip_prefix("COFFER_")?.to_lowercase().replace('_', "-");
                Some((setting, value.clone()))
            })
            .collect()
    }
}

impl std::fmt::Debug for Variables {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Variables({})", self.0.len())
    }
}

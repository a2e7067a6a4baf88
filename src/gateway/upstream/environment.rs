//! The environment that children see.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::StdioTransport;

/// Variables that a program needs to work at all; everything else, and with it
/// every credential of the gateway's own environment, stays out unless asked for.
const PASSED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TERM",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
];

/// The gateway's own environment, as it was at start.
#[derive(Clone, Default)]
pub struct Environment(Arc<BTreeMap<String, String>>);

impl Environment {
    /// Keeps the given variables.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(Arc::new(variables.into_iter().collect()))
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }

    /// What the child of `transport`, already expanded, sees.
    pub(super) fn of_child(&self, transport: &StdioTransport) -> BTreeMap<String, String> {
        let passes = |name: &str| {
            transport.inherit_env || PASSED_ON.contains(&name) || name.starts_with("LC_")
        };
        let mut variables: BTreeMap<String, String> = self
            .0
            .iter()
            .filter(|(name, _)| passes(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        variables.extend(transport.env.iter().map(|(name, value)| (name.clone(), value.clone())));
        variables
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Environment({} variables)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::{Environment, StdioTransport};

    #[test]
    fn a_child_sees_what_it_needs_and_what_it_was_given() {
        let own = [("PATH", "/bin"), ("LC_ALL", "C"), ("SECRET_X", "1"), ("B_KEY", "2")];
        let environment =
            Environment::new(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let mut transport = StdioTransport {
            env: [("A_KEY".to_owned(), "3".to_owned())].into(),
            ..StdioTransport::default()
        };
        let names = |transport: &StdioTransport| {
            environment.of_child(transport).into_keys().collect::<Vec<_>>()
        };
        assert_eq!(names(&transport), ["A_KEY", "LC_ALL", "PATH"]);
        transport.inherit_env = true;
        assert_eq!(names(&transport), ["A_KEY", "B_KEY", "LC_ALL", "PATH", "SECRET_X"]);
    }
}

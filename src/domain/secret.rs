//! What of a server's settings must never be shown, and how text is masked.

use super::expansion::without_references;

/// Stands where a secret stood.
const MASK: &str = "***";

/// A shorter text would mask half of any message, and protects nothing.
const SHORTEST_SECRET: usize = 4;

/// Words in the name of an argument or variable that say that its value is secret.
const SECRET_WORDS: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "pwd",
    "key",
    "auth",
    "credential",
    "cookie",
    "bearer",
    "dsn",
    "connection",
];

/// Replaces the secrets of one server in any text.
#[derive(Clone, Default)]
pub struct Masker {
    /// Longest first, so that no secret hides behind a part of itself.
    secrets: Vec<String>,
}

impl Masker {
    /// Masks the given values.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> =
            values.into_iter().filter(|value| value.len() >= SHORTEST_SECRET).collect();
        secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        Self { secrets }
    }

    /// `text` with every secret replaced.
    pub fn mask(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, MASK))
    }
}

impl std::fmt::Debug for Masker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Masker({} secrets)", self.secrets.len())
    }
}

/// A value of `env` or of a header as it may be shown: references, with at most
/// the name of the scheme before them, or the mask.
pub(super) fn shown_value(value: &str) -> String {
    let clear = without_references(value);
    let clear = clear.trim();
    let is_scheme = ["", "bearer", "basic", "token"].contains(&clear.to_lowercase().as_str());
    if is_scheme && !value.is_empty() { value.to_owned() } else { MASK.to_owned() }
}

/// Arguments as they may be shown.
pub(super) fn shown_arguments(arguments: &[String]) -> Vec<String> {
    let secrets = secret_arguments(arguments);
    let masker = Masker::new(secrets);
    arguments.iter().map(|argument| masker.mask(argument)).collect()
}

/// The parts of `arguments` that are secret: the values of options whose name
/// says so, and what a URL carries as password or query.
pub(super) fn secret_arguments(arguments: &[String]) -> Vec<String> {
    let mut secrets = Vec::new();
    let mut previous_names_a_secret = false;
    for argument in arguments {
        let is_option = argument.starts_with('-');
        if previous_names_a_secret && !is_option {
            secrets.push(argument.clone());
        }
        match argument.split_once('=') {
            Some((name, value)) if names_a_secret(name) && !argument.contains("://") => {
                secrets.push(value.to_owned());
            }
            _ => secrets.extend(secrets_of_url(argument)),
        }
        previous_names_a_secret = is_option && !argument.contains('=') && names_a_secret(argument);
    }
    secrets.retain(|secret| !without_references(secret).is_empty());
    secrets
}

/// A URL as it may be shown: without password and query values.
pub(super) fn shown_url(url: &str) -> String {
    let masker = Masker::new(secrets_of_url(url));
    masker.mask(url)
}

/// Password and query values of a URL; nothing for any other text.
pub(super) fn secrets_of_url(url: &str) -> Vec<String> {
    let Some((_, rest)) = url.split_once("://") else { return Vec::new() };
    let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = address.split('/').next().unwrap_or_default();
    let password = authority
        .rsplit_once('@')
        .and_then(|(user, _)| user.split_once(':'))
        .map(|(_, password)| password.to_owned());
    let values = query
        .split(['&', '#'])
        .filter_map(|pair| pair.split_once('='))
        .map(|(_, value)| value.to_owned());
    password
        .into_iter()
        .chain(values)
        .filter(|value| !without_references(value).is_empty())
        .collect()
}

fn names_a_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::{Masker, shown_arguments, shown_url, shown_value};

    #[test]
    fn references_are_shown_and_values_are_not() {
        assert_eq!(shown_value("Bearer ${TOKEN}"), "Bearer ${TOKEN}");
        assert_eq!(shown_value("${TOKEN:-canary}"), "***");
        assert_eq!(shown_value("Bearer canary"), "***");
    }

    #[test]
    fn secret_arguments_are_masked_and_others_are_not() {
        let arguments = ["-y", "pkg", "--token=canary-4", "--api-key", "canary-5", "--port=80"];
        let arguments: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
        assert_eq!(
            shown_arguments(&arguments),
            ["-y", "pkg", "--token=***", "--api-key", "***", "--port=80"]
        );
    }

    #[test]
    fn a_url_keeps_its_host_and_loses_password_and_query_values() {
        assert_eq!(
            shown_url("https://me:canary@host/mcp?api_key=canary-3&mode=fast"),
            "https://me:***@host/mcp?api_key=***&mode=***"
        );
        assert_eq!(shown_url("http://127.0.0.1:80/mcp"), "http://127.0.0.1:80/mcp");
    }

    #[test]
    fn the_longer_of_two_nested_secrets_is_masked_whole() {
        let masker = Masker::new(["canary".to_owned(), "canary-and-more".to_owned()]);
        assert_eq!(masker.mask("x canary-and-more y canary"), "x *** y ***");
    }
}

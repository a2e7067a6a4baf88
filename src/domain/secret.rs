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

/// Headers whose value anybody may see.
const HARMLESS_HEADERS: &[&str] = &["accept", "content-type", "user-agent", "mcp-protocol-version"];

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

/// The parts of `arguments` that are secret: the values of options and headers
/// whose name says so, and what a URL carries as password or query.
pub(super) fn secret_arguments(arguments: &[String]) -> Vec<String> {
    let mut secrets = Vec::new();
    let mut previous = "";
    for argument in arguments {
        let is_option = argument.starts_with('-');
        let names_it = previous.starts_with('-') && !previous.contains('=');
        if names_it && names_a_secret(previous) && !is_option {
            secrets.push(argument.clone());
        }
        let follows_header = matches!(previous, "--header" | "-H" | "--headers");
        secrets.extend(value_of_option(argument));
        secrets.extend(value_of_header(argument, follows_header));
        secrets.extend(secrets_of_url(argument));
        previous = argument;
    }
    secrets.retain(|secret| !without_references(secret).trim().is_empty());
    secrets
}

/// The value in `--token=…`, or in `--env=API_KEY=…`.
fn value_of_option(argument: &str) -> Option<String> {
    let mut rest = argument;
    while let Some((name, value)) = rest.split_once('=') {
        // The query of a URL is judged as such.
        if name.contains("://") {
            return None;
        }
        if names_a_secret(name) {
            return Some(value.to_owned());
        }
        rest = value;
    }
    None
}

/// The value in `Authorization: Bearer …`, whole and without its scheme.
fn value_of_header(argument: &str, is_header: bool) -> Vec<String> {
    let text = argument.strip_prefix("--header=").or_else(|| argument.strip_prefix("-H"));
    let is_header = is_header || text.is_some();
    let Some((name, value)) = text.unwrap_or(argument).split_once(':') else { return Vec::new() };
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let is_harmless = HARMLESS_HEADERS.contains(&name.to_lowercase().as_str());
    if !is_name || is_harmless || value.starts_with("//") || !(is_header || names_a_secret(name)) {
        return Vec::new();
    }
    let value = value.trim();
    let credential = value.split_once(' ').map(|(_, credential)| credential.to_owned());
    credential.into_iter().chain([value.to_owned()]).collect()
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
    fn headers_and_variables_among_arguments_are_masked() {
        let arguments = ["--header", "Authorization: Bearer canary-9", "--env=API_KEY=canary-8"];
        let more =
            ["-H", "Accept: text/plain", "C:/file", "https://host/x?k=canary-7", "-e", "A=1"];
        let arguments: Vec<String> =
            arguments.iter().chain(&more).map(|&text| text.to_owned()).collect();
        let shown = shown_arguments(&arguments).join(" ");
        assert_eq!(
            shown,
            "--header Authorization: *** --env=API_KEY=*** -H Accept: text/plain C:/file https://host/x?k=*** -e A=1"
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

//! Settings as one source gives them: each may be missing.

use std::net::IpAddr;

use serde::Deserialize;

macro_rules! layer {
    ($($(#[$doc:meta])* $name:ident: $kind:ty),* $(,)?) => {
        /// Settings as one source gives them: each may be missing.
        #[derive(Clone, Debug, Default, Deserialize, PartialEq)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        pub struct Layer { $($(#[$doc])* pub $name: Option<$kind>),* }

        impl Layer {
            /// This layer, with what it lacks taken from `other`.
            #[must_use]
            pub fn or(self, other: Self) -> Self {
                Self { $($name: self.$name.or(other.$name)),* }
            }

            /// The names of all settings, as they are written.
            pub fn names() -> Vec<String> {
                vec![$(stringify!($name).replace('_', "-")),*]
            }

            /// The value of a setting, as it is written.
            pub fn shown(&self, name: &str) -> Option<String> {
                $(if name == stringify!($name).replace('_', "-") {
                    return self.$name.as_ref().map(ToString::to_string);
                })*
                None
            }
        }
    };
}

layer! {
    /// Address that `coffer serve` listens on.
    bind: IpAddr,
    /// Port that `coffer serve` listens on.
    port: u16,
    /// From starting a server to the end of the handshake.
    start_timeout_seconds: u64,
    /// For one page of a list.
    list_timeout_seconds: u64,
    /// For a call.
    call_timeout_seconds: u64,
    /// For a call with progress, all in all.
    longest_call_seconds: u64,
    /// Most servers that start at the same time.
    parallel_starts: u16,
    /// Largest message.
    largest_message_mib: u16,
    /// For which a changed list waits for more changes.
    debounce_ms: u64,
    /// Of silence, until a session over HTTP ends.
    session_idle_minutes: u64,
    /// Sessions over HTTP.
    most_sessions: u32,
    /// Days for which a row of the log is kept.
    log_days: u16,
    /// Rows of the log that are kept.
    log_rows: u32,
    /// Folder of a model that serves instead of the installed one; empty for none.
    model_dir: String,
    /// Library of the ONNX Runtime that serves instead of the installed one; empty for none.
    ort_lib: String,
    /// Threads that embed.
    embedding_threads: u16,
}

impl Layer {
    /// Reads settings in TOML. The error names line, setting and the nearest known name.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| {
            let message = error.message();
            let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
            let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
            let unknown =
                message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
            match unknown {
                Some(name) => format!("{place}{}", unknown_setting(name)),
                None => format!("{place}{message}"),
            }
        })
    }
}

/// What to say of a setting that does not exist.
fn unknown_setting(name: &str) -> String {
    let names = Layer::names();
    let nearest = names.iter().max_by_key(|known| shared_letters(known, name));
    match nearest {
        Some(known) => format!("no setting is called `{name}`; did you mean `{known}`?"),
        None => format!("no setting is called `{name}`"),
    }
}

/// Pairs of letters that two names share: enough to find a slip.
fn shared_letters(a: &str, b: &str) -> usize {
    let pairs = |text: &str| text.as_bytes().windows(2).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let of_b = pairs(b);
    pairs(a).iter().filter(|pair| of_b.contains(pair)).count()
}

#[cfg(test)]
mod tests {
    use super::Layer;

    #[test]
    fn an_unknown_setting_is_named_with_line_and_nearest_name() {
        let error = Layer::from_toml("port = 1\ncall-timeout = 3\n").unwrap_err();
        assert_eq!(
            error,
            "line 2: no setting is called `call-timeout`; did you mean `call-timeout-seconds`?"
        );
        let error = Layer::from_toml("port = \"x\"").unwrap_err();
        assert!(error.starts_with("line 1: invalid type"), "{error}");
    }
}

//! Who may ask: checked before anything else is done for a request.

use std::net::IpAddr;

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use subtle::ConstantTimeEq;

/// The rules of one listener.
#[derive(Clone, Debug)]
pub struct Access {
    /// The token that every request but `/health` has to bring.
    token: Option<Token>,
    /// The address that is listened on, when it is not a loopback address: it may
    /// be named as host too.
    bound: Option<IpAddr>,
}

#[derive(Clone)]
struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token")
    }
}

impl Access {
    /// The rules for a listener on `address`.
    pub fn new(token: Option<String>, address: IpAddr) -> Self {
        let bound = (!address.is_loopback()).then_some(address);
        Self { token: token.map(Token), bound }
    }

    /// Whether the host and origin of a request are this machine: a web page that
    /// rebinds its name to 127.0.0.1 names itself here.
    pub(super) fn check_origin(
        &self,
        headers: &HeaderMap,
    ) -> Result<(), (StatusCode, &'static str)> {
        // Each value counts: where two stand, another reader may take the other one.
        let all = |name| headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?"));
        // HTTP/1.1 requires the header; a request without it names no foreign host.
        if !all(HOST).all(|host| self.is_own_host(host)) {
            return Err((StatusCode::FORBIDDEN, "the Host header names another machine"));
        }
        let is_own_page = |origin: &str| {
            let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            host.is_some_and(|host| self.is_own_host(host))
        };
        if !all(ORIGIN).all(is_own_page) {
            return Err((StatusCode::FORBIDDEN, "the Origin header names a foreign page"));
        }
        Ok(())
    }

    /// Whether the request brings the token.
    pub(super) fn check_token(
        &self,
        headers: &HeaderMap,
    ) -> Result<(), (StatusCode, &'static str)> {
        let Some(Token(token)) = &self.token else { return Ok(()) };
        let given = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim())
            .unwrap_or_default();
        if bool::from(given.as_bytes().ct_eq(token.as_bytes())) {
            Ok(())
        } else {
            Err((
                StatusCode::UNAUTHORIZED,
                "send the token of this gateway as `Authorization: Bearer …`",
            ))
        }
    }

    /// Any port passes: a forwarded port is another number, and a rebound name is
    /// never a loopback one.
    fn is_own_host(&self, host: &str) -> bool {
        let (name, port) = match host.strip_prefix('[') {
            Some(rest) => rest.split_once(']').unwrap_or((rest, "?")),
            None => host.split_at(host.find(':').unwrap_or(host.len())),
        };
        let is_port = port.is_empty()
            || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()));
        if !is_port {
            return false;
        }
        name.eq_ignore_ascii_case("localhost")
            || name
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback() || self.admits(address))
    }

    fn admits(&self, address: IpAddr) -> bool {
        // Bound to all addresses, any literal address can be ours; a page has a name.
        self.bound.is_some_and(|bound| bound == address || bound.is_unspecified())
    }
}

/// 128 random bits or more as hexadecimal text.
pub fn new_secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::{Access, HeaderMap};

    fn origin_passes(host: Option<&str>, origin: Option<&str>, bound: &str) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in [("host", host), ("origin", origin)] {
            if let Some(value) = value {
                headers.insert(name, value.parse().unwrap());
            }
        }
        Access::new(None, bound.parse().unwrap()).check_origin(&headers).is_ok()
    }

    #[test]
    fn only_this_machine_passes_as_host_and_origin() {
        for host in ["localhost:7420", "127.0.0.1:7420", "[::1]:7420", "LOCALHOST", "127.0.0.1"] {
            assert!(origin_passes(Some(host), None, "127.0.0.1"), "{host}");
        }
        for host in ["attacker.example", "localhost.attacker.example:7420", "10.0.0.1", "", "[::2]"]
        {
            assert!(!origin_passes(Some(host), None, "127.0.0.1"), "{host}");
        }
        for origin in ["http://localhost:3000", "http://127.0.0.1:1", "https://[::1]"] {
            assert!(origin_passes(Some("localhost"), Some(origin), "127.0.0.1"), "{origin}");
        }
        for origin in [
            "http://evil.example",
            "null",
            "file://",
            "",
            "http://localhost:1@evil.example",
            "http://localhost:80/evil",
        ] {
            assert!(!origin_passes(Some("localhost"), Some(origin), "127.0.0.1"), "{origin}");
        }
        assert!(origin_passes(Some("10.0.0.1:7420"), None, "10.0.0.1"));
        assert!(!origin_passes(Some("10.0.0.2:7420"), None, "10.0.0.1"));
        assert!(origin_passes(Some("10.0.0.2:7420"), None, "0.0.0.0"));
    }

    #[test]
    fn only_the_right_token_passes() {
        let access = Access::new(Some("secret".to_owned()), "127.0.0.1".parse().unwrap());
        for (value, passes) in [
            (Some("Bearer secret"), true),
            (Some("bearer secret"), true),
            (Some("Bearer secre"), false),
            (Some("Basic secret"), false),
            (Some("secret"), false),
            (None, false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(value) = value {
                headers.insert("authorization", value.parse().unwrap());
            }
            assert_eq!(access.check_token(&headers).is_ok(), passes, "{value:?}");
        }
        assert!(!format!("{access:?}").contains("secret"));
    }
}

//! What an HTTP status of an upstream means for a request.

use std::time::Duration;

/// Longest wait that a server may ask for before the failure is passed on.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// Tries of one request that the server says it did not run.
pub(super) const MOST_TRIES: u32 = 3;

/// What to do about a status that is no success.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Verdict {
    /// The session is gone: begin a new one, and send the request again once.
    SessionLost,
    /// The server says that it did not run the request: try again after a pause.
    TryAgain(Duration),
    /// Fail, with a sentence that says what to do.
    Fail(String),
}

/// A status with what is needed to judge it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refusal<'a> {
    pub(super) status: u16,
    /// The seconds of `Retry-After`.
    pub(super) retry_after: Option<u64>,
    /// The beginning of the body.
    pub(super) body: &'a str,
    /// Whether the request named a session.
    pub(super) had_session: bool,
    /// Tries so far; 1 after the first.
    pub(super) tries: u32,
}

impl Refusal<'_> {
    /// Judges. Only statuses that say that nothing was run are ever tried again:
    /// 401, 429 and 503. A 500, 502 or 504 may hide a call that did run.
    pub(super) fn judge(self) -> Verdict {
        let may_try = self.tries < MOST_TRIES;
        match self.status {
            404 | 410 if self.had_session => Verdict::SessionLost,
            400 if self.had_session && names_the_session(self.body) => Verdict::SessionLost,
            401 if self.tries < 2 => Verdict::TryAgain(Duration::ZERO),
            401 | 403 => Verdict::Fail(format!(
                "answered {}: check the credential in its headers (`coffer show` names them)",
                self.status
            )),
            429 | 503 if may_try => {
                let asked = self.retry_after.map(Duration::from_secs);
                let wait = asked.unwrap_or(Duration::from_millis(500) * self.tries);
                if wait <= LONGEST_WAIT {
                    Verdict::TryAgain(wait)
                } else {
                    Verdict::Fail(format!(
                        "answered {} and asks for a pause of {} s; try again later",
                        self.status,
                        wait.as_secs()
                    ))
                }
            }
            404 | 405 => {
                Verdict::Fail(format!("answered {}: is its URL the MCP endpoint?", self.status))
            }
            status => Verdict::Fail(format!("answered with HTTP status {status}")),
        }
    }
}

/// Whether an error text says that the session is not known.
pub(super) fn names_the_session(body: &str) -> bool {
    body.to_lowercase().contains("session")
}

#[cfg(test)]
mod tests {
    use super::{Duration, Refusal, Verdict};

    fn judge(status: u16, retry_after: Option<u64>, body: &str, tries: u32) -> Verdict {
        Refusal { status, retry_after, body, had_session: true, tries }.judge()
    }

    #[test]
    fn only_what_was_not_run_is_tried_again() {
        assert_eq!(judge(404, None, "", 1), Verdict::SessionLost);
        assert_eq!(judge(400, None, "Session not found", 1), Verdict::SessionLost);
        assert!(matches!(judge(400, None, "bad", 1), Verdict::Fail(_)));
        assert_eq!(judge(401, None, "", 1), Verdict::TryAgain(Duration::ZERO));
        assert!(matches!(judge(401, None, "", 2), Verdict::Fail(_)));
        assert_eq!(judge(429, Some(3), "", 1), Verdict::TryAgain(Duration::from_secs(3)));
        assert!(matches!(judge(429, Some(3_600), "", 1), Verdict::Fail(_)));
        assert!(matches!(judge(503, None, "", 3), Verdict::Fail(_)));
        for status in [500, 502, 504] {
            assert!(matches!(judge(status, Some(1), "", 1), Verdict::Fail(_)), "{status}");
        }
    }
}

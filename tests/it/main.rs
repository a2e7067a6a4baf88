//! Everything tested from outside: the program as a process, its repository as files.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![expect(clippy::disallowed_methods, reason = "tests start processes and read the clock")]

mod architecture;
mod driver;
mod tidy;

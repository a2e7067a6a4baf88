//! Everything tested from outside: the program as a process, its repository as files.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]
#![expect(clippy::disallowed_methods, reason = "tests start processes and read the clock")]

mod architecture;
mod call_log;
mod calls;
mod cancelling;
mod command_codes;
mod commands;
mod commands_running;
mod commands_tools;
mod database;
mod database_sharing;
mod driver;
mod given;
mod http_access;
mod http_front;
mod http_upstream;
mod lines;
mod odd_answers;
mod offering;
mod per_client;
mod protocol;
mod references;
mod results;
mod search;
mod search_answer;
mod search_curation;
mod search_queries;
mod secrets;
mod sessions;
mod tidy;

//! Everything tested from outside: the program as a process, its repository as files.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]
#![expect(clippy::disallowed_methods, reason = "tests start processes and read the clock")]

mod architecture;
mod call_log;
mod calls;
mod cancelling;
mod changes;
mod command_codes;
mod commands;
mod commands_running;
mod commands_tools;
mod containers;
mod database;
mod database_sharing;
mod driver;
mod encoding;
mod ends;
mod framing;
mod given;
mod http_access;
mod http_front;
mod http_upstream;
mod lines;
mod listing;
mod names;
mod noise;
mod odd_answers;
mod offering;
mod opaque;
mod pages;
mod partial_lists;
mod per_client;
mod process_table;
mod processes;
mod protocol;
mod references;
mod results;
mod schemas;
mod search;
mod search_answer;
mod search_curation;
mod search_queries;
mod secrets;
mod sessions;
mod startup;
mod stubborn;
mod tidy;

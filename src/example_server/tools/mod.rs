//! The tools, one file a family: each parses what a model wrote and puts the answer in words.

mod notes;
mod numbers;
mod tables;
mod text;
mod time;
mod users;

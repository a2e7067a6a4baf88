//! Speed, on seeded data: the stages of a search, and the gateway's own work.

mod catalogue;
mod gateway;
mod search;

use criterion::{criterion_group, criterion_main};

criterion_group!(benches, search::tokenize, search::build, search::bm25, gateway::requests);
criterion_main!(benches);

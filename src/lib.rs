//! stub
/// d
pub mod domain;

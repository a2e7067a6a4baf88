//! Coffer's own tools, listed first.
//!
//! - `definition`: what they are called and what they say of themselves
//! - `arguments`: what a model sent, read with patience
//! - `search_tools`: the answer of `coffer__search_tools`

mod arguments;
mod definition;
mod search_tools;

pub(super) use arguments::SearchArguments;
pub use definition::{SEARCH_TOOLS, definitions};
pub use search_tools::KeptSearch;
pub(super) use search_tools::{SearchContext, search_tools, tool_error};

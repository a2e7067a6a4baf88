//! Failures of tools, as one or two sentences for the model that called.

use std::error::Error as _;

use rmcp::ErrorData;
use rmcp::model::ContentBlock;
use rmcp::model::IntoContents;
use thiserror::Error;

use crate::example_server::arithmetic::CalculateError;
use crate::example_server::calendar::CalendarError;
use crate::example_server::entry_name::InvalidName;
use crate::example_server::folder::FolderError;
use crate::example_server::statistics::StatisticsError;
use crate::example_server::table::TableError;
use crate::example_server::text::TextError;
use crate::example_server::users::UnknownCity;

/// Why a tool gave no result.
///
/// It reaches the client inside the result (`isError`), where a model reads it; a protocol error
/// would be seen by the client program alone.
#[derive(Debug, Error)]
pub(crate) enum ToolFailure {
    #[error(transparent)]
    Arithmetic(#[from] CalculateError),
    #[error(transparent)]
    Calendar(#[from] CalendarError),
    #[error(transparent)]
    City(#[from] UnknownCity),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Name(#[from] InvalidName),
    #[error(transparent)]
    Statistics(#[from] StatisticsError),
    #[error(transparent)]
    Table(#[from] TableError),
    #[error(transparent)]
    Text(#[from] TextError),
}

impl ToolFailure {
    /// Says what went wrong, why, and what to do about it.
    pub(crate) fn sentences(&self) -> String {
        let mut problem = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            problem = format!("{problem}: {error}");
            cause = error.source();
        }
        let mut characters = problem.chars();
        let first = characters.next().map(|c| c.to_ascii_uppercase());
        let problem: String = first.into_iter().chain(characters).collect();
        format!("{problem}. {}", self.mend())
    }

    fn mend(&self) -> String {
        match self {
            Self::Arithmetic(error) => error.mend(),
            Self::Calendar(error) => error.mend(),
            Self::City(_) => UnknownCity::mend(),
            Self::Folder(error) => error.mend(),
            Self::Name(error) => error.mend(),
            Self::Statistics(error) => error.mend(),
            Self::Table(error) => error.mend(),
            Self::Text(error) => error.mend(),
        }
    }
}

impl IntoContents for ToolFailure {
    fn into_contents(self) -> Vec<ContentBlock> {
        vec![ContentBlock::text(self.sentences())]
    }
}

/// For resources and prompts, whose results have no place for a failure.
impl From<ToolFailure> for ErrorData {
    fn from(failure: ToolFailure) -> Self {
        Self::invalid_params(failure.sentences(), None)
    }
}

//! Serves the example over the standard streams until the client leaves.

use std::path::Path;

use rmcp::ServiceExt;
use rmcp::service::QuitReason;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio_pipes;
use thiserror::Error;
use tokio::task::JoinError;

use crate::example_server::folder::FolderError;
use crate::example_server::server::ExampleServer;

/// Failure of the example server as a whole, as opposed to one of its tools.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExampleServerError {
    /// The folder with notes and tables cannot be used.
    #[error("the folder of the example server cannot be used")]
    Folder(#[from] FolderError),
    /// The client did not open an MCP session.
    #[error("the client did not open a session")]
    Handshake(#[source] Box<ServerInitializeError>),
    /// The task that answers the client ended early.
    #[error("the session ended early")]
    Session(#[source] JoinError),
}

/// Answers one client over stdin and stdout until it closes them.
///
/// `folder` is created and filled with a few examples when it is missing.
pub async fn serve_stdio(folder: &Path) -> Result<(), ExampleServerError> {
    let server = ExampleServer::open(folder)?;
    let session = match server.serve(stdio_pipes()).await {
        Ok(session) => session,
        // A client that looks and leaves is no failure.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(ExampleServerError::Handshake(Box::new(error))),
    };
    match session.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(ExampleServerError::Session(error)),
        Ok(_) => Ok(()),
    }
}

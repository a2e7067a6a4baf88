//! The server that clients see: its tools, resources and prompts put together.

use std::path::Path;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::ServerHandler;
use rmcp::handler::server::router::prompt::PromptRouter;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::model::Implementation;
use rmcp::model::ListResourceTemplatesResult;
use rmcp::model::ListResourcesResult;
use rmcp::model::PaginatedRequestParams;
use rmcp::model::ReadResourceRequestParams;
use rmcp::model::ReadResourceResponse;
use rmcp::model::ServerCapabilities;
use rmcp::model::ServerConfig;
use rmcp::prompt_handler;
use rmcp::service::RequestContext;
use rmcp::tool_handler;

use crate::example_server::folder::Folder;
use crate::example_server::folder::FolderError;
use crate::example_server::resources;
use crate::example_server::schema::for_strict_clients;
use crate::example_server::seed;

/// What a client is told about the server as a whole.
const INSTRUCTIONS: &str = "Keeps notes and CSV tables in one private folder, and answers small \
    questions about text, time and numbers. Call list_notes or list_tables first to learn which \
    names exist. Notes are also resources (note://NAME), and so are tables (table://NAME).";

/// The example server over one folder; a clone serves the same folder.
#[derive(Clone, Debug)]
pub struct ExampleServer {
    pub(crate) folder: Arc<Folder>,
    tools: ToolRouter<Self>,
    prompts: PromptRouter<Self>,
}

impl ExampleServer {
    /// Opens the folder, creating and seeding it on first use.
    pub fn open(folder: &Path) -> Result<Self, FolderError> {
        let folder = Folder::open(folder, seed::entries)?;
        Ok(Self {
            folder: Arc::new(folder),
            tools: Self::all_tools(),
            prompts: Self::prompt_router(),
        })
    }

    fn all_tools() -> ToolRouter<Self> {
        let mut tools = Self::note_tools()
            + Self::table_tools()
            + Self::text_tools()
            + Self::time_tools()
            + Self::number_tools()
            + Self::user_tools();
        for route in tools.map.values_mut() {
            let tool = &mut route.attr;
            tool.input_schema = Arc::new(for_strict_clients(&tool.input_schema));
            if let Some(output) = &mut tool.output_schema {
                *output = Arc::new(for_strict_clients(output));
            }
        }
        tools
    }
}

#[tool_handler(router = self.tools)]
#[prompt_handler(router = self.prompts)]
impl ServerHandler for ExampleServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        let implementation = Implementation::new("coffer-example", env!("CARGO_PKG_VERSION"))
            .with_title("Coffer example server");
        ServerConfig::new(capabilities)
            .with_server_info(implementation)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        resources::list(&self.folder).map(ListResourcesResult::with_all_items)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&self.folder, &request.uri).map(ReadResourceResponse::from)
    }
}

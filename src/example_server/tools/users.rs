//! The tool with the large answer.

use rmcp::handler::server::wrapper::Json;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::schemars;
use rmcp::schemars::JsonSchema;
use rmcp::tool;
use rmcp::tool_router;
use serde::Deserialize;
use serde::Serialize;

use crate::example_server::failure::ToolFailure;
use crate::example_server::server::ExampleServer;
use crate::example_server::users;
use crate::example_server::users::User;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UserWindow {
    /// How many users to pass over first; 0 when left out.
    #[serde(default)]
    offset: Option<usize>,
    /// Most users to return; all of them when left out.
    #[serde(default)]
    limit: Option<usize>,
    /// Only users of this city, in any case, for example "Lisbon"; all cities when left out.
    #[serde(default)]
    city: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct UserList {
    /// Users by id.
    users: Vec<User>,
    /// How many users there are, or live in the city, the unreturned ones included.
    total: usize,
}

#[tool_router(router = user_tools, vis = "pub(crate)")]
impl ExampleServer {
    #[tool(
        title = "List users",
        description = "Lists made-up users with id, city, age and score. Without arguments it \
            returns all 10,000, which is about half a megabyte; give `limit` or `city` for less.",
        annotations(read_only_hint = true, idempotent_hint = true, open_world_hint = false)
    )]
    fn list_users(
        Parameters(UserWindow { offset, limit, city }): Parameters<UserWindow>,
    ) -> Result<Json<UserList>, ToolFailure> {
        let users = users::users(city.as_deref())?;
        let total = users.len();
        let window = users.into_iter().skip(offset.unwrap_or(0)).take(limit.unwrap_or(total));
        Ok(Json(UserList { users: window.collect(), total }))
    }
}

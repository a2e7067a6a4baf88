//! Tools that calculate.

use rmcp::handler::server::wrapper::Json;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::schemars;
use rmcp::schemars::JsonSchema;
use rmcp::tool;
use rmcp::tool_router;
use serde::Deserialize;
use serde::Serialize;

use crate::example_server::arithmetic;
use crate::example_server::failure::ToolFailure;
use crate::example_server::server::ExampleServer;
use crate::example_server::statistics;
use crate::example_server::statistics::Summary;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Calculation {
    /// Expression of numbers, + - * / % ^, parentheses, the constants pi and e, and the functions
    /// abs, ceil, cos, exp, floor, ln, log10, log2, max, min, mod, pow, round, sin, sqrt and tan;
    /// angles are in radians. Example: "sqrt(3^2 + 4^2) / 2".
    expression: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NumberList {
    /// Numbers in any order, at least one, for example [3, 1.5, 4].
    numbers: Vec<f64>,
}

#[derive(JsonSchema, Serialize)]
struct Calculated {
    /// The expression as it was given.
    expression: String,
    /// Its value, to about 15 digits.
    result: f64,
}

#[tool_router(router = number_tools, vis = "pub(crate)")]
impl ExampleServer {
    #[tool(
        title = "Calculate",
        description = "Computes the value of an arithmetic expression. Use this instead of \
            reckoning in your head. `^` is a power and binds tighter than a sign: -2^2 is -4.",
        annotations(read_only_hint = true, idempotent_hint = true, open_world_hint = false)
    )]
    fn calculate(
        Parameters(Calculation { expression }): Parameters<Calculation>,
    ) -> Result<Json<Calculated>, ToolFailure> {
        let result = arithmetic::calculate(&expression)?;
        Ok(Json(Calculated { expression, result }))
    }

    #[tool(
        title = "Statistics",
        description = "Sums up a list of numbers: count, sum, mean, median, quartiles, smallest, \
            largest and standard deviation.",
        annotations(read_only_hint = true, idempotent_hint = true, open_world_hint = false)
    )]
    fn statistics(
        Parameters(NumberList { numbers }): Parameters<NumberList>,
    ) -> Result<Json<Summary>, ToolFailure> {
        Ok(Json(statistics::summarise(&numbers)?))
    }
}

//! Tools that tell and convert the time, and count days.

use jiff::Timestamp;
use rmcp::handler::server::wrapper::Json;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::schemars;
use rmcp::schemars::JsonSchema;
use rmcp::tool;
use rmcp::tool_router;
use serde::Deserialize;
use serde::Serialize;

use crate::example_server::calendar;
use crate::example_server::calendar::DaySpan;
use crate::example_server::calendar::LocalTime;
use crate::example_server::failure::ToolFailure;
use crate::example_server::server::ExampleServer;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ClockZone {
    /// Time zone by its IANA name, for example "Europe/Lisbon"; UTC when left out.
    #[serde(default)]
    zone: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Conversion {
    /// Date and time, for example "2025-03-30T14:30", or with an offset of its own:
    /// "2025-03-30T14:30:00+02:00" or "2025-03-30T12:30:00Z".
    time: String,
    /// IANA name of the zone in which a time without offset is meant; UTC when left out.
    #[serde(default)]
    from_zone: Option<String>,
    /// IANA name of the zone to convert to, for example "Asia/Tokyo".
    to_zone: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Dates {
    /// First date, for example "2025-03-30".
    start: String,
    /// Second date, for example "2025-12-24"; it may lie before the first.
    end: String,
}

#[derive(JsonSchema, Serialize)]
struct Converted {
    /// The given time, as it was meant.
    from: LocalTime,
    /// The same point in time in the other zone.
    to: LocalTime,
}

#[tool_router(router = time_tools, vis = "pub(crate)")]
impl ExampleServer {
    #[tool(
        title = "Current time",
        description = "Tells date, time and day of the week as it is now in one time zone.",
        annotations(read_only_hint = true, idempotent_hint = false, open_world_hint = false)
    )]
    fn current_time(
        Parameters(ClockZone { zone }): Parameters<ClockZone>,
    ) -> Result<Json<LocalTime>, ToolFailure> {
        let zone = zone.as_deref().unwrap_or("UTC");
        Ok(Json(calendar::local_time(Timestamp::now(), zone)?))
    }

    #[tool(
        title = "Convert a time",
        description = "Converts a date and time from one time zone to another, with the summer \
            time that applies on that day.",
        annotations(read_only_hint = true, idempotent_hint = true, open_world_hint = false)
    )]
    fn convert_time(
        Parameters(Conversion { time, from_zone, to_zone }): Parameters<Conversion>,
    ) -> Result<Json<Converted>, ToolFailure> {
        let timestamp = calendar::read_time(&time, from_zone.as_deref())?;
        let from = calendar::local_time(timestamp, from_zone.as_deref().unwrap_or("UTC"))?;
        Ok(Json(Converted { from, to: calendar::local_time(timestamp, &to_zone)? }))
    }

    #[tool(
        title = "Days between dates",
        description = "Counts the days, and the Mondays to Fridays, from one date to another. \
            Public holidays are not known.",
        annotations(read_only_hint = true, idempotent_hint = true, open_world_hint = false)
    )]
    fn days_between(
        Parameters(Dates { start, end }): Parameters<Dates>,
    ) -> Result<Json<DaySpan>, ToolFailure> {
        Ok(Json(calendar::days_between(&start, &end)?))
    }
}

//! `coffer log`

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::arguments::LogArguments;
use super::context::Context;
use super::error::{CliError, Kind};
use super::output;
use crate::storage::{CallFilter, Database, LoggedCall};
use crate::sys::now_ms;

/// Pause between two looks for new calls.
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(300);

pub(super) fn run(context: &Context, arguments: &LogArguments) -> Result<(), CliError> {
    let since_ms = arguments.since.as_deref().map(|text| since(text, now_ms())).transpose()?;
    let database = context.database()?;
    let mut filter = CallFilter {
        server: arguments.server.clone(),
        since_ms,
        after_id: None,
        limit: arguments.limit,
    };
    let calls = database.calls(&filter)?;
    if calls.is_empty() && !arguments.follow && !arguments.json {
        output::note("no calls are logged yet");
    }
    print(&calls, arguments.json, true)?;
    filter.after_id = Some(calls.last().map_or(0, |call| call.id));
    if arguments.follow { follow(&database, filter, arguments.json) } else { Ok(()) }
}

/// Prints calls as they come, until the process is ended or the reader has gone.
fn follow(database: &Database, mut filter: CallFilter, json: bool) -> Result<(), CliError> {
    loop {
        std::thread::sleep(LOOK_EVERY);
        let calls = database.calls(&filter)?;
        if let Some(last) = calls.last() {
            filter.after_id = Some(last.id);
            if !print(&calls, json, false)? {
                return Ok(());
            }
        }
    }
}

/// Prints calls; `false` when nobody reads them any more.
fn print(calls: &[LoggedCall], json: bool, has_header: bool) -> Result<bool, CliError> {
    let mut is_read = true;
    if json {
        for call in calls {
            is_read = output::raw(&serde_json::to_string(call)?);
        }
        return Ok(is_read);
    }
    let rows: Vec<Vec<String>> = calls.iter().map(cells).collect();
    if has_header && !rows.is_empty() {
        output::table(&["TIME", "STATUS", "MS", "CLIENT", "SERVER", "KIND", "NAME"], &rows);
    } else {
        for row in rows {
            is_read = output::line(&row.join("  "));
        }
    }
    Ok(is_read)
}

fn cells(call: &LoggedCall) -> Vec<String> {
    let time = Timestamp::from_millisecond(call.started_ms)
        .map(|time| time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string())
        .unwrap_or_default();
    let status = match &call.error_class {
        Some(class) => format!("{} ({class})", call.status),
        None => call.status.clone(),
    };
    let client = format!("{} {}", call.client_name, call.client_version).trim().to_owned();
    let duration = format!("{:.1}", call.duration_ms);
    vec![time, status, duration, client, call.server.clone(), call.kind.clone(), call.name.clone()]
}

/// Reads `30m`, `2h`, `3d` or a point in time, as milliseconds since 1970.
fn since(text: &str, now_ms: i64) -> Result<i64, CliError> {
    let unit = |suffix: char| match suffix {
        's' => Some(1_000),
        'm' => Some(60_000),
        'h' => Some(3_600_000),
        'd' => Some(86_400_000),
        _ => None,
    };
    let span = text.chars().last().and_then(unit).and_then(|length| {
        let count: i64 = text[..text.len() - 1].parse().ok()?;
        count.checked_mul(length)
    });
    if let Some(span) = span {
        return Ok(now_ms.saturating_sub(span));
    }
    text.parse::<Timestamp>().map(Timestamp::as_millisecond).map_err(|_| {
        CliError::new(Kind::Invalid, format!("`{text}` is no time"))
            .hint("write 30m, 2h or 3d, or a time such as 2026-12-01T08:00Z")
    })
}

#[cfg(test)]
mod tests {
    use super::since;

    #[test]
    fn spans_and_times_are_read() {
        assert_eq!(since("2h", 10_000_000).unwrap(), 2_800_000);
        assert_eq!(since("1970-01-01T00:00:05Z", 0).unwrap(), 5_000);
        for text in ["", "h", "2w", "yesterday", "9999999999999999999d"] {
            assert!(since(text, 0).is_err(), "{text}");
        }
    }
}

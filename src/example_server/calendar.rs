//! Points in time across zones, and days between dates.

use jiff::Timestamp;
use jiff::Zoned;
use jiff::civil::Date;
use jiff::civil::DateTime;
use jiff::civil::Weekday;
use jiff::tz;
use jiff::tz::TimeZone;
use rmcp::schemars;
use rmcp::schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

/// How many zones a message proposes at most.
const MOST_PROPOSALS: usize = 5;

/// Why a question about time has no answer.
#[derive(Debug, Error)]
pub(crate) enum CalendarError {
    #[error("there is no time zone `{zone}`")]
    UnknownZone { zone: String },
    #[error("`{text}` is not a date and time")]
    NotATime {
        text: String,
        #[source]
        source: jiff::Error,
    },
    #[error("`{text}` is not a date")]
    NotADate {
        text: String,
        #[source]
        source: jiff::Error,
    },
    #[error("`{text}` has an offset of its own, which differs from zone `{zone}`")]
    TwoZones { text: String, zone: String },
}

impl CalendarError {
    pub(crate) fn mend(&self) -> String {
        match self {
            Self::UnknownZone { zone } => {
                let near = zones_like(zone);
                if near.is_empty() {
                    "Use a name of the IANA database such as Europe/Lisbon, or UTC.".to_owned()
                } else {
                    format!("Did you mean {}?", near.join(", "))
                }
            }
            Self::NotATime { .. } => {
                "Write it like 2025-03-30T14:30, or with an offset like 2025-03-30T14:30:00+02:00."
                    .to_owned()
            }
            Self::NotADate { .. } => "Write it like 2025-03-30.".to_owned(),
            Self::TwoZones { .. } => {
                "Leave out the offset or `from_zone`, whichever is wrong.".to_owned()
            }
        }
    }
}

/// A point in time, as it is written in one zone.
#[derive(Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(inline)]
pub(crate) struct LocalTime {
    /// Name of the zone.
    pub(crate) zone: String,
    /// Date, time and offset in ISO 8601, for example 2025-03-30T14:30:00+02:00.
    pub(crate) time: String,
    /// Day of the week in English.
    pub(crate) weekday: String,
    /// Abbreviation of the zone at that time, for example CEST.
    pub(crate) abbreviation: String,
    /// Seconds since 1970-01-01T00:00:00Z.
    pub(crate) unix_seconds: i64,
}

/// Writes a point in time as people in `zone` do.
pub(crate) fn local_time(timestamp: Timestamp, zone: &str) -> Result<LocalTime, CalendarError> {
    let zoned = timestamp.to_zoned(zone_named(zone)?);
    Ok(LocalTime {
        zone: zone_name(&zoned),
        time: zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        weekday: zoned.strftime("%A").to_string(),
        abbreviation: zoned.strftime("%Z").to_string(),
        unix_seconds: timestamp.as_second(),
    })
}

/// Reads a point in time: with an offset of its own, or as a clock in `zone` showed it.
///
/// A time that a clock skipped is read as if the clock had not been put forward, a time that it
/// showed twice as the first of the two.
pub(crate) fn read_time(text: &str, zone: Option<&str>) -> Result<Timestamp, CalendarError> {
    let text = text.trim();
    let zone = zone.map(|name| zone_named(name).map(|zone| (name, zone))).transpose()?;
    let written = text.parse::<DateTime>();
    match (text.parse::<Timestamp>(), zone) {
        (Ok(timestamp), None) => Ok(timestamp),
        (Ok(timestamp), Some((name, zone))) => {
            // A clock in the zone must have shown what is written, `Z` set apart: that names no
            // clock. Else the offset or the zone is a mistake.
            match written {
                Ok(written) if written != timestamp.to_zoned(zone).datetime() => {
                    Err(CalendarError::TwoZones { text: text.to_owned(), zone: name.to_owned() })
                }
                Ok(_) | Err(_) => Ok(timestamp),
            }
        }
        (Err(_), zone) => {
            let zone = zone.map_or(TimeZone::UTC, |(_, zone)| zone);
            let zoned = written.and_then(|local| local.to_zoned(zone));
            zoned.map(|zoned| zoned.timestamp()).map_err(|source| not_a_time(text, source))
        }
    }
}

fn not_a_time(text: &str, source: jiff::Error) -> CalendarError {
    CalendarError::NotATime { text: text.to_owned(), source }
}

/// The span between two dates.
#[derive(Debug, Eq, JsonSchema, PartialEq, Serialize)]
pub(crate) struct DaySpan {
    /// Days from start to end; negative when the end comes first.
    pub(crate) days: i64,
    /// Mondays to Fridays among them, the start counted and the end not; negative likewise.
    pub(crate) working_days: i64,
    /// Day of the week of the start.
    pub(crate) start_weekday: String,
    /// Day of the week of the end.
    pub(crate) end_weekday: String,
}

pub(crate) fn days_between(start: &str, end: &str) -> Result<DaySpan, CalendarError> {
    let start = read_date(start)?;
    let end = read_date(end)?;
    let days = days_from(start, end);
    let working_days =
        if start <= end { working_days(start, days) } else { -working_days(end, -days) };
    Ok(DaySpan {
        days,
        working_days,
        start_weekday: start.strftime("%A").to_string(),
        end_weekday: end.strftime("%A").to_string(),
    })
}

fn read_date(text: &str) -> Result<Date, CalendarError> {
    let text = text.trim();
    let not_a_date = |source| CalendarError::NotADate { text: text.to_owned(), source };
    text.parse().map_err(not_a_date)
}

fn days_from(start: Date, end: Date) -> i64 {
    start.duration_until(end).as_hours() / 24
}

/// Counts Mondays to Fridays among the `days` days that begin with `first`.
fn working_days(first: Date, days: i64) -> i64 {
    let offset = i64::from(first.weekday().since(Weekday::Monday));
    let rest = (0..days % 7).filter(|day| (offset + day) % 7 < 5).count();
    days / 7 * 5 + rest as i64
}

fn zone_named(name: &str) -> Result<TimeZone, CalendarError> {
    let unknown = |_| CalendarError::UnknownZone { zone: name.to_owned() };
    TimeZone::get(&name.trim().replace(' ', "_")).map_err(unknown)
}

fn zone_name(zoned: &Zoned) -> String {
    zoned.time_zone().iana_name().unwrap_or("UTC").to_owned()
}

/// Zones whose name contains the last part of the refused one.
fn zones_like(refused: &str) -> Vec<String> {
    let part = refused.rsplit('/').next().unwrap_or(refused).trim();
    let part = part.replace(' ', "_").to_lowercase();
    if part.is_empty() {
        return Vec::new();
    }
    let names = tz::db().available().map(|name| name.to_string());
    let mut near: Vec<String> = names.filter(|name| name.to_lowercase().contains(&part)).collect();
    near.sort();
    near.truncate(MOST_PROPOSALS);
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, from: Option<&str>, to: &str, expected: &str) {
        let time = local_time(read_time(text, from).unwrap(), to).unwrap();
        assert_eq!(time.time, expected);
    }

    #[test]
    fn a_time_is_read_in_its_zone_and_written_in_another() {
        let berlin = Some("Europe/Berlin");
        check("2025-07-01T12:00", berlin, "America/New_York", "2025-07-01T06:00:00-04:00");
        check("2025-01-01T12:00", berlin, "asia/kolkata", "2025-01-01T16:30:00+05:30");
        check("2025-01-01T12:00:00Z", None, "Asia/Tokyo", "2025-01-01T21:00:00+09:00");
        check("2025-01-01T12:00+01:00", berlin, "UTC", "2025-01-01T11:00:00+00:00");
        check("2025-01-01 12:00", None, "UTC", "2025-01-01T12:00:00+00:00");
    }

    #[test]
    fn skipped_and_repeated_clock_times_have_one_reading() {
        let berlin = Some("Europe/Berlin");
        check("2025-03-30T02:30", berlin, "UTC", "2025-03-30T01:30:00+00:00");
        check("2025-10-26T02:30", berlin, "UTC", "2025-10-26T00:30:00+00:00");
    }

    #[test]
    fn failures_name_the_mend() {
        let unknown = local_time(Timestamp::UNIX_EPOCH, "Berlin").unwrap_err();
        assert_eq!(unknown.mend(), "Did you mean Europe/Berlin?");
        let text = read_time("tomorrow", None).unwrap_err();
        assert!(matches!(text, CalendarError::NotATime { .. }));
        let twice = read_time("2025-01-01T12:00+05:00", Some("Europe/Berlin")).unwrap_err();
        assert!(matches!(twice, CalendarError::TwoZones { .. }));
    }

    #[test]
    fn days_are_counted_from_start_to_end_and_weekends_do_not_work() {
        let table = [
            ("2025-01-01", "2025-01-01", 0, 0),
            ("2025-01-03", "2025-01-06", 3, 1),
            ("2025-01-06", "2025-01-03", -3, -1),
            ("2025-01-01", "2026-01-01", 365, 261),
            ("2024-02-28", "2024-03-01", 2, 2),
        ];
        for (start, end, days, working_days) in table {
            let span = days_between(start, end).unwrap();
            assert_eq!((span.days, span.working_days), (days, working_days), "{start} {end}");
        }
    }
}

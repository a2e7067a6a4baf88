//! The invocation log.

use rusqlite::{ToSql, params, params_from_iter};
use serde::Serialize;

use super::open::{Database, StorageError};
use crate::domain::CallRecord;

/// Rows deleted in one transaction, so that pruning never holds the lock for long.
const PRUNE_STEP: i64 = 5_000;

/// Which calls to read.
#[derive(Clone, Debug, Default)]
pub struct CallFilter {
    /// Only this server's.
    pub server: Option<String>,
    /// Only those that began at or after this time, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Only rows after this one.
    pub after_id: Option<i64>,
    /// At most this many, the newest.
    pub limit: u32,
}

/// A row of the log as it is read.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the fields are those of `CallRecord`")]
pub struct LoggedCall {
    pub id: i64,
    pub started_ms: i64,
    pub client_name: String,
    pub client_version: String,
    pub session: String,
    pub server: String,
    pub kind: String,
    pub name: String,
    pub duration_ms: f64,
    pub status: String,
    pub error_class: Option<String>,
}

impl Database {
    /// Appends `records` in one transaction.
    pub fn append_calls(&mut self, records: &[CallRecord]) -> Result<(), StorageError> {
        self.write(|connection| {
            let mut insert = connection.prepare_cached(
                "INSERT INTO calls (started_ms, client_name, client_version, session, server, kind,
                     name, duration_ms, status, error_class)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?;
            for record in records {
                // Microseconds are plenty, and short numbers keep the file small.
                let duration_ms = (record.duration.as_secs_f64() * 1e6).round() / 1e3;
                insert.execute(params![
                    record.started_ms,
                    record.client.name,
                    record.client.version,
                    record.session,
                    record.server,
                    record.kind,
                    record.name,
                    duration_ms,
                    record.status.as_str(),
                    record.error_class,
                ])?;
            }
            Ok(())
        })
    }

    /// The newest calls that fit `filter`, oldest first.
    pub fn calls(&self, filter: &CallFilter) -> Result<Vec<LoggedCall>, StorageError> {
        let mut conditions = String::from("1");
        let mut values: Vec<&dyn ToSql> = Vec::new();
        if let Some(server) = &filter.server {
            conditions.push_str(" AND server = ?");
            values.push(server);
        }
        if let Some(since) = &filter.since_ms {
            conditions.push_str(" AND started_ms >= ?");
            values.push(since);
        }
        if let Some(after) = &filter.after_id {
            conditions.push_str(" AND id > ?");
            values.push(after);
        }
        values.push(&filter.limit);
        let sql = format!(
            "SELECT id, started_ms, client_name, client_version, session, server, kind, name,
                 duration_ms, status, error_class
             FROM calls WHERE {conditions} ORDER BY id DESC LIMIT ?"
        );
        self.run(|connection| {
            let mut statement = connection.prepare(&sql)?;
            let rows = statement.query_map(params_from_iter(values), |row| {
                Ok(LoggedCall {
                    id: row.get(0)?,
                    started_ms: row.get(1)?,
                    client_name: row.get(2)?,
                    client_version: row.get(3)?,
                    session: row.get(4)?,
                    server: row.get(5)?,
                    kind: row.get(6)?,
                    name: row.get(7)?,
                    duration_ms: row.get(8)?,
                    status: row.get(9)?,
                    error_class: row.get(10)?,
                })
            })?;
            let mut calls: Vec<LoggedCall> = rows.collect::<rusqlite::Result<_>>()?;
            calls.reverse();
            Ok(calls)
        })
    }

    /// Deletes rows that began before `oldest_ms` and all but the newest `most`,
    /// gives their pages back to the file system, and says how many went.
    pub fn prune_calls(&mut self, oldest_ms: i64, most: i64) -> Result<usize, StorageError> {
        let mut pruned = 0;
        loop {
            let deleted = self.write(|connection| {
                connection.execute(
                    "DELETE FROM calls WHERE id IN (
                         SELECT id FROM calls
                         WHERE started_ms < ?1 OR id <= (SELECT max(id) FROM calls) - ?2
                         LIMIT ?3)",
                    params![oldest_ms, most, PRUNE_STEP],
                )
            })?;
            pruned += deleted;
            if deleted == 0 {
                break;
            }
        }
        if pruned > 0 {
            self.run(|connection| {
                // It frees a page a step, so it has to be stepped to its end.
                let mut freeing = connection.prepare("PRAGMA incremental_vacuum")?;
                let mut pages = freeing.query([])?;
                while pages.next()?.is_some() {}
                connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            })?;
        }
        Ok(pruned)
    }
}

#[cfg(test)]
mod tests {
    use super::{CallFilter, CallRecord, Database};
    use crate::domain::{CallStatus, Client};
    use crate::storage::JournalMode;
    use std::sync::Arc;
    use std::time::Duration;

    fn record(started_ms: i64, server: &str) -> CallRecord {
        CallRecord {
            started_ms,
            client: Arc::new(Client { name: "test".to_owned(), version: "1".to_owned() }),
            session: Arc::from("s"),
            server: server.to_owned(),
            kind: "tool",
            name: "t".to_owned(),
            duration: Duration::from_micros(1_500),
            status: CallStatus::Ok,
            error_class: None,
        }
    }

    #[test]
    fn calls_are_read_newest_last_and_filtered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("coffer.db");
        let mut database = Database::open(&path, JournalMode::WriteAhead).unwrap();
        database.append_calls(&[record(1, "a"), record(2, "b"), record(3, "a")]).unwrap();
        let filter =
            CallFilter { server: Some("a".to_owned()), limit: 10, ..CallFilter::default() };
        let times: Vec<i64> =
            database.calls(&filter).unwrap().iter().map(|call| call.started_ms).collect();
        assert_eq!(times, [1, 3]);
        let newest = database.calls(&CallFilter { limit: 1, ..CallFilter::default() }).unwrap();
        assert_eq!((newest[0].started_ms, newest[0].duration_ms), (3, 1.5));
    }

    #[test]
    fn pruning_keeps_the_newest_and_the_young_and_shrinks_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("coffer.db");
        let mut database = Database::open(&path, JournalMode::WriteAhead).unwrap();
        let records: Vec<CallRecord> = (0..20_000).map(|time| record(time, "a")).collect();
        database.append_calls(&records).unwrap();
        database.prune_calls(0, 20_000).unwrap();
        let full = database.calls(&CallFilter { limit: 30_000, ..CallFilter::default() }).unwrap();
        assert_eq!(full.len(), 20_000);
        assert_eq!(database.prune_calls(19_000, 100).unwrap(), 19_900);
        let left = database.calls(&CallFilter { limit: 500, ..CallFilter::default() }).unwrap();
        assert_eq!((left.len(), left[0].started_ms), (100, 19_900));
        let size = std::fs::metadata(&path).unwrap().len();
        assert!(size < 200_000, "{size}");
    }
}

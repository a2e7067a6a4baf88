//! Servers and switches: what the user registered and decided.

use std::collections::BTreeMap;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::open::{Database, StorageError};
use crate::domain::{Server, ServerName};

/// Everything the user decided, read in one transaction.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    /// Grows with every change.
    pub version: i64,
    /// The servers by name, each with its count of asked-for refreshes.
    pub servers: BTreeMap<ServerName, (Server, i64)>,
    /// Tools switched on or off, by server and original name.
    pub switches: BTreeMap<(ServerName, String), bool>,
    /// Rows that cannot be read, a sentence each; the others are not affected.
    pub unreadable: Vec<String>,
}

/// How the last attempt to reach a server ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServerState {
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// Why it could not be reached, or nothing if it was.
    pub error: Option<String>,
}

impl Database {
    /// The version of the registry: one cheap read.
    pub fn registry_version(&self) -> Result<i64, StorageError> {
        self.run(|connection| {
            connection.query_row("SELECT version FROM registry_version", [], |row| row.get(0))
        })
    }

    /// A number that changes when another connection has written anything.
    pub fn data_version(&self) -> Result<i64, StorageError> {
        self.run(|connection| connection.pragma_query_value(None, "data_version", |row| row.get(0)))
    }

    /// Reads the whole registry.
    pub fn registry(&self) -> Result<Registry, StorageError> {
        self.run(|connection| {
            let transaction = connection.unchecked_transaction()?;
            read_registry(&transaction)
        })
    }

    /// Registers `server`; `false` when the name is taken.
    pub fn add_server(&mut self, server: &Server, now_ms: i64) -> Result<bool, StorageError> {
        self.write(|connection| {
            let added = connection.execute(
                "INSERT OR IGNORE INTO servers (name, display_name, transport, is_enabled,
                     is_per_client, tags, start_timeout_ms, added_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    server.name.as_str(),
                    server.display_name,
                    json(&server.transport)?,
                    server.is_enabled,
                    server.is_per_client,
                    json(&server.tags)?,
                    server.start_timeout.map(milliseconds),
                    now_ms,
                ],
            )?;
            Ok(added == 1)
        })
    }

    /// Removes a server with its switches and manifest; its log rows stay.
    /// `false` when there is none.
    pub fn remove_server(&mut self, name: &str) -> Result<bool, StorageError> {
        self.write(|connection| {
            Ok(connection.execute("DELETE FROM servers WHERE name = ?1", [name])? == 1)
        })
    }

    /// Switches a whole server on or off. `false` when there is none.
    pub fn switch_server(&mut self, name: &str, is_enabled: bool) -> Result<bool, StorageError> {
        self.write(|connection| {
            let sql = "UPDATE servers SET is_enabled = ?2 WHERE name = ?1";
            Ok(connection.execute(sql, params![name, is_enabled])? == 1)
        })
    }

    /// Switches one tool, by its original name, on or off.
    pub fn switch_tool(
        &mut self,
        server: &ServerName,
        tool: &str,
        is_enabled: bool,
    ) -> Result<(), StorageError> {
        self.write(|connection| {
            connection.execute(
                "INSERT INTO tool_switches VALUES (?1, ?2, ?3)
                 ON CONFLICT DO UPDATE SET is_enabled = excluded.is_enabled",
                params![server.as_str(), tool, is_enabled],
            )?;
            Ok(())
        })
    }

    /// Replaces a server's tags. `false` when there is no such server.
    pub fn set_tags(&mut self, name: &ServerName, tags: &[String]) -> Result<bool, StorageError> {
        self.write(|connection| {
            let sql = "UPDATE servers SET tags = ?2 WHERE name = ?1";
            Ok(connection.execute(sql, params![name.as_str(), json(&tags)?])? == 1)
        })
    }

    /// Asks running gateways to list the server's tools again.
    pub fn ask_for_refresh(&mut self, name: &ServerName) -> Result<(), StorageError> {
        self.write(|connection| {
            let sql = "UPDATE servers SET refreshes = refreshes + 1 WHERE name = ?1";
            connection.execute(sql, [name.as_str()])?;
            Ok(())
        })
    }

    /// Notes how an attempt to reach a server ended.
    pub fn note_state(
        &mut self,
        server: &ServerName,
        state: &ServerState,
    ) -> Result<(), StorageError> {
        self.write(|connection| {
            connection.execute(
                "INSERT OR REPLACE INTO server_states
                 SELECT name, ?2, ?3 FROM servers WHERE name = ?1",
                params![server.as_str(), state.at_ms, state.error],
            )?;
            Ok(())
        })
    }

    /// How the last attempt to reach each server ended.
    pub fn states(&self) -> Result<BTreeMap<String, ServerState>, StorageError> {
        self.run(|connection| {
            let mut statement =
                connection.prepare("SELECT server, at_ms, error FROM server_states")?;
            let rows = statement.query_map([], |row| {
                Ok((row.get(0)?, ServerState { at_ms: row.get(1)?, error: row.get(2)? }))
            })?;
            rows.collect()
        })
    }
}

fn read_registry(connection: &Connection) -> rusqlite::Result<Registry> {
    let version = connection
        .query_row("SELECT version FROM registry_version", [], |row| row.get(0))
        .optional()?
        .unwrap_or_default();
    let mut registry = Registry { version, ..Registry::default() };
    let mut statement = connection.prepare(
        "SELECT name, display_name, transport, is_enabled, is_per_client, tags,
             start_timeout_ms, refreshes
         FROM servers ORDER BY name",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        match read_server(row) {
            Ok((server, refreshes)) => {
                registry.servers.insert(server.name.clone(), (server, refreshes));
            }
            Err(reason) => {
                let name = row.get::<_, String>(0).unwrap_or_default();
                registry.unreadable.push(format!(
                    "server `{name}` cannot be read ({reason}); remove it and add it again"
                ));
            }
        }
    }
    let mut statement = connection.prepare("SELECT server, tool, is_enabled FROM tool_switches")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let server: String = row.get(0)?;
        if let Ok(server) = server.parse::<ServerName>() {
            registry.switches.insert((server, row.get(1)?), row.get(2)?);
        }
    }
    Ok(registry)
}

fn read_server(row: &Row<'_>) -> Result<(Server, i64), String> {
    let text = |error: rusqlite::Error| error.to_string();
    let name: String = row.get(0).map_err(text)?;
    let transport: String = row.get(2).map_err(text)?;
    let tags: String = row.get(5).map_err(text)?;
    let start_timeout: Option<u32> = row.get(6).map_err(text)?;
    let server = Server {
        name: name.parse().map_err(|error: crate::domain::InvalidName| error.to_string())?,
        display_name: row.get(1).map_err(text)?,
        // Only the category of the error: the text may hold secrets.
        transport: serde_json::from_str(&transport)
            .map_err(|error| format!("its settings are damaged at column {}", error.column()))?,
        is_enabled: row.get(3).map_err(text)?,
        is_per_client: row.get(4).map_err(text)?,
        tags: serde_json::from_str(&tags).map_err(|_| "its tags are damaged".to_owned())?,
        start_timeout: start_timeout.map(|ms| Duration::from_millis(u64::from(ms))),
    };
    Ok((server, row.get(7).map_err(text)?))
}

pub(super) fn json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Database, Server};
    use crate::domain::{StdioTransport, Transport};
    use crate::storage::JournalMode;

    fn server(name: &str) -> Server {
        let stdio = StdioTransport { command: "true".to_owned(), ..StdioTransport::default() };
        Server {
            name: name.parse().unwrap(),
            display_name: None,
            transport: Transport::Stdio(stdio),
            is_enabled: true,
            is_per_client: false,
            tags: vec!["code".to_owned()],
            start_timeout: None,
        }
    }

    #[test]
    fn a_taken_name_is_refused_and_the_first_server_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("coffer.db");
        let mut database = Database::open(&path, JournalMode::WriteAhead).unwrap();
        assert!(database.add_server(&server("a"), 1).unwrap());
        let other = Server { tags: Vec::new(), ..server("a") };
        assert!(!database.add_server(&other, 2).unwrap());
        let registry = database.registry().unwrap();
        assert_eq!(registry.servers["a"].0, server("a"));
    }

    #[test]
    fn removing_a_server_removes_its_switches_and_every_change_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("coffer.db");
        let mut database = Database::open(&path, JournalMode::WriteAhead).unwrap();
        database.add_server(&server("a"), 1).unwrap();
        let before = database.registry_version().unwrap();
        database.switch_tool(&"a".parse().unwrap(), "t", false).unwrap();
        assert!(database.registry_version().unwrap() > before);
        database.remove_server("a").unwrap();
        database.add_server(&server("a"), 2).unwrap();
        assert!(database.registry().unwrap().switches.is_empty());
    }

    #[test]
    fn one_damaged_row_hides_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("coffer.db");
        let mut database = Database::open(&path, JournalMode::WriteAhead).unwrap();
        database.add_server(&server("a"), 1).unwrap();
        database.add_server(&server("b"), 1).unwrap();
        let damage = "UPDATE servers SET transport = '{' WHERE name = 'a'";
        database.connection.execute(damage, []).unwrap();
        let registry = database.registry().unwrap();
        assert_eq!(registry.servers.len(), 1);
        assert!(registry.unreadable[0].contains("`a`"), "{:?}", registry.unreadable);
    }
}

//! What servers offered when they were last listed.

use std::collections::BTreeMap;

use rusqlite::params;
use serde_json::value::RawValue;

use super::open::{Database, StorageError};
use super::registry::json;
use crate::domain::{EntryKind, Manifest, ServerName, judge};

/// A manifest and when it was listed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StoredManifest {
    /// Milliseconds since 1970.
    pub listed_ms: i64,
    /// What the server offered.
    pub manifest: Manifest,
}

impl Database {
    /// Keeps `manifest` as what `server` offers. Does nothing for a server that
    /// is not registered.
    pub fn keep_manifest(
        &mut self,
        server: &ServerName,
        manifest: &Manifest,
        now_ms: i64,
    ) -> Result<(), StorageError> {
        self.write(|connection| {
            let kept = connection.execute(
                "INSERT OR REPLACE INTO manifests
                 SELECT name, ?2, ?3, ?4 FROM servers WHERE name = ?1",
                params![server.as_str(), now_ms, manifest.instructions, json(&manifest.refused)?],
            )?;
            if kept == 0 {
                return Ok(());
            }
            connection
                .execute("DELETE FROM manifest_entries WHERE server = ?1", [server.as_str()])?;
            let mut insert =
                connection.prepare("INSERT INTO manifest_entries VALUES (?1, ?2, ?3, ?4, ?5)")?;
            for kind in EntryKind::ALL {
                for (position, entry) in manifest.entries(kind).iter().enumerate() {
                    let definition = entry.definition.as_str();
                    let position = i64::try_from(position).unwrap_or(i64::MAX);
                    let row =
                        params![server.as_str(), column(kind), position, entry.key, definition];
                    insert.execute(row)?;
                }
            }
            Ok(())
        })
    }

    /// All kept manifests. A damaged entry is left out, and named in `refused`.
    pub fn manifests(&self) -> Result<BTreeMap<ServerName, StoredManifest>, StorageError> {
        self.run(|connection| {
            let mut manifests = BTreeMap::new();
            let mut statement = connection
                .prepare("SELECT server, listed_ms, instructions, refused FROM manifests")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let refused: String = row.get(3)?;
                let manifest = Manifest {
                    instructions: row.get(2)?,
                    refused: serde_json::from_str(&refused).unwrap_or_default(),
                    ..Manifest::default()
                };
                if let Ok(name) = row.get::<_, String>(0)?.parse::<ServerName>() {
                    manifests.insert(name, StoredManifest { listed_ms: row.get(1)?, manifest });
                }
            }
            let mut statement = connection.prepare(
                "SELECT server, kind, definition FROM manifest_entries
                 ORDER BY server, kind, position",
            )?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let server: String = row.get(0)?;
                let Some(stored) = manifests.get_mut(server.as_str()) else { continue };
                let Some(kind) = kind_of(&row.get::<_, String>(1)?) else { continue };
                let definition: String = row.get(2)?;
                let read = serde_json::from_str::<&RawValue>(&definition)
                    .map_err(|error| format!("a kept {} is damaged ({error})", kind.noun()))
                    .and_then(|raw| judge(kind, raw));
                match read {
                    Ok(entry) => stored.manifest.entries_mut(kind).push(entry),
                    Err(reason) => stored.manifest.refused.push(reason),
                }
            }
            Ok(manifests)
        })
    }
}

fn column(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Tool => "tool",
        EntryKind::Prompt => "prompt",
        EntryKind::Resource => "resource",
        EntryKind::Template => "template",
    }
}

fn kind_of(column_text: &str) -> Option<EntryKind> {
    EntryKind::ALL.into_iter().find(|kind| column(*kind) == column_text)
}

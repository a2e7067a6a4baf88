//! Vectors, by model and by the digest of their text.

use std::collections::HashSet;

use rusqlite::{OptionalExtension, params};

use super::open::{Database, StorageError};
use crate::domain::{Embedding, TextDigest};

/// A model whose vectors have not been used for this long is forgotten.
const LONGEST_UNUSED_MS: i64 = 30 * 24 * 3600 * 1000;

/// Vectors that no tool needs are kept until there are as many again as are needed:
/// tools often come back.
const SPARE_FACTOR: usize = 2;

/// A model as the database knows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StoredModel {
    id: i64,
    dimension: usize,
    /// Counts the complete rebuilds of its vectors.
    pub generation: i64,
    /// The generation of a rebuild that has begun and not ended.
    pub rebuilding: Option<i64>,
}

impl Database {
    /// The model with this fingerprint, made known when it is new.
    pub fn model(
        &mut self,
        fingerprint: &str,
        dimension: usize,
        now_ms: i64,
    ) -> Result<StoredModel, StorageError> {
        if let Some(model) = self.find_model(fingerprint)? {
            return Ok(model);
        }
        let length = i64::try_from(dimension).unwrap_or(i64::MAX);
        self.write(|connection| {
            connection.execute(
                "INSERT INTO models (fingerprint, dimension, used_ms) VALUES (?1, ?2, ?3)
                 ON CONFLICT (fingerprint) DO NOTHING",
                params![fingerprint, length, now_ms],
            )?;
            find(connection, fingerprint)?.ok_or(rusqlite::Error::QueryReturnedNoRows)
        })
    }

    /// The model with this fingerprint, if it is known.
    pub fn find_model(&self, fingerprint: &str) -> Result<Option<StoredModel>, StorageError> {
        self.run(|connection| find(connection, fingerprint))
    }

    /// Those of `digests` that have a vector. A damaged row is as good as none.
    pub fn embeddings(
        &self,
        model: &StoredModel,
        digests: &[TextDigest],
    ) -> Result<Vec<(TextDigest, Embedding)>, StorageError> {
        self.run(|connection| {
            let mut select = connection
                .prepare_cached("SELECT vector FROM embeddings WHERE model = ?1 AND digest = ?2")?;
            let mut found = Vec::new();
            for digest in digests {
                let row = select.query_row(params![model.id, digest.0], |row| {
                    Ok(Embedding::from_bytes(row.get_ref(0)?.as_blob()?, model.dimension))
                });
                if let Some(Some(vector)) = row.optional()? {
                    found.push((*digest, vector));
                }
            }
            Ok(found)
        })
    }

    /// Keeps `vectors` as made in `generation`. They replace older ones: those of one
    /// model and text differ only when a row is damaged.
    pub fn keep_embeddings(
        &mut self,
        model: &StoredModel,
        generation: i64,
        vectors: &[(TextDigest, Embedding)],
    ) -> Result<(), StorageError> {
        self.write(|connection| {
            let mut insert = connection.prepare_cached(
                "INSERT INTO embeddings (model, digest, generation, vector) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (model, digest)
                 DO UPDATE SET generation = ?3, vector = ?4 WHERE generation <= ?3",
            )?;
            for (digest, vector) in vectors {
                insert.execute(params![model.id, digest.0, generation, vector.to_bytes()])?;
            }
            Ok(())
        })
    }

    /// Begins a rebuild, or takes up one that was cut short: its generation, and the
    /// texts that it has embedded.
    pub fn begin_rebuild(
        &mut self,
        model: &StoredModel,
    ) -> Result<(i64, HashSet<TextDigest>), StorageError> {
        self.write(|connection| {
            let generation = connection.query_row(
                "UPDATE models SET rebuilding = coalesce(rebuilding, generation + 1)
                 WHERE id = ?1 RETURNING rebuilding",
                [model.id],
                |row| row.get(0),
            )?;
            let mut select = connection
                .prepare("SELECT digest FROM embeddings WHERE model = ?1 AND generation = ?2")?;
            let done = select
                .query_map(params![model.id, generation], |row| row.get(0).map(TextDigest))?
                .collect::<rusqlite::Result<_>>()?;
            Ok((generation, done))
        })
    }

    /// Ends a rebuild: running gateways take its vectors up.
    pub fn end_rebuild(
        &mut self,
        model: &StoredModel,
        generation: i64,
    ) -> Result<(), StorageError> {
        self.write(|connection| {
            connection.execute(
                "UPDATE models SET generation = max(generation, ?2), rebuilding = NULL
                 WHERE id = ?1",
                params![model.id, generation],
            )?;
            Ok(())
        })
    }

    /// Bytes of the model's vectors.
    pub fn size_of_embeddings(&self, model: &StoredModel) -> Result<u64, StorageError> {
        self.run(|connection| {
            let sum = "SELECT coalesce(sum(length(vector)), 0) FROM embeddings WHERE model = ?1";
            connection.query_row(sum, [model.id], |row| Ok(row.get::<_, i64>(0)?.unsigned_abs()))
        })
    }

    /// Notes that the model is in use, forgets models that have not been for a month,
    /// and vectors that no text of `wanted` needs once they are the larger half.
    pub fn prune_embeddings(
        &mut self,
        model: &StoredModel,
        wanted: &HashSet<TextDigest>,
        now_ms: i64,
    ) -> Result<(), StorageError> {
        self.write(|connection| {
            connection.execute(
                "UPDATE models SET used_ms = ?2 WHERE id = ?1",
                params![model.id, now_ms],
            )?;
            connection.execute(
                "DELETE FROM models WHERE used_ms < ?1",
                params![now_ms - LONGEST_UNUSED_MS],
            )?;
            let mut select =
                connection.prepare("SELECT digest FROM embeddings WHERE model = ?1")?;
            let kept: Vec<TextDigest> = select
                .query_map([model.id], |row| row.get(0).map(TextDigest))?
                .collect::<rusqlite::Result<_>>()?;
            if kept.len() <= SPARE_FACTOR * wanted.len() {
                return Ok(());
            }
            let mut delete =
                connection.prepare("DELETE FROM embeddings WHERE model = ?1 AND digest = ?2")?;
            for digest in kept.iter().filter(|digest| !wanted.contains(digest)) {
                delete.execute(params![model.id, digest.0])?;
            }
            Ok(())
        })
    }
}

fn find(
    connection: &rusqlite::Connection,
    fingerprint: &str,
) -> rusqlite::Result<Option<StoredModel>> {
    let mut select = connection.prepare_cached(
        "SELECT id, dimension, generation, rebuilding FROM models WHERE fingerprint = ?1",
    )?;
    let row = select.query_row([fingerprint], |row| {
        Ok(StoredModel {
            id: row.get(0)?,
            dimension: usize::try_from(row.get::<_, i64>(1)?).unwrap_or_default(),
            generation: row.get(2)?,
            rebuilding: row.get(3)?,
        })
    });
    row.optional()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Database, Embedding, LONGEST_UNUSED_MS, StoredModel, TextDigest};
    use crate::storage::JournalMode;

    fn database() -> (Database, StoredModel, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("coffer.db");
        let mut database = Database::open(&path, JournalMode::WriteAhead).unwrap();
        let model = database.model("one", 2, 0).unwrap();
        (database, model, folder)
    }

    fn vector(text: &str, angle: f32) -> (TextDigest, Embedding) {
        (TextDigest::of(text), Embedding::new(vec![angle.cos(), angle.sin()]))
    }

    #[test]
    fn vectors_come_back_by_model_and_text() {
        let (mut database, model, _folder) = database();
        let vectors = [vector("a", 0.1), vector("b", 0.2)];
        database.keep_embeddings(&model, 0, &vectors).unwrap();
        let asked = [TextDigest::of("b"), TextDigest::of("c")];
        assert_eq!(database.embeddings(&model, &asked).unwrap(), vectors[1..]);
        let other = database.model("two", 2, 0).unwrap();
        assert_eq!(database.embeddings(&other, &asked).unwrap(), []);
    }

    #[test]
    fn a_damaged_row_counts_as_missing_and_can_be_replaced() {
        let (mut database, model, _folder) = database();
        let vectors = [vector("a", 0.1), vector("b", 0.2)];
        database.keep_embeddings(&model, 0, &vectors).unwrap();
        database
            .connection
            .execute("UPDATE embeddings SET vector = x'00ff' WHERE id = 1", [])
            .unwrap();
        let asked = vectors.clone().map(|(digest, _)| digest);
        assert_eq!(database.embeddings(&model, &asked).unwrap(), vectors[1..]);
        database.keep_embeddings(&model, 0, &vectors[..1]).unwrap();
        assert_eq!(database.embeddings(&model, &asked).unwrap(), vectors);
    }

    #[test]
    fn a_rebuild_that_was_cut_short_goes_on_where_it_was() {
        let (mut database, model, _folder) = database();
        database.keep_embeddings(&model, 0, &[vector("a", 0.1), vector("b", 0.2)]).unwrap();
        assert_eq!(database.begin_rebuild(&model).unwrap(), (1, HashSet::new()));
        database.keep_embeddings(&model, 1, &[vector("a", 0.1)]).unwrap();
        // A gateway beside it that embeds the same text does not undo its work.
        database.keep_embeddings(&model, 0, &[vector("a", 0.1)]).unwrap();
        let done = HashSet::from([TextDigest::of("a")]);
        assert_eq!(database.begin_rebuild(&model).unwrap(), (1, done));
        database.end_rebuild(&model, 1).unwrap();
        let model = database.model("one", 2, 0).unwrap();
        assert_eq!((model.generation, model.rebuilding), (1, None));
        assert_eq!(database.begin_rebuild(&model).unwrap().0, 2);
    }

    #[test]
    fn what_nobody_needs_is_forgotten_when_it_is_the_larger_half() {
        let (mut database, model, _folder) = database();
        let all: Vec<_> = ["a", "b", "c", "d", "e"].map(|text| vector(text, 0.1)).into();
        database.keep_embeddings(&model, 0, &all).unwrap();
        let digests: Vec<TextDigest> = all.iter().map(|(digest, _)| *digest).collect();
        let kept = |database: &Database| database.embeddings(&model, &digests).unwrap().len();
        let three: HashSet<_> = digests[..3].iter().copied().collect();
        database.prune_embeddings(&model, &three, 0).unwrap();
        assert_eq!(kept(&database), 5);
        let two: HashSet<_> = digests[..2].iter().copied().collect();
        database.prune_embeddings(&model, &two, 0).unwrap();
        assert_eq!(kept(&database), 2);
    }

    #[test]
    fn a_model_that_nobody_uses_is_forgotten_with_its_vectors() {
        let (mut database, old, _folder) = database();
        database.keep_embeddings(&old, 0, &[vector("a", 0.1)]).unwrap();
        let now = LONGEST_UNUSED_MS + 1;
        let new = database.model("two", 2, now).unwrap();
        database.prune_embeddings(&new, &HashSet::new(), now).unwrap();
        assert_eq!(database.find_model("one").unwrap(), None);
        assert_eq!(database.embeddings(&old, &[TextDigest::of("a")]).unwrap(), []);
    }
}

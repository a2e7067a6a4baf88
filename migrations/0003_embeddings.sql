-- Vectors of texts, kept by the model that made them. A text is known by its digest
-- alone, so that a tool that comes back under another name costs nothing.

CREATE TABLE models (
    id          INTEGER PRIMARY KEY,
    fingerprint TEXT NOT NULL UNIQUE,
    dimension   INTEGER NOT NULL,
    generation  INTEGER NOT NULL DEFAULT 0,      -- raised by each complete rebuild
    rebuilding  INTEGER,                         -- the generation of a rebuild that has not ended
    used_ms     INTEGER NOT NULL
) STRICT;

CREATE TABLE embeddings (
    id         INTEGER PRIMARY KEY,
    model      INTEGER NOT NULL REFERENCES models (id) ON DELETE CASCADE,
    digest     BLOB NOT NULL,
    generation INTEGER NOT NULL,
    vector     BLOB NOT NULL,                    -- numbers of 32 bits, little-endian
    UNIQUE (model, digest)
) STRICT;

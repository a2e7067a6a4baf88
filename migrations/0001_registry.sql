-- What the user registered and decided.

CREATE TABLE servers (
    name             TEXT PRIMARY KEY,
    display_name     TEXT,
    transport        TEXT NOT NULL,              -- JSON, see domain/server.rs; may hold ${VAR} references
    is_enabled       INTEGER NOT NULL DEFAULT 1,
    is_per_client    INTEGER NOT NULL DEFAULT 0,
    tags             TEXT NOT NULL DEFAULT '[]', -- JSON list in alphabetical order
    start_timeout_ms INTEGER,
    added_ms         INTEGER NOT NULL,
    refreshes        INTEGER NOT NULL DEFAULT 0  -- counts `coffer refresh`; a running gateway lists again when it grows
) STRICT;

-- On and off for single tools, by the name the server gives them, so that the
-- choice survives a tool that goes and comes back.
CREATE TABLE tool_switches (
    server     TEXT NOT NULL REFERENCES servers (name) ON DELETE CASCADE,
    tool       TEXT NOT NULL,
    is_enabled INTEGER NOT NULL,
    PRIMARY KEY (server, tool)
) STRICT, WITHOUT ROWID;

-- What each server offered when it was last listed.
CREATE TABLE manifests (
    server       TEXT PRIMARY KEY REFERENCES servers (name) ON DELETE CASCADE,
    listed_ms    INTEGER NOT NULL,
    instructions TEXT,
    refused      TEXT NOT NULL DEFAULT '[]'      -- JSON list of sentences
) STRICT;

CREATE TABLE manifest_entries (
    server     TEXT NOT NULL REFERENCES servers (name) ON DELETE CASCADE,
    kind       TEXT NOT NULL,                    -- tool | prompt | resource | template
    position   INTEGER NOT NULL,
    key        TEXT NOT NULL,                    -- name, URI or URI template
    definition TEXT NOT NULL,                    -- as the server wrote it
    PRIMARY KEY (server, kind, position)
) STRICT, WITHOUT ROWID;

-- How the last attempt to reach each server ended.
CREATE TABLE server_states (
    server TEXT PRIMARY KEY REFERENCES servers (name) ON DELETE CASCADE,
    at_ms  INTEGER NOT NULL,
    error  TEXT                                  -- NULL: it was reached
) STRICT;

-- Grows with every decision of the user, so that a running gateway sees it.
CREATE TABLE registry_version (version INTEGER NOT NULL) STRICT;
INSERT INTO registry_version VALUES (0);

CREATE TRIGGER servers_added AFTER INSERT ON servers BEGIN UPDATE registry_version SET version = version + 1; END;
CREATE TRIGGER servers_changed AFTER UPDATE ON servers BEGIN UPDATE registry_version SET version = version + 1; END;
CREATE TRIGGER servers_removed AFTER DELETE ON servers BEGIN UPDATE registry_version SET version = version + 1; END;
CREATE TRIGGER switches_added AFTER INSERT ON tool_switches BEGIN UPDATE registry_version SET version = version + 1; END;
CREATE TRIGGER switches_changed AFTER UPDATE ON tool_switches BEGIN UPDATE registry_version SET version = version + 1; END;
CREATE TRIGGER switches_removed AFTER DELETE ON tool_switches BEGIN UPDATE registry_version SET version = version + 1; END;

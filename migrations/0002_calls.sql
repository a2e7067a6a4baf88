-- The invocation log: who, what, when, how long, how it ended. No arguments, no
-- results, and no reference to `servers`: rows outlive a removed server.

CREATE TABLE calls (
    id             INTEGER PRIMARY KEY,
    started_ms     INTEGER NOT NULL,
    client_name    TEXT NOT NULL,
    client_version TEXT NOT NULL,
    session        TEXT NOT NULL,
    server         TEXT NOT NULL,
    kind           TEXT NOT NULL,                -- tool | prompt | resource
    name           TEXT NOT NULL,                -- empty for a resource, whose URI may carry data
    duration_ms    REAL NOT NULL,
    status         TEXT NOT NULL,                -- ok | error | timeout | denied | cancelled
    error_class    TEXT,
    via            TEXT                          -- the built-in tool through which it came
) STRICT;

CREATE INDEX calls_by_time ON calls (started_ms);
CREATE INDEX calls_by_server ON calls (server, started_ms);

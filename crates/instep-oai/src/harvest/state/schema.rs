//! The tables of the state of a harvest.

use instep_store::database::Schema;

/// With `FULL` each commit waits for the disk: a token is used once only, so the place in the list must not be lost.
pub(crate) const SCHEMA: Schema = Schema {
    // "ioai"
    application_id: 0x696f_6169,
    steps: &[TABLES, OWED, DELETED],
    settings: "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
               PRAGMA cache_size = -8192; PRAGMA wal_autocheckpoint = 2000; PRAGMA journal_size_limit = 67108864;",
    has_unnumbered_files: false,
};

const TABLES: &str = "
CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE list (
    format TEXT NOT NULL PRIMARY KEY, run INTEGER NOT NULL, is_open INTEGER NOT NULL, is_whole INTEGER NOT NULL,
    token TEXT, began_from INTEGER, started_at INTEGER, reached_at INTEGER, is_ordered INTEGER NOT NULL,
    has_strangers INTEGER NOT NULL, next_from INTEGER, inventoried_at INTEGER
) WITHOUT ROWID;
CREATE TABLE resource (
    path TEXT NOT NULL PRIMARY KEY, kind INTEGER NOT NULL, format TEXT NOT NULL, identifier TEXT NOT NULL,
    length INTEGER, digest BLOB, media_type TEXT, url TEXT, datestamp TEXT, sets TEXT, run INTEGER NOT NULL,
    etag TEXT, modified TEXT
) WITHOUT ROWID;
CREATE INDEX resource_identifier ON resource (identifier);
CREATE INDEX resource_owed ON resource (path) WHERE kind = 2 AND run = 0;
CREATE TABLE placing (number INTEGER PRIMARY KEY, path TEXT NOT NULL);
CREATE TABLE leaving (path TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
";

/// `tried` orders the records: the one that was requested longest ago has the smallest number.
const OWED: &str = "
CREATE TABLE owed (
    format TEXT NOT NULL, identifier TEXT NOT NULL, tried INTEGER NOT NULL, PRIMARY KEY (format, identifier)
) WITHOUT ROWID;
CREATE INDEX owed_tried ON owed (format, tried);
";

/// The deletions in lists that are under way. A removed record has no row of its own that an older state in the same
/// list could be compared with.
const DELETED: &str = "
CREATE TABLE deleted (
    format TEXT NOT NULL, identifier TEXT NOT NULL, run INTEGER NOT NULL, datestamp TEXT NOT NULL,
    PRIMARY KEY (format, identifier)
) WITHOUT ROWID;
";

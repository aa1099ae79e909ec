//! The tables of the index of records.

use instep_store::database::Schema;

/// The index can be made again, so a commit does not wait for the disk.
pub(super) const SCHEMA: Schema = Schema {
    // "roai"
    application_id: 0x726f_6169,
    steps: &[TABLES, GENERATED, UNREAD],
    settings: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -8192;
               PRAGMA wal_autocheckpoint = 2000; PRAGMA journal_size_limit = 67108864;",
    has_unnumbered_files: false,
};

const TABLES: &str = "
CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE record (
    number INTEGER PRIMARY KEY, identifier TEXT NOT NULL, format TEXT NOT NULL, uri TEXT NOT NULL,
    datestamp INTEGER NOT NULL, is_deleted INTEGER NOT NULL, sets TEXT NOT NULL, digest BLOB, pass INTEGER NOT NULL,
    UNIQUE (identifier, format)
);
CREATE INDEX record_uri ON record (uri);
CREATE INDEX record_listed ON record (format, datestamp, number);
CREATE TABLE format (prefix TEXT NOT NULL PRIMARY KEY, namespace TEXT NOT NULL, schema TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE spec (name TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
";

/// Records without their own document, and those with `about` containers. A pass over all resources finds both.
const GENERATED: &str = "
ALTER TABLE record ADD COLUMN is_generated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE record ADD COLUMN about TEXT;
CREATE INDEX record_about ON record (about) WHERE about IS NOT NULL;
DELETE FROM meta WHERE name = 'sequence';
";

/// Resources whose documents could not be read for a fault that may pass; `tried` orders them: the one that was read
/// longest ago has the smallest number.
const UNREAD: &str = "
CREATE TABLE unread (uri TEXT NOT NULL PRIMARY KEY, tried INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX unread_tried ON unread (tried);
";

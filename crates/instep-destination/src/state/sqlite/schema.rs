//! The tables of the state, through all versions.

use instep_store::database::Schema;

/// The versions and settings of the file. Only an intent waits for the disk (`synchronous`), which makes all earlier
/// writes durable too. Later writes become durable when the log is merged at the end of a run. The log is also merged
/// every 8,000 pages: seldom enough that a group costs one sync of the log.
pub(super) const SCHEMA: Schema = Schema {
    // "inst", so that `file` can identify it.
    application_id: 0x696e_7374,
    steps: &[
        VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5, VERSION_6, VERSION_7, VERSION_8, VERSION_9,
        VERSION_10, VERSION_11, VERSION_12,
    ],
    settings: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 8000;
               PRAGMA cache_size = -8192;",
    has_unnumbered_files: false,
};

const VERSION_1: &str = "
CREATE TABLE held (
    uri TEXT PRIMARY KEY, id INTEGER NOT NULL, sets INTEGER NOT NULL,
    length INTEGER NOT NULL, digests BLOB NOT NULL, lastmod TEXT, datetime TEXT, etag TEXT, media_type TEXT,
    path TEXT NOT NULL, name TEXT
) WITHOUT ROWID;
CREATE INDEX held_by_name ON held (COALESCE(name, path));
CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE owed (
    uri TEXT PRIMARY KEY, set_id INTEGER NOT NULL, change TEXT NOT NULL, attempts INTEGER NOT NULL, why TEXT NOT NULL,
    length INTEGER, digests BLOB NOT NULL, lastmod TEXT, datetime TEXT, etag TEXT, media_type TEXT, extra TEXT
) WITHOUT ROWID;
CREATE TABLE set_of_resources (
    id INTEGER PRIMARY KEY, uri TEXT NOT NULL UNIQUE,
    datetime TEXT, last_uri TEXT, last_datetime TEXT, last_change TEXT, document TEXT, position INTEGER NOT NULL DEFAULT 0,
    newest TEXT
);
CREATE TABLE document (
    uri TEXT PRIMARY KEY, etag TEXT, last_modified TEXT, digest BLOB, at TEXT, extra TEXT
) WITHOUT ROWID;
CREATE TABLE intent (id INTEGER PRIMARY KEY, operations TEXT NOT NULL);
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE run (
    id INTEGER PRIMARY KEY, started TEXT NOT NULL, finished TEXT, what TEXT NOT NULL, exit_code INTEGER, summary TEXT
);
CREATE TABLE problem (
    run INTEGER NOT NULL, kind TEXT NOT NULL, count INTEGER NOT NULL, uri TEXT, message TEXT NOT NULL,
    PRIMARY KEY (run, kind)
) WITHOUT ROWID;
";

const VERSION_2: &str = "
CREATE TABLE change (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, change TEXT NOT NULL, uri TEXT NOT NULL, path TEXT NOT NULL,
    length INTEGER, digests BLOB NOT NULL, lastmod TEXT, datetime TEXT
);
";

/// Links of a resource to others (§14).
const VERSION_3: &str = "
ALTER TABLE held ADD COLUMN links TEXT;
ALTER TABLE owed ADD COLUMN links TEXT;
";

/// Intents have a new form. An unfinished intent of an older program is dropped: files that it had placed are found
/// by the next run, or by an audit.
const VERSION_4: &str = "
DROP TABLE intent;
CREATE TABLE intent (id INTEGER PRIMARY KEY, operations BLOB NOT NULL);
";

/// Intents record the version of their bytes. The rules of a plan are a record; earlier ones cannot be compared, so
/// that the next run compares the complete copy once.
const VERSION_5: &str = r#"
ALTER TABLE intent ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
UPDATE setting SET name = 'policy ' || replace(replace(name, 'policy SetId(', ''), ')', ''),
    value = '{"version":1,"deletes":' || iif(value LIKE 'delete %', 'true', 'false') || ',"selection":""}'
    WHERE name LIKE 'policy SetId(%';
"#;

/// Pending retries are kept for each set: two sets may want one resource, and one may get it while the other does not.
const VERSION_6: &str = "
ALTER TABLE owed RENAME TO owed_4;
CREATE TABLE owed (
    uri TEXT NOT NULL, set_id INTEGER NOT NULL, change TEXT NOT NULL, attempts INTEGER NOT NULL, why TEXT NOT NULL,
    length INTEGER, digests BLOB NOT NULL, lastmod TEXT, datetime TEXT, etag TEXT, media_type TEXT, extra TEXT, links TEXT,
    PRIMARY KEY (set_id, uri)
) WITHOUT ROWID;
INSERT INTO owed (uri, set_id, change, attempts, why, length, digests, lastmod, datetime, etag, media_type, extra, links)
    SELECT uri, set_id, change, attempts, why, length, digests, lastmod, datetime, etag, media_type, extra, links FROM owed_4;
DROP TABLE owed_4;
";

/// The digest of the entries of a Change List that were read. A list read by an earlier version is read again.
const VERSION_7: &str = "ALTER TABLE set_of_resources ADD COLUMN leading BLOB;";

/// Deletions that are later than the inventory that was applied (O7).
const VERSION_8: &str = "
CREATE TABLE gone (
    uri TEXT NOT NULL, set_id INTEGER NOT NULL, micros INTEGER NOT NULL, PRIMARY KEY (set_id, uri)
) WITHOUT ROWID;
";

/// Each Source of a copy has its own record. The sets of the last synced URL are those of its host; the Source of the
/// others is known when they are found again.
const VERSION_9: &str = "
CREATE TABLE source (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE);
INSERT INTO source (id, url) SELECT 1, value FROM setting WHERE name = 'url';
ALTER TABLE set_of_resources ADD COLUMN source INTEGER;
UPDATE set_of_resources SET source = 1 WHERE EXISTS (
    SELECT 1 FROM source
    WHERE substr(set_of_resources.uri, 1, 8 + instr(substr(source.url, 9), '/')) = substr(source.url, 1, 8 + instr(substr(source.url, 9), '/'))
);
ALTER TABLE run ADD COLUMN source INTEGER;
UPDATE run SET source = 1 WHERE EXISTS (SELECT 1 FROM source);
UPDATE setting SET name = 'way 1' WHERE name = 'way';
";

/// The point of the Source's time that the copy had reached at the end of a run, in microseconds, at most one a
/// minute. Earlier ones are unknown.
const VERSION_10: &str = "
CREATE TABLE reached (minute INTEGER PRIMARY KEY, at INTEGER NOT NULL, datetime INTEGER NOT NULL);
";

/// Objects in object storage that have the bytes of resources, and the part that belongs to a resource. An object
/// without `bytes` is begun, and no row may lead to it yet.
const VERSION_11: &str = r#"
CREATE TABLE pack (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, bytes INTEGER, dead INTEGER NOT NULL DEFAULT 0);
ALTER TABLE held ADD COLUMN pack INTEGER;
ALTER TABLE held ADD COLUMN "offset" INTEGER;
ALTER TABLE held ADD COLUMN packed INTEGER;
"#;

/// The racy resources, whose bytes may be replaced without a new last modification (O22). Resources of earlier versions
/// count as not racy.
const VERSION_12: &str = "ALTER TABLE held ADD COLUMN racy INTEGER NOT NULL DEFAULT 0;";

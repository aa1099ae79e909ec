//! The tables of a record in a file, through all versions.

use instep_store::database::Schema;

/// The file. All important data is also in the copies, so no write waits for the disk: after a power failure the last
/// looks are repeated.
pub(super) const SCHEMA: Schema = Schema {
    // "infl", so that `file` can identify it.
    application_id: 0x696e_666c,
    steps: &[VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5, VERSION_6],
    settings: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -8192;",
    has_unnumbered_files: false,
};

const VERSION_1: &str = "
CREATE TABLE source (
    name TEXT PRIMARY KEY, definition TEXT NOT NULL, folder TEXT NOT NULL, from_file INTEGER NOT NULL, added INTEGER NOT NULL,
    paused INTEGER NOT NULL DEFAULT 0, approved INTEGER NOT NULL DEFAULT 0, wanted INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL, interval INTEGER NOT NULL, failures INTEGER NOT NULL, quarantined INTEGER NOT NULL,
    sized_resources INTEGER, sized_bytes INTEGER,
    began INTEGER, ended INTEGER, exit_code INTEGER, summary TEXT NOT NULL DEFAULT '', success INTEGER, checkpoint INTEGER,
    held INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0, pending INTEGER NOT NULL DEFAULT 0, alerted TEXT
) WITHOUT ROWID;
CREATE INDEX source_by_folder ON source (folder);
CREATE TABLE look (
    source TEXT NOT NULL, at INTEGER NOT NULL, exit_code INTEGER NOT NULL, lag INTEGER,
    held INTEGER NOT NULL, bytes INTEGER NOT NULL, pending INTEGER NOT NULL, changed INTEGER NOT NULL, transferred INTEGER NOT NULL,
    PRIMARY KEY (source, at)
) WITHOUT ROWID;
CREATE TABLE audit (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL, source TEXT);
CREATE TABLE alert (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, source TEXT NOT NULL, url TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL);
";

const VERSION_2: &str = "CREATE TABLE survey (source TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;";

/// Workers, as in a record that several share: here there is one at most.
const VERSION_3: &str = "
CREATE TABLE worker (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, url TEXT, began INTEGER NOT NULL, beat INTEGER NOT NULL DEFAULT 0,
    claims INTEGER NOT NULL DEFAULT 0, running INTEGER NOT NULL DEFAULT 0
);
ALTER TABLE source ADD COLUMN worker INTEGER;
ALTER TABLE source ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE source ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE alert ADD COLUMN worker INTEGER;
";

/// Earlier versions counted each look with exit code 0 as one that found the copy in step.
const VERSION_4: &str = "ALTER TABLE source ADD COLUMN in_step INTEGER NOT NULL DEFAULT 1;";

/// A Source that was removed and added again is newer than it was before: a process that reads both at once would keep
/// what it knows of the former one.
const VERSION_5: &str = "
CREATE TABLE forgotten (changed INTEGER NOT NULL);
INSERT INTO forgotten VALUES (0);
CREATE TRIGGER source_forgotten AFTER DELETE ON source
    BEGIN UPDATE forgotten SET changed = MAX(changed, OLD.changed); END;
CREATE TRIGGER source_added AFTER INSERT ON source
    BEGIN UPDATE source SET changed = (SELECT changed + 1 FROM forgotten) WHERE name = NEW.name; END;
";

/// A Source that failed before has no cause until its next look.
const VERSION_6: &str = "ALTER TABLE source ADD COLUMN cause TEXT;";

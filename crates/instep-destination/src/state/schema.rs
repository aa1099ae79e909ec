use std::path::Path;

use rusqlite::Connection;

use super::StateError;

/// The version that this program writes.
const KNOWN: u32 = 4;

/// The first bytes of "instep", so that `file` and people can tell.
const APPLICATION_ID: u32 = 0x696e_7374;

/// Each leads from the version of its place to the next.
const MIGRATIONS: [&str; KNOWN as usize] = [VERSION_1, VERSION_2, VERSION_3, VERSION_4];

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

/// What else the Source says of a resource: links to others (§14).
const VERSION_3: &str = "
ALTER TABLE held ADD COLUMN links TEXT;
ALTER TABLE owed ADD COLUMN links TEXT;
";

/// Intents are written in another form. One that an older program left under way is given up: what it had placed is found by the
/// next run, or by an audit.
const VERSION_4: &str = "
DROP TABLE intent;
CREATE TABLE intent (id INTEGER PRIMARY KEY, operations BLOB NOT NULL);
";

/// Brings the tables to the version known here; what is older is copied beside the file first.
pub(super) fn bring_up_to_date(connection: &mut Connection, path: &Path) -> Result<(), StateError> {
    let sqlite = |source| StateError::sqlite(path, source);
    let found: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(sqlite)?;
    if found > KNOWN {
        return Err(StateError::Newer { path: path.to_owned(), found, known: KNOWN });
    }
    if found == KNOWN {
        return Ok(());
    }
    if found > 0 {
        back_up(connection, path, found)?;
    }
    let transaction = connection.transaction().map_err(sqlite)?;
    for migration in &MIGRATIONS[found as usize..] {
        transaction.execute_batch(migration).map_err(sqlite)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(sqlite)?;
    transaction.pragma_update(None, "user_version", KNOWN).map_err(sqlite)?;
    transaction.commit().map_err(sqlite)
}

fn back_up(connection: &Connection, path: &Path, found: u32) -> Result<(), StateError> {
    let backup = path.with_extension(format!("version-{found}.sqlite"));
    let io = |source| StateError::Backup { path: backup.clone(), source };
    if backup.exists() {
        std::fs::remove_file(&backup).map_err(io)?;
    }
    connection
        .execute("VACUUM INTO ?1", [backup.to_string_lossy()])
        .map_err(|source| StateError::sqlite(&backup, source))?;
    std::fs::File::open(&backup).and_then(|file| file.sync_all()).map_err(io)
}

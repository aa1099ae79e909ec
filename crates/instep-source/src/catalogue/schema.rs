//! The file: its tables, its version, and how an older one becomes a newer one.

use std::{fs, io, path::Path, sync::Arc, time::Duration};

use rusqlite::{Connection, OpenFlags};

use super::{CatalogueError, error::Doing};

/// "inst", so that a database of somebody else is not taken for ours.
const APPLICATION_ID: i64 = 0x696e_7374;

/// What makes version n + 1 of version n; none of them is ever edited once released.
const STEPS: [&str; 3] = [
    "
CREATE TABLE resource (
    key BLOB NOT NULL PRIMARY KEY,
    file_length INTEGER, mtime_ns INTEGER, ctime_ns INTEGER, inode INTEGER, rehash INTEGER NOT NULL,
    sets INTEGER NOT NULL, uri TEXT NOT NULL,
    lastmod, length INTEGER, digests BLOB, media_type TEXT, encoding TEXT, changefreq TEXT, links TEXT,
    file BLOB, since INTEGER NOT NULL, changes INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE change (
    sequence INTEGER PRIMARY KEY,
    datetime INTEGER NOT NULL, kind INTEGER NOT NULL, sets INTEGER NOT NULL, uri TEXT NOT NULL,
    lastmod, length INTEGER, digests BLOB, media_type TEXT, encoding TEXT, changefreq TEXT, links TEXT
);
CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    sequence INTEGER NOT NULL, datetime INTEGER, forgotten INTEGER NOT NULL, revision INTEGER NOT NULL,
    baselined INTEGER NOT NULL, clock INTEGER NOT NULL
);
INSERT INTO head VALUES (1, 0, NULL, 0, 0, 0, 0);
CREATE TABLE tally (number INTEGER PRIMARY KEY, resources INTEGER NOT NULL, bytes INTEGER NOT NULL);
CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
",
    "
ALTER TABLE change ADD COLUMN before BLOB;
ALTER TABLE change ADD COLUMN patch TEXT;
",
    "
CREATE TABLE version (
    uri TEXT NOT NULL, datetime INTEGER NOT NULL, gone INTEGER NOT NULL,
    lastmod, length INTEGER, digests BLOB, media_type TEXT, encoding TEXT, changefreq TEXT, links TEXT,
    PRIMARY KEY (uri, datetime)
) WITHOUT ROWID;
CREATE INDEX version_digests ON version (digests);
",
];

/// Opens the one connection that writes; makes the file, or brings it to the present version.
pub(super) fn open_writer(path: &Path) -> Result<Connection, CatalogueError> {
    open(path, &STEPS)
}

fn open(path: &Path, steps: &[&str]) -> Result<Connection, CatalogueError> {
    let opening = |source| CatalogueError::Open { path: path.to_owned(), source: Arc::new(source) };
    let mut connection = Connection::open(path).map_err(opening)?;
    connection.busy_timeout(Duration::from_secs(10)).map_err(opening)?;
    let application: i64 =
        connection.query_row("PRAGMA application_id", [], |row| row.get(0)).map_err(opening)?;
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(opening)?;
    let known = steps.len() as i64;
    match (application, version) {
        (0, 0) if is_empty(&connection).map_err(opening)? => {}
        (APPLICATION_ID, version) if version > known => {
            return Err(CatalogueError::Newer { path: path.to_owned(), found: version, known });
        }
        (APPLICATION_ID, _) => {}
        _ => return Err(CatalogueError::Foreign { path: path.to_owned() }),
    }
    connection
        .execute_batch(
            "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 2000;
             PRAGMA journal_size_limit = 67108864;",
        )
        .map_err(opening)?;
    if version < known {
        if version > 0 {
            back_up(&connection, path, version)?;
        }
        migrate(&mut connection, version as usize, steps).doing("migrating to a newer schema")?;
    }
    Ok(connection)
}

/// Opens a connection that stands in for the one that writes, beside another process that has it.
pub(super) fn open_beside(path: &Path) -> Result<Connection, CatalogueError> {
    let connection = open_reader(path)?;
    let known = STEPS.len() as i64;
    let found: i64 = connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .doing("reading the version of the schema")?;
    match found == known {
        true => Ok(connection),
        false => Err(CatalogueError::Newer { path: path.to_owned(), found, known }),
    }
}

/// Opens one of the connections that read.
pub(super) fn open_reader(path: &Path) -> Result<Connection, CatalogueError> {
    let opening = |source| CatalogueError::Open { path: path.to_owned(), source: Arc::new(source) };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(opening)?;
    connection.busy_timeout(Duration::from_secs(10)).map_err(opening)?;
    connection.execute_batch("PRAGMA cache_size = -2048;").map_err(opening)?;
    Ok(connection)
}

/// Writes the file anew without its empty pages; its bytes before and after.
pub(super) fn compact(connection: &Connection) -> Result<(u64, u64), CatalogueError> {
    const COMPACTING: &str = "compacting";
    let bytes = || {
        let pages = connection.query_row("PRAGMA page_count", [], |row| row.get::<_, i64>(0))?;
        let size = connection.query_row("PRAGMA page_size", [], |row| row.get::<_, i64>(0))?;
        Ok((pages * size) as u64)
    };
    let before = bytes().doing(COMPACTING)?;
    connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);").doing(COMPACTING)?;
    Ok((before, bytes().doing(COMPACTING)?))
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
}

fn migrate(connection: &mut Connection, from: usize, steps: &[&str]) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    for step in &steps[from..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", steps.len() as i64)?;
    transaction.commit()
}

/// Leaves a copy of the old version beside the file: `catalogue.db.v1`.
fn back_up(connection: &Connection, path: &Path, version: i64) -> Result<(), CatalogueError> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".v{version}"));
    let copy = Path::new(&name);
    let failing = |source| CatalogueError::Backup { path: copy.to_owned(), source: Arc::new(source) };
    match fs::remove_file(copy) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failing(error)),
        _ => {}
    }
    connection.execute("VACUUM INTO ?1", [copy.to_string_lossy()]).doing("backing up before a migration")?;
    fs::File::open(copy).and_then(|copy| copy.sync_all()).map_err(failing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(connection: &Connection) -> i64 {
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn an_older_schema_is_migrated_and_its_file_kept_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalogue.db");
        let old = open_writer(&path).unwrap();
        old.execute("INSERT INTO meta VALUES ('name', x'01')", []).unwrap();
        drop(old);
        let next = "CREATE TABLE later (number INTEGER); INSERT INTO later SELECT length(value) FROM meta";
        let steps: Vec<_> = STEPS.into_iter().chain([next]).collect();
        let new = open(&path, &steps).unwrap();
        assert_eq!(version(&new), STEPS.len() as i64 + 1);
        let read = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        assert_eq!(new.query_row("SELECT number FROM later", [], read).unwrap(), 1);
        drop(new);
        let refused = open_writer(&path).unwrap_err();
        assert!(matches!(refused, CatalogueError::Newer { .. }), "{refused}");
        let kept = folder.path().join(format!("catalogue.db.v{}", STEPS.len()));
        let kept = open_writer(&kept).unwrap();
        assert_eq!(version(&kept), STEPS.len() as i64);
        assert_eq!(kept.query_row("SELECT count(*) FROM meta", [], read).unwrap(), 1);
    }

    #[test]
    fn a_migration_that_fails_leaves_the_old_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalogue.db");
        drop(open_writer(&path).unwrap());
        let steps: Vec<_> = STEPS.into_iter().chain(["CREATE TABLE later (number); nonsense"]).collect();
        assert!(open(&path, &steps).is_err());
        assert_eq!(version(&open_writer(&path).unwrap()), STEPS.len() as i64);
    }
}

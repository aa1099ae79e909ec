//! The file itself: opened without following links, copied, rewritten.

use std::{
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{
    Connection, OpenFlags,
    config::DbConfig,
    types::{ToSqlOutput, ValueRef},
};
use tempfile::TempDir;

use super::error::DatabaseError;
use crate::parent::parent_folder;

/// The time that a statement waits for another process before it fails. Writers hold the file for one transaction only,
/// and the longest of those, a large migration, takes seconds.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// The log of the last transactions beside a file, and the index of that log.
const LOG: &str = "-wal";
const INDEX: &str = "-shm";

/// Opens a file that no process writes, without creating its log or its index, which SQLite creates even for reading.
pub(super) fn open_at_rest(path: &Path, cache_kib: u32) -> Result<Connection, DatabaseError> {
    let mut address = "file:".to_owned();
    for byte in resolved(path).as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                address.push(char::from(*byte))
            }
            other => address.push_str(&format!("%{other:02x}")),
        }
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened =
        Connection::open_with_flags(format!("{address}?immutable=1"), flags).and_then(with_fixed_plans);
    with_cache(opened.map_err(DatabaseError::opening(path))?, path, cache_kib)
}

/// Limits the part of a file that a connection keeps in memory to this many KiB.
pub(super) fn with_cache(
    connection: Connection,
    path: &Path,
    cache_kib: u32,
) -> Result<Connection, DatabaseError> {
    // SQLite reads a negative number as KiB and a positive one as pages.
    let set = connection.pragma_update(None, "cache_size", -i64::from(cache_kib));
    set.map_err(DatabaseError::opening(path))?;
    Ok(connection)
}

/// Opens a file that no link has the name of. The way to its folder is the operator's and may have links.
pub(super) fn open(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NOFOLLOW | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(resolved(path), flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    with_fixed_plans(connection)
}

/// Makes the plan of each statement independent of its parameters. Otherwise SQLite compiles a statement with a range or a
/// limit again when a parameter is bound anew, to look for a better plan, although without collected statistics it
/// always finds the same one.
///
/// # Errors
/// If the connection cannot be used.
pub fn with_fixed_plans(connection: Connection) -> rusqlite::Result<Connection> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// Resolves the folder of a file, because SQLite checks the whole path for links. A missing folder is left to SQLite
/// to report.
fn resolved(path: &Path) -> PathBuf {
    let folder = parent_folder(path);
    let resolved = folder.canonicalize().ok().zip(path.file_name()).map(|(folder, name)| folder.join(name));
    resolved.unwrap_or_else(|| path.to_owned())
}

/// Returns the place of the copy that is made before a file of a version is migrated: `state.sqlite` ->
/// `state.sqlite.v3`.
pub fn backup_path(path: &Path, version: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".v{version}"));
    name.into()
}

/// Copies a file, replacing an existing copy. The copy is durable when this returns, because the migration that
/// follows may fail.
pub(super) fn back_up(connection: &Connection, copy: &Path) -> Result<(), DatabaseError> {
    let failing = |source| DatabaseError::Backup { path: copy.to_owned(), source };
    match fs::remove_file(copy) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failing(error)),
        _ => {}
    }
    copy_into(connection, copy).map_err(|error| failing(io::Error::other(error)))?;
    fs::File::open(copy).and_then(|copy| copy.sync_all()).map_err(failing)
}

/// Copies a file without its empty pages to a new one, in one transaction. SQLite gets the path as its bytes, because a
/// name need not be UTF-8.
///
/// # Errors
/// If the new file exists, or the disk has no room for it or fails.
pub fn copy_into(connection: &Connection, copy: &Path) -> rusqlite::Result<()> {
    let path = ToSqlOutput::Borrowed(ValueRef::Text(copy.as_os_str().as_bytes()));
    connection.execute("VACUUM INTO ?1", [path]).map(drop)
}

/// Copies a file to the folder of temporary files. A concurrent transaction is in the copy completely or not at all.
pub(super) fn temporary_copy(connection: &Connection, path: &Path) -> Result<TempDir, DatabaseError> {
    let folder = temporary_folder()?;
    connection.backup("main", in_copy(&folder, path), None).map_err(DatabaseError::opening(path))?;
    Ok(folder)
}

/// Copies a file that no process writes, with the log that a killed process left beside it; `None` if there is no
/// log.
pub(super) fn copy_with_log(path: &Path) -> Result<Option<TempDir>, DatabaseError> {
    let log = |path: &Path| beside(path, LOG);
    let failing = |source| DatabaseError::Backup { path: path.to_owned(), source };
    // A link under either name is not followed: no copy is made, and SQLite refuses to open the link.
    let is_file =
        |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0);
    if !is_file(&log(path)) || !is_file(path) {
        return Ok(None);
    }
    let folder = temporary_folder()?;
    let copy = in_copy(&folder, path);
    fs::copy(log(path), log(&copy)).and_then(|_| fs::copy(path, &copy)).map_err(failing)?;
    Ok(Some(folder))
}

/// Returns the path of a file that SQLite makes beside another one.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// The log and the index that SQLite makes beside a file even for a reader, who cannot remove them again. They are
/// removed when this is dropped, after all connections of the reader, unless another process uses the file.
#[derive(Debug)]
pub(super) struct ReadingTraces {
    /// The file; `None` if a log with transactions was there before, which no reader may remove.
    path: Option<PathBuf>,
}

impl ReadingTraces {
    /// Returns the traces of a reader that is about to open a file.
    pub(super) fn before(path: &Path) -> Self {
        let found = fs::symlink_metadata(beside(path, LOG));
        let has_log = found.map_or_else(
            |error| error.kind() != io::ErrorKind::NotFound,
            |log| !log.is_file() || log.len() > 0,
        );
        Self { path: (!has_log).then(|| path.to_owned()) }
    }
}

impl Drop for ReadingTraces {
    fn drop(&mut self) {
        if let Some(path) = &self.path
            && fs::symlink_metadata(beside(path, INDEX)).is_ok()
            && let Ok(connection) = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
        {
            // A connection that has read and may write removes both when it is closed, if it is the last one of all
            // processes. A failure is ignored: the next process that writes removes them.
            let _ = is_empty(&connection);
        }
    }
}

/// Returns the place of a copy of a file in its temporary folder.
pub(super) fn in_copy(folder: &TempDir, path: &Path) -> PathBuf {
    folder.path().join(path.file_name().unwrap_or_default())
}

fn temporary_folder() -> Result<TempDir, DatabaseError> {
    let failing = |source| DatabaseError::Backup { path: std::env::temp_dir(), source };
    TempDir::with_prefix("instep-").map_err(failing)
}

/// Rewrites a file without its empty pages; returns its bytes before and after. Writers must wait.
///
/// # Errors
/// If the disk has no room for a copy, or fails.
pub fn compact(connection: &Connection) -> rusqlite::Result<(u64, u64)> {
    let bytes = || {
        let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, u64>(0));
        Ok::<_, rusqlite::Error>(pragma("page_count")? * pragma("page_size")?)
    };
    let before = bytes()?;
    connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")?;
    Ok((before, bytes()?))
}

/// Returns `true` if a file has no tables yet.
pub(super) fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
}

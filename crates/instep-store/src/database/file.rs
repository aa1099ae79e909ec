//! The file itself: opened through no link, copied, written anew.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};
use tempfile::TempPath;

use super::error::DatabaseError;

/// The time that a statement waits for another process before it fails. Writers hold the file for one transaction only, and the
/// longest of those, a large migration, takes seconds.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// Opens a file that no link has the name of. The way to its folder is the operator's and may have links.
pub(super) fn open(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    // SQLite's check is for the whole path, so the folder is resolved first. One that does not exist is SQLite's to report.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let resolved = folder.canonicalize().ok().zip(path.file_name()).map(|(folder, name)| folder.join(name));
    let flags = flags | OpenFlags::SQLITE_OPEN_NOFOLLOW | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(resolved.as_deref().unwrap_or(path), flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// Returns the place of the copy that is made before a file of a version is migrated: `state.sqlite` -> `state.sqlite.v3`.
pub fn backup_path(path: &Path, version: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".v{version}"));
    name.into()
}

/// Copies a file, replacing a copy that is there. The copy is durable when this returns: the migration that follows may fail.
pub(super) fn back_up(connection: &Connection, copy: &Path) -> Result<(), DatabaseError> {
    let failing = |source| DatabaseError::Backup { path: copy.to_owned(), source };
    match fs::remove_file(copy) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failing(error)),
        _ => {}
    }
    connection
        .execute("VACUUM INTO ?1", [copy.to_string_lossy()])
        .map_err(|error| failing(io::Error::other(error)))?;
    fs::File::open(copy).and_then(|copy| copy.sync_all()).map_err(failing)
}

/// Copies a file to where temporary files are. What a process is writing meanwhile is in the copy or it is not, whole.
pub(super) fn temporary_copy(connection: &Connection, path: &Path) -> Result<TempPath, DatabaseError> {
    let failing = |source| DatabaseError::Backup { path: std::env::temp_dir(), source };
    let copy = tempfile::Builder::new()
        .prefix("instep-")
        .suffix(".db")
        .tempfile()
        .map_err(failing)?
        .into_temp_path();
    connection.backup("main", &copy, None).map_err(DatabaseError::opening(path))?;
    Ok(copy)
}

/// Writes a file anew without its empty pages; returns its bytes before and after. Whoever writes has to wait.
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

//! SQLite files that outlive versions of the program: opened, migrated one way, copied before that.
//!
//! A [`Schema`] has the statements that lead from each version of a file to the next. An older file is copied beside
//! itself and brought to the newest version in one transaction; a newer one, or one of another program, is refused and
//! left as it is.

mod error;
mod file;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use tempfile::TempDir;

pub(crate) use error::sqlite_error;
pub use error::{DatabaseError, is_read_only, is_storage_failure};
use file::ReadingTraces;
pub use file::{BUSY_TIMEOUT, backup_path, compact, copy_into, with_fixed_plans};

/// The cache of a connection that reads a file once, from front to back: a larger one would not be used again.
const SMALL_CACHE_KIB: u32 = 512;

/// The tables of a kind of file, through all versions.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// The number in the header of each file, which distinguishes it from databases of other programs.
    pub application_id: u32,
    /// The statements that lead from version `n` to version `n + 1`; the first ones make version 1 of an empty file.
    /// Never edited once released.
    pub steps: &'static [&'static str],
    /// Settings of the connection that writes, as `PRAGMA` statements.
    pub settings: &'static str,
    /// `true` if files exist from before the versions were numbered; then the first step must leave their tables as
    /// they are.
    pub has_unnumbered_files: bool,
}

impl Schema {
    /// Returns the newest version.
    pub fn version(&self) -> u32 {
        u32::try_from(self.steps.len()).unwrap_or(u32::MAX)
    }

    /// Opens the connection that writes. Makes the file if it does not exist, and migrates an older one, which is
    /// copied first to [`backup_path`].
    ///
    /// # Errors
    /// If the file is newer or another program's, a link has its name, or the disk fails.
    pub fn open(&self, path: &Path) -> Result<Connection, DatabaseError> {
        let opening = DatabaseError::opening(path);
        // Without `URI`: a path is never an address, even if it begins with "file:".
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut connection = file::open(path, flags).map_err(&opening)?;
        let found = self.version_of(&connection, path)?;
        // After the check of the version: a refused file is not changed.
        connection.execute_batch(self.settings).map_err(&opening)?;
        if found < self.version() {
            self.migrate(&mut connection, path, true)?;
        }
        Ok(connection)
    }

    /// Opens a file only to read it, beside a process that may be writing it. The file stays as it is: an older one is
    /// read through a temporary copy that is migrated, and one in a folder that cannot be written through a copy too.
    /// Files that reading makes beside it are removed with the result.
    ///
    /// # Errors
    /// If there is no such file, it is newer or another program's, or the disk fails.
    pub fn open_beside(&self, path: &Path) -> Result<Beside, DatabaseError> {
        // Dropped after the connection.
        let traces = ReadingTraces::before(path);
        let opened = open_reader(path, SMALL_CACHE_KIB)
            .and_then(|connection| Ok((self.version_of(&connection, path)?, connection)));
        match opened {
            Ok((found, _)) if found == self.version() => {
                Ok(Beside { path: path.to_owned(), is_at_rest: false, _copy: None, _traces: Some(traces) })
            }
            Ok((_, connection)) => self.migrated(file::temporary_copy(&connection, path)?, path),
            // SQLite makes the log and its index even for a reader. A process that writes has made them already, so no
            // process writes now.
            Err(error) if error.is_refused_writing() => match file::copy_with_log(path)? {
                Some(copy) => self.migrated(copy, path),
                None => {
                    let connection = file::open_at_rest(path, SMALL_CACHE_KIB)?;
                    self.migrated(file::temporary_copy(&connection, path)?, path)
                }
            },
            Err(error) => Err(error),
        }
    }

    /// Opens a file that no process writes now, only to read it, and creates no files beside it. A file with a log of
    /// a killed process is read through a temporary copy, and so is an older one.
    ///
    /// # Errors
    /// If there is no such file, it is newer or another program's, or the disk fails.
    pub fn open_at_rest(&self, path: &Path) -> Result<Beside, DatabaseError> {
        if let Some(copy) = file::copy_with_log(path)? {
            return self.migrated(copy, path);
        }
        let connection = file::open_at_rest(path, SMALL_CACHE_KIB)?;
        if self.version_of(&connection, path)? == self.version() {
            Ok(Beside { path: path.to_owned(), is_at_rest: true, _copy: None, _traces: None })
        } else {
            self.migrated(file::temporary_copy(&connection, path)?, path)
        }
    }

    /// Migrates a temporary copy of a file to the newest version.
    fn migrated(&self, copy: TempDir, path: &Path) -> Result<Beside, DatabaseError> {
        let at = file::in_copy(&copy, path);
        let mut connection = Connection::open(&at).map_err(DatabaseError::opening(&at))?;
        let found = self.version_of(&connection, path)?;
        if found < self.version() {
            self.migrate(&mut connection, path, false)?;
        }
        Ok(Beside { path: at, is_at_rest: false, _copy: Some(copy), _traces: None })
    }

    fn version_of(&self, connection: &Connection, path: &Path) -> Result<u32, DatabaseError> {
        let opening = DatabaseError::opening(path);
        let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, u32>(0));
        let application = pragma("application_id").map_err(&opening)?;
        let found = pragma("user_version").map_err(&opening)?;
        let known = self.version();
        if application != self.application_id {
            let is_unnumbered = self.has_unnumbered_files || file::is_empty(connection).map_err(&opening)?;
            return if application == 0 && found == 0 && is_unnumbered {
                Ok(0)
            } else {
                Err(DatabaseError::Foreign { path: path.to_owned() })
            };
        }
        if found > known {
            Err(DatabaseError::Newer { path: path.to_owned(), found, known })
        } else {
            Ok(found)
        }
    }

    /// Runs all missing steps in one transaction: a crash leaves the old version or the new one. If `copies` is `true`, a
    /// file with tables is copied before.
    fn migrate(&self, connection: &mut Connection, path: &Path, copies: bool) -> Result<(), DatabaseError> {
        let opening = DatabaseError::opening(path);
        let begun = connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = begun.map_err(&opening)?;
        // Read again while nobody else can write: of processes that open the file at the same time, one migrates it.
        let from = self.version_of(&transaction, path)?;
        if from == self.version() {
            return Ok(());
        }
        if copies && !file::is_empty(&transaction).map_err(&opening)? {
            // Over a connection of its own, because a transaction cannot copy the file.
            let beside = file::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(&opening)?;
            file::back_up(&beside, &backup_path(path, from))?;
        }
        let migrate = || {
            for step in self.steps.iter().skip(from as usize) {
                transaction.execute_batch(step)?;
            }
            transaction.pragma_update(None, "application_id", self.application_id)?;
            transaction.pragma_update(None, "user_version", self.version())?;
            transaction.commit()
        };
        migrate().map_err(|source| DatabaseError::Migration { path: path.to_owned(), from, source })
    }
}

/// A file opened only for reading: beside its writer, or while it has none.
#[derive(Debug)]
pub struct Beside {
    path: PathBuf,
    /// No process writes the file, and no files are created beside it.
    is_at_rest: bool,
    /// Removes the copy.
    _copy: Option<TempDir>,
    /// Removes the files that reading has made beside the file. Connections must be closed before.
    _traces: Option<ReadingTraces>,
}

impl Beside {
    /// Opens a connection that only reads, as [`open_reader`] does; any number of them may be open.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn connect(&self, cache_kib: u32) -> Result<Connection, DatabaseError> {
        if self.is_at_rest {
            file::open_at_rest(&self.path, cache_kib)
        } else {
            open_reader(&self.path, cache_kib)
        }
    }

    /// Returns the file that is read: the requested one, or its migrated copy, which is removed with this value.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Opens a read-only connection that keeps at most this many KiB of the file in memory.
///
/// # Errors
/// If there is no such file, or it cannot be opened.
pub fn open_reader(path: &Path, cache_kib: u32) -> Result<Connection, DatabaseError> {
    let connection =
        file::open(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(DatabaseError::opening(path))?;
    file::with_cache(connection, path, cache_kib)
}

#[cfg(test)]
mod tests;

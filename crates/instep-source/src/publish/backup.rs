//! Backup and restore of data that a Source cannot compute again: its catalogue and the subscriptions of its hub (P1).
//!
//! A backup is a ZIP file with a consistent copy of each database. It has no documents and packages, because the next
//! publication writes them, and no bytes of past states, because they are bounded by age and size anyway.

use std::{
    fs::{self, File, Permissions},
    io,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use instep_store::{database::copy_into, parent_folder};
use resourcesync::{
    MediaType, PackagePath,
    package::{PackageError, PackageWriter},
};
use rusqlite::{Connection, OpenFlags};
use zip::{ZipArchive, result::ZipError};

use super::{lock, published, remembered};
use crate::{
    Error,
    catalogue::{CATALOGUE, Catalogue, CatalogueLocation, is_there},
};

/// The databases of a state folder; the first one is always there.
const DATABASES: [&str; 2] = [CATALOGUE, "hub.db"];

/// The figures of a backup or restoration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// The databases in it.
    pub databases: Vec<&'static str>,
    /// Bytes of the databases.
    pub bytes: u64,
    /// Sequence of the last change in the catalogue.
    pub sequence: u64,
}

/// Writes a backup of a Source's state to a new file. A server that holds the Source continues meanwhile.
///
/// The file gets its name when it is complete and durable.
///
/// # Errors
/// If nothing has been published with this state, the file exists, or a database or the disk fails.
pub fn backup(state: &Path, file: &Path) -> Result<BackupReport, Error> {
    if !is_published(state)? {
        return Err(remembered::unknown(state));
    }
    if let Some(url) = CatalogueLocation::known(state)?.database() {
        let what = format!("it is in PostgreSQL, at {url}: back that database up with pg_dump");
        return Err(Error::option("catalogue", what));
    }
    if is_there(file)? {
        return Err(Error::option("file", format!("{} exists; choose a new file", file.display())));
    }
    let folder = parent_folder(file);
    let copies = tempfile::tempdir_in(folder).map_err(Error::write(folder))?;
    let mut backup = BackupReport::default();
    for name in DATABASES {
        if !is_there(&state.join(name))? {
            continue;
        }
        copy_database(&state.join(name), &copies.path().join(name))?;
        backup.databases.push(name);
    }
    let catalogue = Catalogue::open(&copies.path().join(CATALOGUE))?;
    backup.sequence = catalogue.snapshot()?.head().sequence;
    drop(catalogue);
    let written = copies.path().join("backup");
    backup.bytes = pack(copies.path(), &backup.databases, &written, file)?;
    fs::rename(&written, file).and_then(|()| File::open(folder)?.sync_all()).map_err(Error::write(file))?;
    Ok(backup)
}

/// Puts a backup in place as the state of a Source: a file of [`backup`], or a folder of a state that was copied. The
/// next publication compares it with the content.
///
/// # Errors
/// If a state is there already, the backup is not complete or is from a newer version, or the disk fails. Nothing is
/// in place then.
pub fn restore(from: &Path, state: &Path) -> Result<BackupReport, Error> {
    refuse_state(state)?;
    let saved = SavedState::open(from)?;
    put_in_place(saved, from, state)
}

/// Puts an opened backup in place, under the lock of the state.
fn put_in_place(mut saved: SavedState<'_>, from: &Path, state: &Path) -> Result<BackupReport, Error> {
    let _lock = lock::take(state)?;
    // Another process may have begun or restored one since.
    refuse_state(state)?;
    refuse_logs(state)?;
    let staging = tempfile::tempdir_in(state).map_err(Error::write(state))?;
    let mut restored = BackupReport::default();
    for name in DATABASES {
        let path = staging.path().join(name);
        let Some(bytes) = saved.take_out(name, &path)? else { continue };
        restored.bytes += bytes;
        restored.databases.push(name);
        if name != CATALOGUE {
            keep_from_others(&path)?;
        }
        check_database(&path)?;
    }
    let catalogue = Catalogue::open(&staging.path().join(CATALOGUE))?;
    restored.sequence = catalogue.snapshot()?.head().sequence;
    remembered::load(&catalogue.snapshot()?, state)?.ok_or_else(|| remembered::unknown(from))?;
    begin_lists_anew(&catalogue)?;
    drop(catalogue);
    // The catalogue comes last: with it the state counts as existing.
    for name in restored.databases.iter().rev() {
        let (from, to) = (staging.path().join(name), state.join(name));
        fs::rename(&from, &to).map_err(Error::write(&to))?;
    }
    File::open(state).and_then(|folder| folder.sync_all()).map_err(Error::write(state))?;
    Ok(restored)
}

/// Refuses a state that exists: what it has would be lost.
fn refuse_state(state: &Path) -> Result<(), Error> {
    if is_published(state)? {
        let what = format!("{} has a catalogue; move it away first", state.display());
        return Err(Error::option("state", what));
    }
    Ok(())
}

/// Refuses the log of a database that was moved away without it, as after a kill: SQLite would apply its pages to the
/// restored one, which would be damaged by that (O431).
fn refuse_logs(state: &Path) -> Result<(), Error> {
    for log in DATABASES.map(|name| beside(&state.join(name), "-wal")) {
        if is_there(&log)? {
            let what =
                format!("{} is the log of a database that was there before; move it away too", log.display());
            return Err(Error::option("state", what));
        }
    }
    Ok(())
}

/// A state that is restored.
enum SavedState<'a> {
    /// A file of [`backup`].
    File(&'a Path, ZipArchive<File>),
    /// A state that another program copied.
    Folder(&'a Path),
}

impl<'a> SavedState<'a> {
    fn open(from: &'a Path) -> Result<Self, Error> {
        if !from.is_dir() {
            let archive = ZipArchive::new(File::open(from).map_err(Error::read(from))?);
            return Ok(Self::File(from, archive.map_err(|error| not_a_backup(from, error))?));
        }
        if let Some(url) = CatalogueLocation::known(from)?.database() {
            let what = format!("it is in PostgreSQL, at {url}: restore that database with pg_restore");
            return Err(Error::option("catalogue", what));
        }
        if from.join(CATALOGUE).is_file() { Ok(Self::Folder(from)) } else { Err(remembered::unknown(from)) }
    }

    /// Writes a database to a new file. Returns its bytes, or `None` if the backup has no such one.
    fn take_out(&mut self, name: &str, to: &Path) -> Result<Option<u64>, Error> {
        match self {
            Self::File(from, archive) => {
                let from: &Path = from;
                let wrong = |error: ZipError| not_a_backup(from, error);
                let mut member = match archive.by_name(name) {
                    Err(ZipError::FileNotFound) if name != CATALOGUE => return Ok(None),
                    member => member.map_err(wrong)?,
                };
                let written = File::create(to).and_then(|mut out| {
                    let bytes = io::copy(&mut member, &mut out)?;
                    out.sync_all().map(|()| bytes)
                });
                // A member that does not have its bytes any more is no failure of the system.
                written.map(Some).map_err(|error| match error.raw_os_error() {
                    Some(_) => Error::write(to)(error),
                    None => Error::read(from)(error),
                })
            }
            Self::Folder(from) if is_there(&from.join(name))? => {
                // Copied with its log, which may have the last changes, so that the folder is not changed by opening it.
                let aside = to.with_extension("copied");
                for (from, to) in ["", "-wal"].map(|end| (beside(&from.join(name), end), beside(&aside, end)))
                {
                    if is_there(&from)? {
                        fs::copy(&from, &to).map_err(Error::write(&to))?;
                    }
                }
                copy_database(&aside, to)?;
                let written = File::open(to).and_then(|file| file.sync_all().and_then(|()| file.metadata()));
                written.map(|metadata| Some(metadata.len())).map_err(Error::write(to))
            }
            Self::Folder(_) => Ok(None),
        }
    }
}

/// Returns the error for a file that is not a backup, or not a complete one, if the disk has not failed.
fn not_a_backup(from: &Path, error: ZipError) -> Error {
    match error {
        ZipError::Io(error) if error.raw_os_error().is_some() => Error::read(from)(error),
        error => {
            let what = format!("it is not a backup of a Source, or not a complete one: {error}");
            Error::read(from)(io::Error::other(what))
        }
    }
}

/// Returns the path with something at its end.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(end);
    path.into()
}

/// Begins the Change Lists at the present. The catalogue does not know what was published after the backup, such as a
/// resource that was created and is gone again, or an update that was lost with the files. Lists that reached back to
/// the time before would tell a reader who has it that nothing changed; after a gap the reader compares everything.
fn begin_lists_anew(catalogue: &Catalogue) -> Result<(), Error> {
    let snapshot = catalogue.snapshot()?;
    let mut published = published::load(&snapshot)?.published;
    let (now, through) = (catalogue.now(), snapshot.head().sequence);
    published.sets.values_mut().for_each(|set| published::begin_anew(set, now, through));
    Ok(catalogue.set_meta(published::written_with_archives_dropped(&published))?)
}

/// Returns `true` if something was published with this state.
///
/// # Errors
/// If the state cannot be read.
pub fn is_published(state: &Path) -> Result<bool, Error> {
    CatalogueLocation::is_in(state)
}

/// Copies a database in one transaction, while others may write it.
fn copy_database(from: &Path, to: &Path) -> Result<(), Error> {
    let copy = || -> Result<(), rusqlite::Error> {
        let connection = Connection::open_with_flags(from, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.busy_timeout(std::time::Duration::from_secs(30))?;
        copy_into(&connection, to)
    };
    copy().map_err(failed(from))
}

/// Takes the permissions of other users away from the file of the hub, which has the secrets of its subscribers.
fn keep_from_others(path: &Path) -> Result<(), Error> {
    let kept = fs::metadata(path).and_then(|file| {
        let mode = file.permissions().mode() & 0o660;
        fs::set_permissions(path, Permissions::from_mode(mode))
    });
    kept.map_err(Error::write(path))
}

fn check_database(path: &Path) -> Result<(), Error> {
    let check = || -> Result<String, rusqlite::Error> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))
    };
    match check().map_err(failed(path))?.as_str() {
        "ok" => Ok(()),
        damage => {
            let source = io::Error::other(damage.to_owned());
            Err(Error::Catalogue { path: path.to_owned(), source: Box::new(source) })
        }
    }
}

fn failed(path: &Path) -> impl FnOnce(rusqlite::Error) -> Error {
    let path = path.to_owned();
    |source| Error::Catalogue { path, source: Box::new(source) }
}

/// Packs the databases of a folder into a file that is on disk when this returns. Returns their bytes.
fn pack(folder: &Path, names: &[&'static str], to: &Path, file: &Path) -> Result<u64, Error> {
    let failed =
        |source: PackageError| Error::Package { name: file.display().to_string(), source: Box::new(source) };
    // Not for everybody, because it has the secrets of the hub's subscribers.
    let created = File::options().write(true).create_new(true).mode(0o660).open(to);
    let mut archive = PackageWriter::without_manifest(created.map_err(Error::write(file))?);
    let (mut bytes, media_type) = (0, MediaType::new("application/vnd.sqlite3"));
    for name in names {
        let copy = folder.join(name);
        let database = File::open(&copy).map_err(Error::read(&copy))?;
        let length = database.metadata().map_err(Error::read(&copy))?.len();
        archive.add(&PackagePath::new(name), Some(&media_type), length, database).map_err(failed)?;
        bytes += length;
    }
    archive.finish().map_err(failed)?.sync_all().map_err(Error::write(file))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, NoMonitor, PublishOptions, publish};

    /// Publishes a folder with a file, makes a backup of the Source, and returns its options.
    fn published_and_saved(folder: &Path, file: &Path) -> PublishOptions {
        fs::write(folder.join("a"), "a").unwrap();
        let options = PublishOptions::new(folder, "http://example.org/");
        publish(&options, &NoMonitor).unwrap();
        backup(&options.state, file).unwrap();
        options
    }

    #[test]
    fn o873_a_backup_is_not_for_everybody() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let file = elsewhere.path().join("backup.zip");
        published_and_saved(folder.path(), &file);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o007, 0);
    }

    #[test]
    fn o989_the_restored_file_of_the_hub_is_not_for_everybody() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "a").unwrap();
        let options = PublishOptions::new(folder.path(), "http://example.org/");
        publish(&options, &NoMonitor).unwrap();
        let hub = options.state.join("hub.db");
        Connection::open(&hub).unwrap().execute_batch("CREATE TABLE subscription (secret TEXT)").unwrap();
        let file = elsewhere.path().join("backup.zip");
        backup(&options.state, &file).unwrap();
        fs::rename(&options.state, elsewhere.path().join("aside")).unwrap();
        let restored = restore(&file, &options.state).unwrap();
        assert_eq!(restored.databases, DATABASES);
        assert_eq!(fs::metadata(&hub).unwrap().permissions().mode() & 0o007, 0);
    }

    #[test]
    fn o992_a_damaged_backup_is_named_and_not_the_place_that_it_is_restored_to() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let file = elsewhere.path().join("backup.zip");
        published_and_saved(folder.path(), &file);
        let mut bytes = fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&file, bytes).unwrap();
        let state = elsewhere.path().join("state");
        let refused = restore(&file, &state).unwrap_err();
        assert!(matches!(&refused, Error::Read { path, .. } if *path == file), "{refused}");
        assert!(!is_published(&state).unwrap());
    }

    #[test]
    fn o620_a_backup_replaces_no_catalogue_that_another_process_began_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let file = elsewhere.path().join("backup.zip");
        let options = published_and_saved(folder.path(), &file);
        let aside = elsewhere.path().join("aside");
        fs::rename(&options.state, &aside).unwrap();

        // Nothing is in place when the backup is opened, and something when its lock is taken.
        let saved = SavedState::open(&file).unwrap();
        fs::rename(&aside, &options.state).unwrap();
        let catalogue = options.state.join(CATALOGUE);
        let before = fs::read(&catalogue).unwrap();
        let refused = put_in_place(saved, &file, &options.state).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Usage);
        assert!(fs::read(&catalogue).unwrap() == before);
    }

    #[test]
    fn o621_a_state_that_cannot_be_looked_at_is_not_taken_for_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        fs::create_dir(&state).unwrap();
        assert!(!is_published(&state).unwrap());
        // A link that leads to itself is a fault for whoever runs the tests.
        std::os::unix::fs::symlink(CATALOGUE, state.join(CATALOGUE)).unwrap();
        assert!(matches!(is_published(&state), Err(Error::Read { .. })));
        let refused = backup(&state, &folder.path().join("backup.zip")).unwrap_err();
        assert!(matches!(refused, Error::Read { .. }), "{refused}");
    }
}

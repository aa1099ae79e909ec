//! Everything of a fleet that outlives its process, in one SQLite file: Sources, flags that operators set, the schedule,
//! how looks ended, surveys of their documents, the audit log, and alerts that are not sent yet.
//!
//! Commands write flags and definitions beside a running process; the process writes everything else. Each reads what
//! the other wrote, so that neither has to be asked.

mod journal;
mod rows;
mod schema;
mod surveys;

use std::{
    fs,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::{
    FleetError,
    definition::SourceDefinition,
    name::SourceName,
    schedule::{Pacing, PacingRules},
    standing::{FleetSource, SourceStanding},
};
pub use journal::{AuditLine, LookSample};
use schema::SCHEMA;

/// The record of a fleet.
#[derive(Debug)]
pub struct FleetRecord {
    path: PathBuf,
    connection: Connection,
}

impl FleetRecord {
    /// The folder of the record within that of the fleet.
    pub(crate) fn own_folder(dir: &Path) -> PathBuf {
        dir.join(".instep")
    }

    /// Opens the record of the fleet in a folder; makes it if there is none.
    ///
    /// # Errors
    /// If the folder cannot be made, or the file is newer than this program or cannot be opened.
    pub fn open(dir: &Path) -> Result<Self, FleetError> {
        let own = Self::own_folder(dir);
        let failing =
            |error: std::io::Error| FleetError::Folder { dir: own.clone(), what: error.to_string() };
        fs::create_dir_all(dir).map_err(failing)?;
        match fs::DirBuilder::new().mode(0o700).create(&own) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(failing(error)),
            _ => {}
        }
        let path = own.join("fleet.sqlite");
        Ok(Self { connection: SCHEMA.open(&path)?, path })
    }

    /// Opens the record of the fleet in a folder that has one.
    ///
    /// # Errors
    /// As [`Self::open`], or if the folder holds no fleet.
    pub fn existing(dir: &Path) -> Result<Self, FleetError> {
        if !Self::own_folder(dir).join("fleet.sqlite").is_file() {
            let what = "it holds no fleet; add a Source, or start instep run".to_owned();
            return Err(FleetError::Folder { dir: dir.to_owned(), what });
        }
        Self::open(dir)
    }

    pub(crate) fn error(&self, source: rusqlite::Error) -> FleetError {
        FleetError::Record { path: self.path.clone(), source }
    }

    fn execute(&self, statement: &str, params: impl rusqlite::Params) -> Result<usize, FleetError> {
        let done =
            self.connection.prepare_cached(statement).and_then(|mut statement| statement.execute(params));
        done.map_err(|source| self.error(source))
    }

    /// Returns a number that changes when another process writes the record.
    pub(crate) fn version(&self) -> Result<i64, FleetError> {
        let version = self.connection.pragma_query_value(None, "data_version", |row| row.get(0));
        version.map_err(|source| self.error(source))
    }

    /// Adds Sources, all or none.
    ///
    /// # Errors
    /// If one cannot be used, or its name or folder is taken.
    pub fn add(&mut self, definitions: &[SourceDefinition], now: i64) -> Result<(), FleetError> {
        self.insert(definitions, false, now)
    }

    /// Makes the Sources of the configuration file those that `definitions` has: new ones are added, others changed, and
    /// those that are no longer there forgotten. Their copies stay.
    ///
    /// # Errors
    /// If one cannot be used, or an operator gave its name or folder to another Source.
    pub fn configure(&mut self, definitions: &[SourceDefinition], now: i64) -> Result<(), FleetError> {
        let gone: Vec<_> = self.sources()?.into_iter().filter(|known| known.from_file).collect();
        let gone = gone
            .into_iter()
            .filter(|known| definitions.iter().all(|kept| kept.name != known.definition.name));
        let gone: Vec<_> = gone.map(|known| known.definition.name.clone()).collect();
        self.insert_after(&gone, definitions, true, now)
    }

    fn insert(
        &mut self,
        definitions: &[SourceDefinition],
        from_file: bool,
        now: i64,
    ) -> Result<(), FleetError> {
        self.insert_after(&[], definitions, from_file, now)
    }

    /// Forgets Sources, then inserts or changes others, in one transaction.
    fn insert_after(
        &mut self,
        gone: &[SourceName],
        definitions: &[SourceDefinition],
        from_file: bool,
        now: i64,
    ) -> Result<(), FleetError> {
        let path = self.path.clone();
        let failed = |source| FleetError::Record { path: path.clone(), source };
        let transaction = self.connection.transaction().map_err(failed)?;
        for name in gone {
            rows::forget(&transaction, name).map_err(failed)?;
        }
        for definition in definitions {
            definition.check()?;
            let folder = definition.folder().to_string_lossy().into_owned();
            let held = "SELECT name, from_file FROM source WHERE name = ?1 OR (folder = ?2 AND name <> ?1)";
            let held = transaction
                .query_row(held, params![definition.name.as_str(), folder], |row| {
                    Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?))
                })
                .optional()
                .map_err(failed)?;
            let twice = |what: String| Err(FleetError::Twice { name: definition.name.clone(), what });
            match held {
                Some((name, _)) if name != definition.name.as_str() => {
                    return twice(format!("{name} has the folder {folder}"));
                }
                Some((_, true)) if !from_file => return twice("it is in the configuration file".to_owned()),
                Some((_, false)) => return twice("it was added by instep source".to_owned()),
                _ => {}
            }
            let pacing = Pacing::new(now, &PacingRules::default());
            rows::put(&transaction, definition, from_file, now, pacing).map_err(failed)?;
        }
        transaction.commit().map_err(failed)
    }

    /// Forgets a Source; its copy stays.
    ///
    /// # Errors
    /// If there is none, or it is in the configuration file.
    pub fn remove(&mut self, name: &SourceName) -> Result<(), FleetError> {
        let from_file = self.is_from_file(name)?;
        if from_file {
            let what = "is in the configuration file: take it out there";
            return Err(FleetError::Unfit { name: name.clone(), what });
        }
        rows::forget(&self.connection, name).map_err(|source| self.error(source))
    }

    fn is_from_file(&self, name: &SourceName) -> Result<bool, FleetError> {
        let found = self
            .connection
            .query_row("SELECT from_file FROM source WHERE name = ?1", [name.as_str()], |row| row.get(0))
            .optional();
        found.map_err(|source| self.error(source))?.ok_or_else(|| FleetError::Unknown { name: name.clone() })
    }

    /// Pauses a Source, or ends its pause.
    ///
    /// # Errors
    /// If there is none.
    pub fn pause(&mut self, name: &SourceName, paused: bool) -> Result<(), FleetError> {
        self.flag(name, "UPDATE source SET paused = ?2 WHERE name = ?1", paused)
    }

    /// Approves a Source.
    ///
    /// # Errors
    /// If there is none.
    pub fn approve(&mut self, name: &SourceName) -> Result<(), FleetError> {
        self.flag(name, "UPDATE source SET approved = ?2, wanted = 1 WHERE name = ?1", true)
    }

    /// Asks for a look at a Source now.
    ///
    /// # Errors
    /// If there is none, or it is paused.
    pub fn want(&mut self, name: &SourceName) -> Result<(), FleetError> {
        if self.source(name)?.standing.paused {
            return Err(FleetError::Unfit { name: name.clone(), what: "is paused: resume it first" });
        }
        self.flag(name, "UPDATE source SET wanted = ?2 WHERE name = ?1", true)
    }

    fn flag(&mut self, name: &SourceName, statement: &str, value: bool) -> Result<(), FleetError> {
        match self.execute(statement, params![name.as_str(), value])? {
            0 => Err(FleetError::Unknown { name: name.clone() }),
            _ => Ok(()),
        }
    }

    /// Returns all Sources, by name. Which of them are looked at now, only the process knows.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn sources(&self) -> Result<Vec<FleetSource>, FleetError> {
        rows::all(&self.connection).map_err(|source| self.error(source))
    }

    /// Returns one Source.
    ///
    /// # Errors
    /// If there is none, or the record cannot be read.
    pub fn source(&self, name: &SourceName) -> Result<FleetSource, FleetError> {
        let found = rows::one(&self.connection, name).optional().map_err(|source| self.error(source))?;
        found.ok_or_else(|| FleetError::Unknown { name: name.clone() })
    }

    /// Writes everything about a Source that the running process decides.
    pub(crate) fn write(&self, name: &SourceName, standing: &SourceStanding) -> Result<(), FleetError> {
        rows::write(&self.connection, name, standing).map_err(|source| self.error(source))
    }
}

#[cfg(test)]
mod tests;

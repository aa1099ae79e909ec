//! All data of a fleet that outlives its process: Sources, flags that operators set, the schedule, results of looks,
//! surveys of documents, the audit log, alerts that are not sent yet, and the Sources that each worker holds.
//!
//! It is one SQLite file, or a PostgreSQL database that several workers share; `engine` has the interface of both.
//! Commands write flags and definitions concurrently with the workers, which write everything else. Each reads the
//! changes of the others, so they need no other communication.

mod engine;
mod file;
mod folders;
mod journal;
mod opening;
mod operations;
mod rows;
mod schema;
mod seats;
#[cfg(feature = "postgres")]
mod server;
mod surveys;
mod waits;
mod workers;

use std::path::PathBuf;

use crate::{
    FleetError,
    definition::SourceDefinition,
    name::SourceName,
    schedule::{Pacing, PacingRules},
    standing::FleetSource,
};
use engine::{Field, FieldFault, FieldRow, RecordEngine, WrittenByOthers};
pub use journal::{AuditLine, LookSample};
pub use operations::SourceOperation;
pub(crate) use seats::SeenLanes;
pub(crate) use waits::RecordWaits;
pub use workers::FleetWorker;
pub(crate) use workers::{Claim, LookEnding};

/// The record of a fleet.
#[derive(Debug)]
pub struct FleetRecord {
    engine: Box<dyn RecordEngine>,
    /// The folder of the fleet, or of this worker of it.
    dir: PathBuf,
}

/// Sources as they are now in the record.
#[derive(Debug)]
pub(crate) struct ReadSources {
    /// Those that may have changed, or all of them.
    pub(crate) sources: Vec<FleetSource>,
    /// `true` if there are no others.
    pub(crate) are_all: bool,
    /// The number of all Sources; `None` if none can have been removed.
    pub(crate) number: Option<u64>,
}

impl ReadSources {
    /// Returns all Sources of a record, as they are now.
    pub(crate) fn all(sources: Vec<FleetSource>) -> Self {
        Self { sources, are_all: true, number: None }
    }
}

impl FleetRecord {
    /// Returns `true` if several workers can share it.
    pub(crate) fn is_shared(&self) -> bool {
        self.engine.is_shared()
    }

    fn all<T>(
        &self,
        sql: &str,
        fields: &[Field],
        read: impl Fn(&FieldRow) -> Result<T, FieldFault>,
    ) -> Result<Vec<T>, FleetError> {
        let rows = self.engine.query(sql, fields)?;
        rows.iter().map(read).collect::<Result<_, _>>().map_err(|fault| self.engine.damaged(fault))
    }

    /// Returns the Sources that others may have changed since the last call.
    pub(crate) fn read_again(&mut self) -> Result<ReadSources, FleetError> {
        let (sources, are_all, number) = match self.engine.written_by_others()? {
            WrittenByOthers::Nothing => (Vec::new(), false, None),
            WrittenByOthers::All => (self.sources()?, true, None),
            WrittenByOthers::After(changed) => {
                let sql = format!("SELECT {} FROM source WHERE changed > $1 ORDER BY name", rows::COLUMNS);
                let sources = self.all(&sql, &[changed.into()], |row| self.read(row))?;
                let number = if self.engine.is_to_count() {
                    self.all("SELECT COUNT(*) FROM source", &[], |row| row.count(0))?.first().copied()
                } else {
                    None
                };
                (sources, false, number)
            }
        };
        let last = sources.iter().map(|source| source.hold.changed).max();
        self.engine.read_up_to(last.unwrap_or_default());
        Ok(ReadSources { sources, are_all, number })
    }

    fn read(&self, row: &FieldRow) -> Result<FleetSource, FieldFault> {
        let source = rows::read(row)?;
        // A file still names a killed process as the holder, until the next process begins.
        Ok(if self.is_shared() { source } else { FleetSource { running: None, ..source } })
    }

    /// Adds Sources, all or none.
    ///
    /// # Errors
    /// If one is invalid, its name is taken, or its folder overlaps with another one.
    pub fn add(&mut self, definitions: &[SourceDefinition], now: i64) -> Result<(), FleetError> {
        self.insert_after(&[], definitions, (false, None), now)
    }

    /// Adds Sources, and writes the operator and the action into the audit log for each of them: all of it or nothing.
    ///
    /// # Errors
    /// As for [`Self::add`].
    pub fn add_logged(
        &mut self,
        definitions: &[SourceDefinition],
        (who, action): (&str, &str),
        now: i64,
    ) -> Result<(), FleetError> {
        self.insert_after(&[], definitions, (false, Some((who, action))), now)
    }

    /// Makes the Sources of the configuration file equal to `definitions`: adds new ones, changes others, and removes
    /// those that are no longer listed. Their copies stay.
    ///
    /// # Errors
    /// If one is invalid, an operator gave its name to another Source, or its folder overlaps with another one.
    pub fn configure(&mut self, definitions: &[SourceDefinition], now: i64) -> Result<(), FleetError> {
        // Without the definitions: a damaged one is replaced by that of the file.
        let sql = "SELECT name FROM source WHERE from_file = 1";
        let known: Vec<SourceName> = self.all(sql, &[], |row| row.string(0)?.parse().map_err(FieldFault))?;
        let is_gone = |name: &SourceName| definitions.iter().all(|kept| kept.name != *name);
        let gone: Vec<_> = known.into_iter().filter(is_gone).collect();
        self.insert_after(&gone, definitions, (true, None), now)
    }

    /// Forgets Sources, then inserts or changes others, in one transaction. It also writes `logged` into the audit log, the
    /// operator and the action.
    fn insert_after(
        &mut self,
        gone: &[SourceName],
        definitions: &[SourceDefinition],
        (from_file, logged): (bool, Option<(&str, &str)>),
        now: i64,
    ) -> Result<(), FleetError> {
        for definition in definitions {
            definition.check()?;
        }
        let damaged = |fault| self.engine.damaged(fault);
        self.engine.transaction(&mut |statements| {
            for name in gone {
                rows::forget(statements, name)?;
            }
            // In a database an answer may be lost and the call repeated: a Source that was added by it is accepted.
            let again = (self.is_shared() && !from_file).then_some(now);
            for piece in rows::pieces(definitions) {
                let held = rows::held(statements, piece, &damaged)?;
                let mut added = Vec::with_capacity(piece.len());
                for definition in piece {
                    let held = held.get(definition.name.as_str());
                    held.map_or(Ok(()), |held| held.expect_replaced_by(definition, (from_file, again)))?;
                    if held.is_some_and(|held| held.is_of_another_copy(definition)) {
                        rows::forget(statements, &definition.name)?;
                    }
                    // The file does not end a pause, which only an operator can.
                    added.push((definition, held.is_some_and(|held| held.paused)));
                }
                let pacing = Pacing::new(now, &PacingRules::default());
                rows::put(statements, &added, from_file, (now, pacing))?;
            }
            // Checked after all changes, because one file may exchange the folders of two Sources.
            let own = Self::own_folder(&self.dir);
            folders::expect_apart(&self.dir, &own, statements, definitions, &damaged)?;
            logged.map_or(Ok(()), |action| self.note_each(statements, now, action, definitions))
        })
    }

    /// Returns all Sources, by name.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn sources(&self) -> Result<Vec<FleetSource>, FleetError> {
        self.all(&format!("SELECT {} FROM source ORDER BY name", rows::COLUMNS), &[], |row| self.read(row))
    }

    /// Returns all Sources after a change of this process. If they cannot be read, [`Self::read_again`] returns them later.
    pub(crate) fn sources_after_change(&mut self) -> Result<Vec<FleetSource>, FleetError> {
        let sources = self.sources();
        if sources.is_err() {
            self.engine.forget_read();
        }
        sources
    }

    /// Returns one Source.
    ///
    /// # Errors
    /// If there is none, or the record cannot be read.
    pub fn source(&self, name: &SourceName) -> Result<FleetSource, FleetError> {
        self.one(&*self.engine, name)?.ok_or_else(|| FleetError::Unknown { name: name.clone() })
    }
}

#[cfg(test)]
impl FleetRecord {
    /// Lets this connection to a file write nothing, as if its disk was read-only.
    pub(crate) fn fail_to_write(&self, fails: bool) {
        self.engine.query(&format!("PRAGMA query_only = {}", u8::from(fails)), &[]).unwrap();
    }
}

#[cfg(test)]
mod contract;
#[cfg(test)]
mod tests;

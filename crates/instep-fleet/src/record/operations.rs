//! The actions of operators on Sources, each with its line in the audit log.

use super::{
    FleetRecord,
    engine::{FieldRow, Statements},
    rows,
};
use crate::{
    FleetError,
    name::SourceName,
    standing::{FleetSource, SourceState},
};

/// An action on a Source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceOperation {
    /// Runs it now; also ends quarantine.
    Run,
    /// Begins no look until it is resumed, and ends the one under way.
    Pause,
    /// Ends the pause of a Source: it is due again by its cadence.
    Resume,
    /// Allows the first synchronization of a Source, whose size is known by then.
    Approve,
    /// Removes a Source from the record; the files of its copy stay.
    Forget,
}

impl SourceOperation {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Run, Self::Pause, Self::Resume, Self::Approve, Self::Forget];

    /// Returns its name, as used in addresses and in the audit log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Approve => "approve",
            Self::Forget => "forget",
        }
    }

    /// Returns `true` if the operation makes sense for a Source now.
    pub fn fits(self, source: &FleetSource, now: i64) -> bool {
        let is_paused = source.standing.paused;
        match self {
            Self::Run => !is_paused && source.running.is_none() && source.state(now) != SourceState::Waiting,
            Self::Pause => !is_paused,
            Self::Resume => is_paused,
            Self::Approve => source.state(now) == SourceState::Waiting,
            Self::Forget => !source.from_file,
        }
    }

    /// Carries it out on one Source; returns the number of rows that it changed.
    fn apply(self, statements: &dyn Statements, name: &SourceName) -> Result<u64, FleetError> {
        let set = |columns: &str| {
            let sql = format!("UPDATE source SET {columns}, changed = {{next}} WHERE name = $1");
            statements.execute(&sql, &[name.as_str().into()])
        };
        match self {
            Self::Run => set("wanted = 1"),
            Self::Pause => set("paused = 1"),
            Self::Resume => set("paused = 0"),
            Self::Approve => set("approved = 1, wanted = 1"),
            Self::Forget => rows::forget(statements, name),
        }
    }
}

impl FleetRecord {
    /// Carries out an action on Sources and writes it into the audit log, with `who` as the operator: on all of them, or
    /// on none.
    ///
    /// # Errors
    /// If there is no Source with one of the names, the action does not fit the state of one, or the record cannot be
    /// written.
    pub fn operate(
        &mut self,
        operation: SourceOperation,
        names: &[SourceName],
        (who, now): (&str, i64),
    ) -> Result<(), FleetError> {
        let mut was_tried = false;
        self.engine.transaction(&mut |statements| {
            let is_repeated = std::mem::replace(&mut was_tried, true);
            for name in names {
                self.expect_fit(operation, statements, name)?;
                let noted = (who, operation.as_str(), Some(name));
                let is_done = operation.apply(statements, name)? > 0;
                // The attempt before may have removed it, and the answer was lost.
                if !(is_done || is_repeated && Self::is_noted(statements, now, noted)?) {
                    return Err(FleetError::Unknown { name: name.clone() });
                }
                Self::note(statements, now, noted)?;
            }
            Ok(())
        })
    }

    /// Refuses an action that would have no effect, or one that the configuration file would take back.
    fn expect_fit(
        &self,
        operation: SourceOperation,
        statements: &dyn Statements,
        name: &SourceName,
    ) -> Result<(), FleetError> {
        let unfit = |what| Err(FleetError::Unfit { name: name.clone(), what });
        match operation {
            SourceOperation::Run => match self.one(statements, name)? {
                Some(source) if source.standing.paused => unfit("is paused: resume it first"),
                Some(source) if source.standing.waits_for_approval(source.definition.approve) => {
                    unfit("waits for approval: approve it, and it runs")
                }
                _ => Ok(()),
            },
            // Without its definition: one that is damaged can be removed.
            SourceOperation::Forget => {
                let sql = "SELECT from_file FROM source WHERE name = $1";
                let rows = statements.query(sql, &[name.as_str().into()])?;
                let is_of_file = rows.first().map(|row: &FieldRow| row.is(0)).transpose();
                match is_of_file.map_err(|fault| self.engine.damaged(fault))? {
                    Some(true) => unfit("is in the configuration file: remove it there"),
                    _ => Ok(()),
                }
            }
            SourceOperation::Pause | SourceOperation::Resume | SourceOperation::Approve => Ok(()),
        }
    }
}

//! Workers and the Sources that they hold, as rows. `share` decides what may be done and when.
//!
//! A claim touches the row of the claimant first, so a removed worker claims nothing. It raises the epoch of the
//! Source, and the end of a look is written only under its own epoch. A claim whose answer was lost is found in the
//! record and given back. Looks at a host are counted by the `host` of the Sources that workers hold, under the lock
//! of its lane. No decision depends on an engine's clock, an advisory lock or a notification.

use super::{
    FleetRecord,
    engine::{Field, FieldRow, Statements},
    rows,
    seats::LOCK_LANE,
};
use crate::{
    Alert, FleetError, LookSample,
    name::SourceName,
    share::WorkerId,
    standing::{FleetSource, SourceHold, SourceStanding},
    survey::SourceSurvey,
};

/// A process that keeps a fleet, alone or with others.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FleetWorker {
    /// Its number.
    pub id: WorkerId,
    /// Its process and machine.
    pub name: String,
    /// The URL of its dashboard; `None` if it serves none.
    pub url: Option<String>,
    /// The time at which it began, in seconds since 1970.
    pub began: i64,
    /// The Sources that it runs now.
    pub running: u64,
    pub(crate) beat: i64,
}

/// The answer to a claim.
#[derive(Debug)]
pub(crate) enum Claim {
    /// The Source is this worker's until it gives it back.
    Taken(Box<FleetSource>),
    /// It is not available. Has its present state; `None` if it was removed.
    NotFree(Option<Box<FleetSource>>),
    /// The limit of looks at its host, over all workers, is reached.
    HostFull,
    /// The worker was considered dead and removed, and holds nothing any more.
    Removed,
}

/// Frees a Source whose look did not end. It was due when the look began, be it only because an operator requested it,
/// which the claim has settled: so it is due again since then.
const FREE: &str = "worker = NULL, due = CASE WHEN began < due THEN began ELSE due END, changed = {next}";

/// The end of a look, as it is written down.
#[derive(Clone, Debug)]
pub(crate) struct LookEnding {
    pub(crate) name: SourceName,
    pub(crate) hold: SourceHold,
    pub(crate) standing: SourceStanding,
    pub(crate) sample: Option<LookSample>,
    pub(crate) alert: Option<Alert>,
    /// The documents that arrived.
    pub(crate) survey: Option<SourceSurvey>,
}

impl FleetRecord {
    /// Adds a worker.
    pub(crate) fn register(&self, worker: &FleetWorker) -> Result<(), FleetError> {
        let sql =
            "INSERT INTO worker (id, name, url, began) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING";
        let fields = [
            worker.id.into(),
            worker.name.as_str().into(),
            worker.url.as_deref().into(),
            worker.began.into(),
        ];
        self.engine.execute(sql, &fields).map(drop)
    }

    /// Increments the heartbeat of a worker, and records the number of its looks and the address of its dashboard.
    /// Returns `false` if it was removed.
    pub(crate) fn beat(&self, worker: WorkerId, running: u64, url: Option<&str>) -> Result<bool, FleetError> {
        let sql = "UPDATE worker SET beat = beat + 1, running = $2, url = $3 WHERE id = $1";
        Ok(self.engine.execute(sql, &[worker.into(), running.into(), url.into()])? > 0)
    }

    /// Returns the workers, the oldest first.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn workers(&self) -> Result<Vec<FleetWorker>, FleetError> {
        let sql = "SELECT id, name, url, began, running, beat FROM worker ORDER BY began, id";
        let read = |row: &FieldRow| {
            Ok(FleetWorker {
                id: row.number(0)?,
                name: row.string(1)?,
                url: row.text(2)?.map(str::to_owned),
                began: row.number(3)?,
                running: row.count(4)?,
                beat: row.number(5)?,
            })
        };
        self.all(sql, &[], read)
    }

    /// Removes a worker and frees everything that it holds, unless its heartbeat has changed. Returns `true` if it
    /// existed.
    pub(crate) fn remove_worker(&self, worker: WorkerId, beat: Option<i64>) -> Result<bool, FleetError> {
        let mut is_removed = false;
        self.engine.transaction(&mut |statements| {
            let sql = "DELETE FROM worker WHERE id = $1 AND beat = COALESCE($2, beat)";
            is_removed = statements.execute(sql, &[worker.into(), beat.into()])? > 0;
            if is_removed {
                let free = format!("UPDATE source SET {FREE} WHERE worker = $1");
                for sql in [&*free, "UPDATE alert SET worker = NULL WHERE worker = $1"] {
                    statements.execute(sql, &[worker.into()])?;
                }
            }
            Ok(())
        })?;
        Ok(is_removed)
    }

    /// Claims a Source whose row has not changed since this worker read it, and records that a look at it begins.
    pub(crate) fn claim(
        &self,
        worker: WorkerId,
        (name, epoch): (&SourceName, i64),
        (host, most): (&str, usize),
        now: i64,
    ) -> Result<Claim, FleetError> {
        let mut claim = Claim::Removed;
        self.engine.transaction(&mut |statements| {
            if !Self::keep_worker(statements, worker)? {
                claim = Claim::Removed;
                return Ok(());
            }
            if self.is_shared() && self.looks_at(statements, host)? >= most as u64 {
                claim = Claim::HostFull;
                return Ok(());
            }
            let sql = format!(
                "UPDATE source SET worker = $2, epoch = epoch + 1, began = $4, wanted = 0, changed = {{next}}{}
                       WHERE name = $1 AND worker IS NULL AND epoch = $3 AND paused = 0 RETURNING {}",
                if self.is_shared() { ", host = $5" } else { "" },
                rows::COLUMNS
            );
            let mut fields = vec![name.as_str().into(), worker.into(), epoch.into(), now.into()];
            fields.extend(self.is_shared().then(|| host.into()));
            claim = match self.first(statements, &sql, &fields)? {
                Some(source) => Claim::Taken(Box::new(source)),
                None => Claim::NotFree(self.one(statements, name)?.map(Box::new)),
            };
            Ok(())
        })?;
        Ok(claim)
    }

    /// Returns the number of looks of all workers at Sources of a host, and lets no other one begin until the end of
    /// the transaction.
    fn looks_at(&self, statements: &dyn Statements, host: &str) -> Result<u64, FleetError> {
        statements.query(LOCK_LANE, &[host.into()])?;
        let sql = "SELECT COUNT(*) FROM source WHERE host = $1 AND worker IS NOT NULL";
        let counted = statements.query(sql, &[host.into()])?;
        let number = counted.first().map(|row| row.count(0)).transpose();
        Ok(number.map_err(|fault| self.engine.damaged(fault))?.unwrap_or_default())
    }

    /// Writes down how a look ended, and gives its Source back. Returns the Source as it is then; `None` if it is no longer
    /// this worker's: nothing is written then.
    pub(crate) fn finish(&self, ending: &LookEnding) -> Result<Option<FleetSource>, FleetError> {
        let LookEnding { name, hold, standing, .. } = ending;
        let (mut source, mut was_tried) = (None, false);
        self.engine.transaction(&mut |statements| {
            let is_repeated = std::mem::replace(&mut was_tried, true);
            let sql = format!(
                "UPDATE source SET {}, worker = NULL, changed = {{next}}
                 WHERE name = $1 AND worker = $19 AND epoch = $20 RETURNING {}",
                rows::LOOK_COLUMNS,
                rows::COLUMNS
            );
            let mut fields = rows::look_fields(name, standing);
            fields.extend([hold.worker.into(), hold.epoch.into()]);
            source = self.first(statements, &sql, &fields)?;
            if source.is_none() {
                // The attempt before may have written it, and the answer was lost. This worker is then the one that listens to
                // the Source.
                if is_repeated {
                    source =
                        self.one(statements, name)?.filter(|source| source.shows_end_of(*hold, standing));
                }
                return Ok(());
            }
            if let Some(sample) = &ending.sample {
                Self::add_look(statements, name, sample)?;
            }
            if let Some(survey) = &ending.survey {
                Self::add_to_survey(statements, name, survey)?;
            }
            if let Some(alert) = &ending.alert {
                Self::keep_alert(statements, alert)?;
            }
            Ok(())
        })?;
        Ok(source)
    }

    /// Adds documents to those that are known of a Source.
    fn add_to_survey(
        statements: &dyn Statements,
        name: &SourceName,
        survey: &SourceSurvey,
    ) -> Result<(), FleetError> {
        let sql = "SELECT json FROM survey WHERE source = $1";
        let known = statements.query(sql, &[name.as_str().into()])?;
        let known = known.first().and_then(|row| row.string(0).ok());
        let known = known.and_then(|text| serde_json::from_str::<SourceSurvey>(&text).ok());
        let mut known = known.unwrap_or_default();
        known.add(survey.clone());
        Self::keep_survey(statements, name, &known)
    }

    /// Gives a Source back that has no look on this worker.
    pub(crate) fn give_back(&self, name: &SourceName, hold: SourceHold) -> Result<(), FleetError> {
        let sql = format!("UPDATE source SET {FREE} WHERE name = $1 AND worker = $2 AND epoch = $3");
        let fields = [name.as_str().into(), hold.worker.into(), hold.epoch.into()];
        self.engine.execute(&sql, &fields).map(drop)
    }

    /// Makes a Source due at a time, unless it is due before.
    pub(crate) fn hasten(&self, name: &SourceName, due: i64) -> Result<(), FleetError> {
        let sql = "UPDATE source SET due = $2, changed = {next} WHERE name = $1 AND due > $2";
        self.engine.execute(sql, &[name.as_str().into(), due.into()]).map(drop)
    }
}

impl FleetRecord {
    /// Returns a Source within a transaction.
    pub(super) fn one(
        &self,
        statements: &dyn Statements,
        name: &SourceName,
    ) -> Result<Option<FleetSource>, FleetError> {
        let sql = format!("SELECT {} FROM source WHERE name = $1", rows::COLUMNS);
        self.first(statements, &sql, &[name.as_str().into()])
    }

    /// Returns the first Source that a statement returns.
    fn first(
        &self,
        statements: &dyn Statements,
        sql: &str,
        fields: &[Field],
    ) -> Result<Option<FleetSource>, FleetError> {
        let found = statements.query(sql, fields)?;
        let source = found.first().map(|row| self.read(row)).transpose();
        source.map_err(|fault| self.engine.damaged(fault))
    }
}

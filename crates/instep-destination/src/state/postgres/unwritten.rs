//! Small records that wait for the next transaction, so that they do not need one of their own.

use std::collections::BTreeMap;

use instep_postgres::{EngineFault, Session};

use super::followed_row::{put_owner, put_settings};
use crate::state::{KEPT_POINTS, MINUTE, ReachedPoint, RunId, SetId, SourceId};

/// The records that the next transaction writes first. If a run ends without another transaction, they are lost.
#[derive(Debug, Default)]
pub(super) struct UnwrittenRecords {
    /// Settings by name.
    pub(super) settings: BTreeMap<String, String>,
    /// New sets with their URIs.
    pub(super) sets: Vec<(SetId, String)>,
    /// The Sources that sets belong to.
    pub(super) owners: Vec<(SetId, SourceId)>,
    /// The Sources that runs have found.
    pub(super) found: Vec<(RunId, SourceId)>,
    /// The progress of the copy.
    pub(super) reached: Vec<ReachedPoint>,
}

impl UnwrittenRecords {
    /// Returns `true` if there are none.
    pub(super) fn is_empty(&self) -> bool {
        let Self { settings, sets, owners, found, reached } = self;
        settings.is_empty() && sets.is_empty() && owners.is_empty() && found.is_empty() && reached.is_empty()
    }

    /// Writes the records within a transaction.
    pub(super) fn write(&self, session: &Session, copy: i64) -> Result<(), EngineFault> {
        put_settings(session, copy, &self.settings)?;
        for (set, uri) in &self.sets {
            let owner = self.owners.iter().rev().find(|(owned, _)| owned == set);
            let sql = "INSERT INTO set_of_resources (copy, id, uri, source) VALUES ($1, $2, $3, $4)";
            let owner = owner.map(|(_, source)| source.number());
            session.execute(sql, &[&copy, &i64::from(set.0), &uri, &owner])?;
        }
        for (set, source) in &self.owners {
            if !self.sets.iter().any(|(new, _)| new == set) {
                put_owner(session, copy, *set, *source)?;
            }
        }
        for (run, source) in &self.found {
            let sql = "UPDATE run SET source = $3 WHERE copy = $1 AND id = $2";
            session.execute(sql, &[&copy, &run.0, &source.number()])?;
        }
        self.reached.iter().try_for_each(|point| put_point(session, copy, *point))
    }
}

/// Writes the progress of a copy, and removes the oldest points if there are too many.
fn put_point(session: &Session, copy: i64, point: ReachedPoint) -> Result<(), EngineFault> {
    let (at, reached) = (point.at.unix_micros(), point.reached.unix_micros());
    let sql = "INSERT INTO reached (copy, minute, at, datetime) VALUES ($1, $2, $3, $4)
               ON CONFLICT (copy, minute) DO UPDATE SET at = excluded.at, datetime = excluded.datetime";
    session.execute(sql, &[&copy, &at.div_euclid(MINUTE), &at, &reached])?;
    let sql = "DELETE FROM reached WHERE copy = $1 AND minute <=
               (SELECT minute FROM reached WHERE copy = $1 ORDER BY minute DESC LIMIT 1 OFFSET $2)";
    session.execute(sql, &[&copy, &KEPT_POINTS]).map(drop)
}

//! The times that a copy has reached, checked against the clocks.

use resourcesync::DateTime;

use super::SyncRun;
use crate::{
    Error, ProblemKind,
    plan::plausible,
    state::{Checkpoint, SetId},
};

impl SyncRun<'_> {
    /// Returns the progress of a set. A time later than all clocks comes from a clock that was ahead: new changes
    /// would be older than it, so it is not used (O33).
    pub(crate) fn checkpoint(&self, id: SetId) -> Result<Option<Checkpoint>, Error> {
        let Some(mut checkpoint) = self.state().checkpoint(id)? else { return Ok(None) };
        let believed = self.believed(checkpoint.datetime);
        if let (Some(time), None) = (checkpoint.datetime, believed) {
            self.reporter.note(&format!(
                "the copy has the time {time}, which is in the future: listed and held resources are compared"
            ));
        }
        checkpoint.datetime = believed;
        checkpoint.newest = self.believed(checkpoint.newest);
        Ok(Some(checkpoint))
    }

    /// Returns `true` if the time that a set has reached is later than all clocks.
    pub(crate) fn is_ahead(&self, id: SetId) -> Result<bool, Error> {
        let reached = self.state().checkpoint(id)?.and_then(|checkpoint| checkpoint.datetime);
        Ok(reached.is_some() && self.believed(reached).is_none())
    }

    /// Returns the time that a set has reached if the clock of the Source is behind it, and reports this (O45). New
    /// changes then have old times and look like applied ones. They cannot be trusted, because an attacker who replays
    /// old documents states old times too (D36).
    pub(crate) fn time_behind_itself(&mut self, id: SetId) -> Result<Option<DateTime>, Error> {
        let reached = self.state().checkpoint(id)?.and_then(|checkpoint| checkpoint.datetime);
        let reached = self.believed(reached);
        let behind = reached.filter(|_| self.network.documents.clocks().went_back_behind(reached));
        if let Some(time) = behind {
            let what = format!(
                "the clock of the Source went back behind {time}, which the copy has reached: changes that it lists \
                 with older times are not told from those that were applied, until it lists everything anew later than that"
            );
            self.reporter.problem(ProblemKind::Document, &self.options.url, &what);
        }
        Ok(behind)
    }

    /// Returns a time that a document states or an earlier run recorded; `None` if no clock has reached it.
    pub(crate) fn believed(&self, time: Option<DateTime>) -> Option<DateTime> {
        plausible(time, Some(self.network.documents.clocks().latest_time()))
    }
}

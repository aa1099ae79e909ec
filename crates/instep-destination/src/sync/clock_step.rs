//! Steps back of the Source's clock: until an inventory of a later time is read, the coverage of a set is unknown.

use resourcesync::DateTime;

use crate::{
    Error,
    discover::CapabilitySet,
    plan::Coverage,
    run::{SetRun, SyncRun},
    state::SetId,
};

impl SyncRun<'_> {
    /// Records, before a set is planned, that the time which it has reached shows nothing: it is later than all clocks (O33),
    /// or the clock of the Source is behind it. Returns it in the second case.
    pub(super) fn note_clock_step(
        &mut self,
        found: &CapabilitySet,
        set: SetId,
    ) -> Result<Option<DateTime>, Error> {
        let behind_now = self.time_behind_itself(set)?;
        if found.has_inventory() && self.is_ahead(set)? {
            // Until an inventory is applied, even after the clocks have reached that time.
            self.copy.keep_coverage(set, Coverage::Unknown)?;
        }
        if let Some(time) = behind_now {
            // Until an inventory of a later time, even if the clock is right again.
            self.copy.keep_coverage(set, Coverage::Unknown)?;
            self.copy.note_clock_step(set, time)?;
        }
        Ok(behind_now)
    }

    /// Leaves the coverage unknown after the clock of the Source went back, unless an inventory of a later time was read:
    /// a held resource with an earlier time may be older or newer than it (O54). An inventory whose time the clock has
    /// not reached again was made before the clock went back. If a held resource seems to be later than the inventory, the
    /// copy had reached a later time than it knows, by changes without times (O772).
    pub(crate) fn settle_clock_step(
        &mut self,
        set: &mut SetRun,
        behind_now: Option<DateTime>,
    ) -> Result<(), Error> {
        // The lists may show a step back that the clock does not show.
        let Some(behind) = self.copy.clock_step(set.id)?.or(behind_now) else { return Ok(()) };
        let is_now = behind_now.is_some();
        let is_later = |at: &DateTime| behind.end() <= at.instant();
        let later =
            set.inventory.filter(is_later).filter(|_| !set.with(|draft| draft.inventory.has_later_changes));
        if is_now || later.is_none() {
            set.coverage = Some(Coverage::Unknown);
        }
        match later {
            Some(at) if is_now => self.copy.note_clock_step(set.id, at),
            Some(at) => self.copy.settle_clock_step(set.id, at),
            None => Ok(()),
        }
    }
}

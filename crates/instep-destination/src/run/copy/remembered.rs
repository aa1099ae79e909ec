//! The records of a set and its Source that one run writes for the next. Their formats are in `records/`.

use resourcesync::DateTime;

use super::{LocalCopy, doubts::SetDoubts};
use crate::{
    Error, SyncOptions,
    discover::FormerDocuments,
    plan::Coverage,
    records::{self, PlanRules, UnusableEntries, kept::KeptResources},
    run::SetRun,
    state::{SetId, Setting},
};

impl LocalCopy {
    /// Returns the doubts about a set that are not recorded; `None` if this run records them.
    fn doubts_of(&mut self, set: SetId) -> Option<&mut SetDoubts> {
        if self.run.is_some() {
            return None;
        }
        Some(self.doubts.entry(set).or_default())
    }

    /// Returns the way on which the operator's URL led to the Source in the last run, and the sets that the copy has of
    /// it.
    pub(crate) fn former_documents(&self) -> Result<FormerDocuments, Error> {
        let Some(source) = self.source else { return Ok(FormerDocuments::default()) };
        let state = self.state();
        let (way, ids) = (records::way::read(state, source)?, state.sets_of(source)?);
        let sets = state.sets()?.into_iter().filter(|(id, _)| ids.contains(id)).map(|(_, name)| name);
        Ok(FormerDocuments { way, sets: sets.collect() })
    }

    /// Returns the coverage of a set. A state of an earlier version does not record it: its checkpoint then counts as
    /// complete.
    pub(crate) fn coverage(&self, set: SetId) -> Result<Coverage, Error> {
        if let Some(coverage) = self.doubts.get(&set).and_then(|doubts| doubts.coverage) {
            return Ok(coverage);
        }
        match records::coverage::read(self.state(), set)? {
            Some(coverage) => Ok(coverage),
            None => {
                let at = self.state().checkpoint(set)?.and_then(|checkpoint| checkpoint.datetime);
                Ok(if at.is_some() { Coverage::Complete { at } } else { Coverage::Unknown })
            }
        }
    }

    /// Returns the number of resources of a set that stay although they are gone at the Source.
    pub(crate) fn kept(&self, set: SetId) -> Result<KeptResources, Error> {
        Ok(records::kept::read(self.state(), set)?)
    }

    /// Records that a set may hold resources although their deletion is known.
    pub(crate) fn expect_held_though_gone(&mut self, set: SetId) -> Result<(), Error> {
        self.keep_held_though_gone(set, true)
    }

    /// Records that a set holds no resource whose deletion is known.
    pub(crate) fn settle_held_though_gone(&mut self, set: SetId) -> Result<(), Error> {
        self.keep_held_though_gone(set, false)
    }

    fn keep_held_though_gone(&mut self, set: SetId, is_possible: bool) -> Result<(), Error> {
        if records::held_though_gone::read(self.state(), set)? != is_possible {
            records::held_though_gone::write(self.state_mut()?, set, is_possible)?;
        }
        Ok(())
    }

    /// Returns the entries of a set that could not be used.
    pub(crate) fn unusable(&self, set: SetId) -> Result<UnusableEntries, Error> {
        Ok(UnusableEntries::read(self.state(), set)?)
    }

    /// Records the coverage of a set at once, and not with the next checkpoint.
    pub(crate) fn keep_coverage(&mut self, set: SetId, coverage: Coverage) -> Result<(), Error> {
        match self.doubts_of(set) {
            Some(doubts) => doubts.coverage = Some(coverage),
            None => records::coverage::write(self.state_mut()?, set, coverage)?,
        }
        Ok(())
    }

    /// Records the end of the last gap in the changes of a set.
    pub(crate) fn keep_last_gap(&mut self, set: SetId, ends: DateTime) -> Result<(), Error> {
        match self.doubts_of(set) {
            Some(doubts) => doubts.last_gap = Some(ends),
            None => records::last_gap::write(self.state_mut()?, set, ends)?,
        }
        Ok(())
    }

    /// Returns the end of the last gap in the changes of a set, if this run changes nothing and met the gap.
    pub(crate) fn unrecorded_gap(&self, set: SetId) -> Option<DateTime> {
        self.doubts.get(&set).and_then(|doubts| doubts.last_gap)
    }

    /// Returns `true` if the inventory of a set was refused when it was read last, because it was older than the one that was
    /// applied.
    pub(crate) fn has_older_inventory(&self, set: SetId) -> Result<bool, Error> {
        match self.doubts.get(&set).and_then(|doubts| doubts.older_inventory) {
            Some(is_older) => Ok(is_older),
            None => Ok(records::older_inventory::read(self.state(), set)?),
        }
    }

    /// Records that the inventory of a set was refused, because it is older than the one that was applied.
    pub(crate) fn note_older_inventory(&mut self, set: SetId) -> Result<(), Error> {
        self.keep_older_inventory(set, true)
    }

    /// Records that the inventory of a set is not older than the one that was applied.
    pub(crate) fn settle_older_inventory(&mut self, set: SetId) -> Result<(), Error> {
        self.keep_older_inventory(set, false)
    }

    fn keep_older_inventory(&mut self, set: SetId, is_older: bool) -> Result<(), Error> {
        if self.has_older_inventory(set)? == is_older {
            return Ok(());
        }
        match self.doubts_of(set) {
            Some(doubts) => doubts.older_inventory = Some(is_older),
            None => records::older_inventory::write(self.state_mut()?, set, is_older)?,
        }
        Ok(())
    }

    /// Returns the time behind which the clock of a set's Source went back; `None` if it did not, or if a later
    /// inventory was applied since.
    pub(crate) fn clock_step(&self, set: SetId) -> Result<Option<DateTime>, Error> {
        match self.doubts.get(&set).and_then(|doubts| doubts.clock_step) {
            Some((behind, is_over)) => Ok(Some(behind).filter(|_| !is_over)),
            None => Ok(records::clock_step::read(self.state(), set)?),
        }
    }

    /// Records that the clock of a set's Source went back behind a time.
    pub(crate) fn note_clock_step(&mut self, set: SetId, behind: DateTime) -> Result<(), Error> {
        self.keep_clock_step(set, behind, false)
    }

    /// Records that an inventory of a later time was applied since the clock of a set's Source went back.
    pub(crate) fn settle_clock_step(&mut self, set: SetId, later: DateTime) -> Result<(), Error> {
        self.keep_clock_step(set, later, true)
    }

    fn keep_clock_step(&mut self, set: SetId, behind: DateTime, is_over: bool) -> Result<(), Error> {
        match self.doubts_of(set) {
            Some(doubts) => doubts.clock_step = Some((behind, is_over)),
            None => records::clock_step::write(self.state_mut()?, set, behind, is_over)?,
        }
        Ok(())
    }

    /// Records at once that a set gets the state of a past time. If the run ends before all of it is there, the checkpoint is
    /// still that of the later state, and the next run must not take this for the state of the copy (O763).
    pub(crate) fn keep_past_state(&mut self, set: SetId, options: &SyncOptions) -> Result<(), Error> {
        let rules = PlanRules::new(&options.selection, options.delete).at_time(options.as_of);
        let Setting { name, text } = rules.setting(self.state(), set)?;
        Ok(self.state_mut()?.set_setting(&name, &text)?)
    }

    /// Returns the changed records about a finished plan. They are written in one transaction with the new checkpoint.
    /// If a kill could come in between, the next run would continue from the checkpoint with the rules, the coverage
    /// and the unusable entries of an earlier plan (O59).
    pub(crate) fn settings_of_plan(
        &self,
        set: &SetRun,
        options: &SyncOptions,
    ) -> Result<Vec<Setting>, Error> {
        let (state, id) = (self.state(), set.id);
        let mut settings = vec![
            PlanRules::new(&options.selection, options.delete).at_time(options.as_of).setting(state, id)?,
            records::kept::setting(state, id, set.kept)?,
        ];
        if let Some(unusable) = &set.unusable {
            settings.push(unusable.setting(state, id)?);
        }
        if let Some(coverage) = set.coverage {
            settings.push(records::coverage::setting(state, id, coverage)?);
        }
        if let Some(end) = set.last_gap_end {
            let ends = records::last_gap::read(state, id)?.map_or(end, |known| known.max(end));
            settings.push(records::last_gap::setting(state, id, ends)?);
        }
        let mut changed = Vec::new();
        for setting in settings {
            if state.setting(&setting.name)?.as_ref() != Some(&setting.text) {
                changed.push(setting);
            }
        }
        Ok(changed)
    }
}

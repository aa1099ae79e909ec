//! The records of a set that a run keeps for the next one.

use resourcesync::DateTime;

use super::LocalCopy;
use crate::{
    Error, SyncOptions,
    plan::Coverage,
    records::{self, PlanRules, UnusableEntries},
    state::SetId,
};

impl LocalCopy {
    /// Returns the coverage of a set. A state of an earlier version does not record it: its checkpoint then counts as
    /// complete.
    pub(crate) fn coverage(&self, set: SetId) -> Result<Coverage, Error> {
        match records::coverage::read(self.state(), set)? {
            Some(coverage) => Ok(coverage),
            None => {
                let at = self.state().checkpoint(set)?.and_then(|checkpoint| checkpoint.datetime);
                Ok(if at.is_some() { Coverage::Complete { at } } else { Coverage::Unknown })
            }
        }
    }

    /// Returns how many resources of a set are kept although they are gone at the Source.
    pub(crate) fn kept(&self, set: SetId) -> Result<u64, Error> {
        Ok(records::kept::read(self.state(), set)?)
    }

    /// Remembers how many resources of a set are kept although they are gone at the Source.
    pub(crate) fn keep_kept(&mut self, set: SetId, kept: u64) -> Result<(), Error> {
        if self.kept(set)? != kept {
            records::kept::write(self.state_mut()?, set, kept)?;
        }
        Ok(())
    }

    /// Remembers whether a set may hold resources whose deletions it knows.
    pub(crate) fn keep_held_though_gone(&mut self, set: SetId, is_possible: bool) -> Result<(), Error> {
        if records::held_though_gone::read(self.state(), set)? != is_possible {
            records::held_though_gone::write(self.state_mut()?, set, is_possible)?;
        }
        Ok(())
    }

    /// Returns the entries of a set that could not be used.
    pub(crate) fn unusable(&self, set: SetId) -> Result<UnusableEntries, Error> {
        Ok(UnusableEntries::read(self.state(), set)?)
    }

    /// Remembers the entries of a set that could not be used.
    pub(crate) fn keep_unusable(&mut self, set: SetId, unusable: &UnusableEntries) -> Result<(), Error> {
        if self.unusable(set)? != *unusable {
            unusable.write(self.state_mut()?, set)?;
        }
        Ok(())
    }

    /// Remembers how much of a set is known.
    pub(crate) fn keep_coverage(&mut self, set: SetId, coverage: Coverage) -> Result<(), Error> {
        Ok(records::coverage::write(self.state_mut()?, set, coverage)?)
    }

    /// Remembers the end of the last gap in the changes of a set.
    pub(crate) fn keep_last_gap(&mut self, set: SetId, ends: DateTime) -> Result<(), Error> {
        Ok(records::last_gap::write(self.state_mut()?, set, ends)?)
    }

    /// Returns the time behind which the clock of a set's Source went back, until an inventory that is later.
    pub(crate) fn clock_step(&self, set: SetId) -> Result<Option<DateTime>, Error> {
        Ok(records::clock_step::read(self.state(), set)?)
    }

    /// Remembers that the clock of a set's Source went back behind a time, and whether that is over.
    pub(crate) fn keep_clock_step(
        &mut self,
        set: SetId,
        behind: DateTime,
        is_over: bool,
    ) -> Result<(), Error> {
        Ok(records::clock_step::write(self.state_mut()?, set, behind, is_over)?)
    }

    /// Records the options that the finished plan was made for.
    pub(crate) fn keep_policy(&mut self, set: SetId, options: &SyncOptions) -> Result<(), Error> {
        let now = PlanRules::new(&options.selection, options.delete);
        if PlanRules::read(self.state(), set)?.as_ref() != Some(&now) {
            now.write(self.state_mut()?, set)?;
        }
        Ok(())
    }
}

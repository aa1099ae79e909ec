//! The account of a plan in the report: the results for its entries, and the entries that cannot be used.

use crate::{
    Error, ProblemKind,
    discover::CapabilitySet,
    plan::Coverage,
    records::UnusableEntries,
    run::{SetRun, SyncRun},
};

impl SyncRun<'_> {
    /// Accounts for everything that was read about a set: its entries, those that cannot be used, and the documents that could
    /// not be read or were refused. `inventory` is the number of resources in the inventory, if one was read.
    pub(super) async fn account_for_reading(
        &mut self,
        found: &CapabilitySet,
        set: &mut SetRun,
        inventory: Option<u64>,
    ) -> Result<(), Error> {
        self.account_for(set, inventory)?;
        if inventory.is_some() || !found.has_inventory() && set.new_documents {
            self.replace_unusable(set)?;
        } else {
            self.add_unusable(set)?;
        }
        if found.lost_above.is_some() {
            // The Capability List could not be read, so other capabilities of the set are unknown (O35).
            self.reporter.report.coverage = Some(Coverage::Unknown);
        }
        if inventory.is_some() { Ok(()) } else { self.look_at_older_inventory(found, set.id).await }
    }

    /// Adds the results for the entries of a plan, and their coverage, to the report.
    pub(crate) fn account_for(&mut self, set: &mut SetRun, inventory: Option<u64>) -> Result<(), Error> {
        set.with(|draft| draft.check_account())?;
        let is_counted_anew = inventory.is_some() || self.options.delete;
        let before = || self.copy.kept(set.id);
        let (entries, kept) = set.with(|draft| (draft.account, draft.kept(before, is_counted_anew)));
        set.kept = kept?;
        let coverage = match set.coverage {
            Some(coverage) => coverage,
            None => self.copy.coverage(set.id)?,
        };
        let report = &mut self.reporter.report;
        report.entries.add(&entries);
        report.kept += set.kept.all;
        report.coverage = Some(report.coverage.map_or(coverage, |least| least.least(coverage)));
        Ok(())
    }

    /// Records the entries that could not be used beside those of earlier runs, which still count as a problem (B27).
    pub(crate) fn add_unusable(&mut self, set: &mut SetRun) -> Result<(), Error> {
        self.account_for_unusable(set, false)
    }

    /// Records the entries that could not be used in place of those of earlier runs, because a new inventory was read, or
    /// new documents of a set without an inventory.
    pub(crate) fn replace_unusable(&mut self, set: &mut SetRun) -> Result<(), Error> {
        self.account_for_unusable(set, true)
    }

    fn account_for_unusable(&mut self, set: &mut SetRun, is_renewed: bool) -> Result<(), Error> {
        let read = set.unusable_entries(self.options.access.scope_text());
        if let Some(counted) = set.unusable.take() {
            set.unusable = Some(counted.most(read));
            return Ok(());
        }
        let held = if is_renewed { UnusableEntries::default() } else { self.copy.unusable(set.id)? };
        if held.count > 0 && read.count == 0 {
            let UnusableEntries { count, uri, what, .. } = &held;
            let what = format!("{what}; entries of earlier runs that cannot be used: {count}");
            self.reporter.problem(ProblemKind::Entry, uri, &what);
        }
        set.unusable = Some(held.most(read));
        Ok(())
    }
}

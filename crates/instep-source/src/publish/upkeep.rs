//! What is done with a catalogue beside publishing from it.

use super::{Publisher, published};
use crate::{
    Error, Monitor,
    catalogue::Recorded,
    render::SetFacts,
    scan::{Difference, Said, ScanOptions, ScanReport, check, record_said},
};

/// What a compaction gave back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compaction {
    /// Lines of the change log that went.
    pub forgotten: u64,
    /// Bytes of the catalogue before.
    pub before: u64,
    /// Bytes of the catalogue after.
    pub after: u64,
}

impl Publisher {
    /// Records what an application says, durably when this returns; the next publication tells it.
    ///
    /// # Errors
    /// When the catalogue fails, or a folder of the Source cannot be read.
    pub fn record(&self, said: Vec<Said>, monitor: &dyn Monitor) -> Result<Recorded, Error> {
        record_said(&self.holdings, &self.catalogue, said, &ScanOptions::new(&self.options), monitor)
    }

    /// Hashes all content and holds the catalogue against it; nothing is recorded. Each difference goes to `differs`.
    ///
    /// # Errors
    /// When a folder or manifest cannot be read, or the catalogue fails.
    pub fn check(
        &self,
        monitor: &dyn Monitor,
        differs: &mut (dyn FnMut(Difference) + Send),
    ) -> Result<ScanReport, Error> {
        if self.holdings.manifests().iter().any(|manifest| manifest.is_standard_input()) {
            let what = "resources that were read from standard input cannot be read again";
            return Err(Error::option("from", what));
        }
        check(&self.holdings, &self.catalogue, &ScanOptions::new(&self.options), monitor, differs)
    }

    /// Drops the lines of the change log that no published document shows any more, and gives their space back.
    ///
    /// # Errors
    /// When the catalogue fails, or the disk has no room for a copy of it.
    pub fn compact(&self) -> Result<Compaction, Error> {
        let (facts, head) = {
            let snapshot = self.catalogue.snapshot()?;
            (published::load(&snapshot)?.facts, snapshot.head())
        };
        let needed = facts.sets.values().filter_map(needed_after).min();
        let through = needed.unwrap_or(0).min(head.sequence);
        self.catalogue.forget_changes(through)?;
        let (before, after) = self.catalogue.compact()?;
        Ok(Compaction { forgotten: through.saturating_sub(head.forgotten), before, after })
    }
}

/// The sequence number after which the documents of a set show changes; none where they show none.
fn needed_after(set: &SetFacts) -> Option<u64> {
    let lists = set.change_list.iter().flat_map(|lists| lists.closed.iter().chain([&lists.open]));
    let listed = lists.chain(&set.archive.change_lists).map(|span| span.after);
    listed.chain(set.change_dump.iter().map(|dump| dump.through)).min()
}

//! The coverage of a copy after changes, and the gaps between the copy and the listed changes.

use crate::{
    Error,
    plan::Reach,
    read::ReadChanges,
    run::{SetRun, SyncRun},
};

impl SyncRun<'_> {
    /// Sets the coverage of the copy after the changes are applied. If some of them are missing, it does not advance, like
    /// the checkpoint; but a gap before those that are listed counts all the same (O776). Returns the reach of all
    /// changes that were read; `first` is that of the first of them.
    pub(super) fn cover(
        &mut self,
        set: &mut SetRun,
        first: Reach,
        read: &ReadChanges,
    ) -> Result<Reach, Error> {
        let reach = read.reach(first);
        set.with(|draft| draft.met.seam |= read.seam.is_some());
        self.keep_gap(set, Some(reach))?;
        let coverage = self.copy.coverage(set.id)?.with_changes(reach, read.checkpoint.datetime);
        if read.lost.is_empty() || !coverage.is_complete() {
            set.coverage = Some(coverage);
            if !coverage.is_complete() {
                // Recorded at once: a gap without new entries moves no checkpoint, and the next run may not see it in
                // the lists (O28).
                self.copy.keep_coverage(set.id, coverage)?;
            }
        }
        Ok(reach)
    }

    /// Records a gap between the copy and the listed changes. It is recorded at once, because the next run may not see
    /// it in the lists (O52).
    pub(super) fn keep_gap(&mut self, set: &SetRun, reach: Option<Reach>) -> Result<(), Error> {
        if let Some(Reach::Gap { earliest }) = reach {
            set.with(|draft| draft.history.meet_gap(earliest));
        }
        match set.with(|draft| draft.history.last_gap) {
            Some(ends) => self.copy.keep_last_gap(set.id, ends),
            None => Ok(()),
        }
    }
}

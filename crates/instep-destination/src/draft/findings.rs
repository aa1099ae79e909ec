//! Findings in the changes of a plan, from which it follows if an inventory has to be read too.

/// The findings in the changes that were folded over a plan.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChangeFindings {
    /// `true` if a changed resource may be a metadata record: then the resources it describes are selected again.
    pub(crate) record: bool,
    /// `true` if a new change has no time: then an inventory may be older or newer than it (O15).
    pub(crate) undated: bool,
    /// `true` if a list was lost after such a change was read: only it may show that the list before it ends earlier
    /// than an inventory. Or if a list is in no order, and has an impossible time (O774).
    pub(crate) doubtful: bool,
    /// `true` if a Change List no longer has changes that were applied (O411).
    pub(crate) lost_changes: bool,
    /// `true` if the Change Lists begin earlier than when they were read last: their times do not show which of their changes
    /// the copy knows, nor that it knows those that they do not list (O945).
    pub(crate) rewritten: bool,
    /// `true` if the Change List that was read last ends before the newest change that it had, or lacks that change: the
    /// clock of the Source went back (O706).
    pub(crate) went_back: bool,
    /// `true` if changes may be missing between the Change Dumps and the Change Lists (O451).
    pub(crate) seam: bool,
}

impl ChangeFindings {
    /// Returns `true` if the Change Lists contradict what was read of them before.
    pub(crate) fn are_contradictory(self) -> bool {
        self.lost_changes || self.rewritten || self.went_back
    }
}

//! Findings in the changes of a plan, from which it follows if an inventory has to be read too.

/// The reason to read an inventory after metadata records changed.
const CHOSEN_AGAIN: &str = "metadata records changed: what they describe is chosen again";

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

    /// Returns the reason to read an inventory beside the changes; `None` if they are enough.
    pub(crate) fn reason_for_inventory(self) -> Option<&'static str> {
        let reasons = [
            (self.lost_changes, "changes that were applied are no longer listed"),
            (self.rewritten, "the Change Lists were written anew"),
            (self.went_back, "the clock of the Source went back"),
            (self.seam, "changes may be missing between the Change Dumps and the Change Lists"),
            (self.record, CHOSEN_AGAIN),
            // Their order relative to an inventory can be determined now, but not in a later run (O15).
            (self.undated, "changes do not say their times: a new inventory is read beside them"),
        ];
        reasons.into_iter().find(|(is_met, _)| *is_met).map(|(_, reason)| reason)
    }

    /// Returns the reason to select resources again; `None` if no metadata record changed.
    pub(crate) fn reason_to_choose_again(self) -> Option<&'static str> {
        self.record.then_some(CHOSEN_AGAIN)
    }
}

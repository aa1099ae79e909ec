//! The doubts about sets that a run which changes nothing would record. They are kept until it ends.

use resourcesync::DateTime;

use crate::plan::Coverage;

/// The doubts about a set that a run which changes nothing would record. It goes on as if they were recorded, so that it
/// reports the same as a run that records them (O703).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SetDoubts {
    pub(super) coverage: Option<Coverage>,
    pub(super) last_gap: Option<DateTime>,
    /// The time behind which the clock of the Source went back, and `true` if a later inventory was read.
    pub(super) clock_step: Option<(DateTime, bool)>,
    pub(super) older_inventory: Option<bool>,
}

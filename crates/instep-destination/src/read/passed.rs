//! The position that the reading of changes has reached.

use resourcesync::{DateTime, Uri};

use crate::{
    plan::{Shape, plausible},
    state::Checkpoint,
};

/// A list or a manifest that was read to its end.
pub(super) struct Passed {
    pub(super) uri: Uri,
    pub(super) from: Option<DateTime>,
    pub(super) until: Option<DateTime>,
    pub(super) shape: Shape,
    /// Times later than this are no times (D38).
    pub(super) latest: DateTime,
}

impl Passed {
    /// Moves a checkpoint to the end of what was read.
    pub(super) fn advance(self, checkpoint: &mut Checkpoint) {
        let Self { uri, from, until, shape, latest } = self;
        for time in [from, until, shape.newest].into_iter().filter_map(|time| plausible(time, Some(latest))) {
            if checkpoint.datetime.is_none_or(|held| held.instant() < time.instant()) {
                checkpoint.datetime = Some(time);
            }
        }
        checkpoint.newest = checkpoint.newest.max(checkpoint.datetime);
        checkpoint.document = Some(uri);
        checkpoint.position = shape.entries;
        checkpoint.leading = Some(shape.leading);
        checkpoint.last = None;
    }
}

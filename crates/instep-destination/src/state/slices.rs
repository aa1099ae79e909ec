//! A large plan in slices, which several workers carry out: the interface of its storage.
//!
//! The run that has the copy writes the plan in slices of at most [`SLICE`] actions, and seals it. From then on each
//! worker with a share of it claims slices. A group records the progress of its slices in the transaction that
//! commits its resources, so a freed slice continues where the last group ended. A checkpoint of the set is refused
//! as long as a slice is left.

use std::{collections::BTreeMap, fmt};

use super::{SetId, StateError};

/// The most actions of a slice.
pub(crate) const SLICE: usize = 256;

const WORDS: usize = SLICE / 64;

/// The number of a slice within its plan.
pub(crate) type SliceId = i64;

/// The number of a worker within a plan: no two ever have the same.
pub(crate) type SharerId = i64;

/// The finished actions of a slice, by their positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DoneActions([u64; WORDS]);

impl DoneActions {
    /// Records that an action is finished.
    pub(crate) fn insert(&mut self, place: u16) {
        if let Some(word) = self.0.get_mut(usize::from(place) / 64) {
            *word |= 1 << (place % 64);
        }
    }

    /// Returns `true` if an action is finished.
    pub(crate) fn has(&self, place: u16) -> bool {
        self.0.get(usize::from(place) / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    /// Returns the number of finished actions.
    pub(crate) fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns the bytes in which an engine stores them.
    #[cfg(feature = "postgres")]
    pub(super) fn to_bytes(self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Reads the stored value of an engine; `None` if it is invalid.
    #[cfg(feature = "postgres")]
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut words = [0; WORDS];
        if bytes.len() != size_of_val(&words) {
            return None;
        }
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().ok()?);
        }
        Some(Self(words))
    }
}

/// The progress of a slice, which covers all its outcomes so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SliceProgress {
    pub(crate) slice: SliceId,
    pub(crate) done: DoneActions,
    /// The number of its actions.
    pub(crate) total: u16,
}

impl SliceProgress {
    /// Returns `true` if all of its actions are finished.
    pub(crate) fn is_finished(&self) -> bool {
        self.done.count() == u32::from(self.total)
    }
}

/// A slice as the run that shares its plan writes it.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "no other engine shares plans"))]
pub(crate) struct NewSlice {
    pub(crate) id: SliceId,
    /// Its position among the slices of its origin. Slices are claimed in this order, so that origins take turns.
    pub(crate) turn: i64,
    pub(crate) total: u16,
    /// The actions, in the form of `records::slice`.
    pub(crate) actions: Vec<u8>,
}

/// A slice that belongs to a worker until it is done or the worker's share ends.
#[derive(Clone, Debug)]
pub(crate) struct ClaimedSlice {
    pub(crate) progress: SliceProgress,
    /// The actions, in the form of `records::slice`.
    pub(crate) actions: Vec<u8>,
}

/// Counts of the results of a worker's groups for a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShareCounts {
    /// The number of finished actions.
    pub(crate) done: u64,
    pub(crate) created: u64,
    pub(crate) updated: u64,
    pub(crate) unchanged: u64,
    /// The number of resources that arrived without a length or digest to compare.
    pub(crate) unverified: u64,
    /// The number of bytes that were transferred.
    pub(crate) bytes: u64,
}

impl ShareCounts {
    /// Returns the values, in the order of the columns of an engine.
    fn each(&mut self) -> [&mut u64; 6] {
        let Self { done, created, updated, unchanged, unverified, bytes } = self;
        [done, created, updated, unchanged, unverified, bytes]
    }

    /// Adds the counts of another group.
    pub(crate) fn add(&mut self, mut others: Self) {
        self.each().into_iter().zip(others.each()).for_each(|(sum, more)| *sum += *more);
    }

    /// Returns the difference to earlier counts.
    pub(crate) fn since(mut self, mut before: Self) -> Self {
        self.each().into_iter().zip(before.each()).for_each(|(sum, less)| *sum = sum.saturating_sub(*less));
        self
    }
}

/// A worker's share of a plan, as the others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlanShare {
    pub(crate) sharer: SharerId,
    pub(crate) beat: i64,
    /// `true` if it has given its slices back, or another worker has freed them.
    pub(crate) has_ended: bool,
    pub(crate) counts: ShareCounts,
}

/// A resource that a worker could not fetch, for the run that has the copy to try again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SliceFailure {
    pub(crate) uri: String,
    /// The name of the kind of the problem.
    pub(crate) kind: String,
    pub(crate) what: String,
    /// `true` if a change that was published meanwhile may explain it (D39).
    pub(crate) explicable: bool,
}

/// The part of a ledger about the slices of a group's outcomes.
#[derive(Clone, Debug, Default)]
pub(crate) struct SliceLedger {
    pub(crate) progress: BTreeMap<SliceId, SliceProgress>,
    pub(crate) counts: ShareCounts,
    pub(crate) failures: Vec<SliceFailure>,
}

/// Write access to a plan in slices, for the run that has the copy.
pub(crate) trait SharePlan {
    /// Begins the plan of a set, replacing any former one. Its slices are not visible yet.
    fn begin_plan(&mut self, set: SetId) -> Result<(), StateError>;

    /// Adds slices to the plan.
    fn add_slices(&mut self, slices: &[NewSlice]) -> Result<(), StateError>;

    /// Seals the plan: every worker may claim slices from now on. Returns this run's share.
    fn seal_plan(&mut self) -> Result<Box<dyn SliceBoard>, StateError>;
}

/// Access to the slices of a sealed plan, for a worker with a share of it.
pub(crate) trait SliceBoard: fmt::Debug + Send {
    /// Returns the number of this worker.
    fn me(&self) -> SharerId;

    /// Claims free slices with about this many actions, at least one slice; empty if none is free. A repeated call
    /// whose answer was lost claims nothing twice.
    ///
    /// Errors: also if this share has ended, or another run has the copy.
    fn claim(&mut self, actions: usize) -> Result<Vec<ClaimedSlice>, StateError>;

    /// Returns `true` if another run takes the copy over and waits for the results that have arrived, so that nothing
    /// more should begin.
    fn is_ending(&self) -> Result<bool, StateError>;

    /// Returns all shares of the plan.
    fn shares(&self) -> Result<Vec<PlanShare>, StateError>;

    /// Ends a worker's share and frees its slices, unless it sent a heartbeat since. Returns `true` if it has ended the
    /// share.
    fn end_share(&self, sharer: SharerId, beat: i64) -> Result<bool, StateError>;

    /// Returns `true` if only slices of this worker are left.
    fn have_others_done(&self) -> Result<bool, StateError>;

    /// Returns the next failures of other workers, after a URI.
    fn failures_after(&self, after: &str, most: usize) -> Result<Vec<SliceFailure>, StateError>;
}

/// A share of a plan that another run has sealed.
#[cfg(feature = "postgres")]
#[derive(Debug)]
pub(crate) struct JoinedPlan {
    /// The set of the plan.
    pub(crate) set: SetId,
    /// The state, which can be written for as long as the share lasts.
    pub(crate) state: Box<dyn super::CopyState>,
    pub(crate) board: Box<dyn SliceBoard>,
}

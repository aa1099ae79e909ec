//! Write access to the state: groups with their records in one transaction, and records that belong to no group. Each
//! engine implements it.

use resourcesync::{DateTime, Uri};

use super::{
    ImportState, IntentId, Ledger, LoggedProblem, LoggedRun, Operation, ReachedPoint, ReadState, RunId,
    SetId, SharePlan, SourceId, StateError, Waits,
};

/// Write access to the rows of objects in object storage.
pub(crate) trait WritePacks {
    /// Records the keys of objects that will be put. They are durable when this returns, unless durability is off. A
    /// group commits the objects by its [`Ledger`].
    fn begin_packs(&mut self, keys: &[&str]) -> Result<(), StateError>;

    /// Removes the rows of objects that were removed.
    fn forget_packs(&mut self, keys: &[Box<str>]) -> Result<(), StateError>;
}

/// Write access to groups. Invariant 5 is implemented here: a group and its records are one transaction.
pub(crate) trait WriteGroups {
    /// Records the operations that a group will carry out. They are durable when this returns, unless durability is
    /// off.
    fn write_intent(&mut self, operations: &[Operation]) -> Result<IntentId, StateError>;

    /// Records the finished operations of a group, which arrive in consecutive slices, and removes its intent.
    fn commit_group(
        &mut self,
        intent: Option<IntentId>,
        done: &[&[Operation]],
        ledger: &Ledger,
    ) -> Result<(), StateError>;

    /// Sets the point at which later commits return. An engine may wait longer.
    fn set_waits(&mut self, waits: Waits) -> Result<(), StateError>;

    /// Makes everything durable that was written. It is called at the end of a run.
    fn make_durable(&mut self) -> Result<(), StateError>;

    /// Records that held resources belong to a set.
    fn join(&mut self, set: SetId, uris: &[Uri]) -> Result<(), StateError>;

    /// Forgets the deletions of a set before the time of an inventory that was applied. A deletion at that exact time
    /// stays, because the inventory may have been made just before it.
    fn forget_deletions(&mut self, set: SetId, inventory: DateTime) -> Result<(), StateError>;

    /// Forgets the deletions of a set before a time, but for those of resources that are held: nothing lists these deletions any
    /// more, and they are left to do.
    fn forget_old_deletions(&mut self, set: SetId, before: DateTime) -> Result<(), StateError>;

    /// Keeps each change of the copy from now on, until it is forgotten after its delivery.
    fn record_changes(&mut self);

    /// Removes delivered changes, up to this sequence.
    fn forget_changes(&mut self, last: i64) -> Result<(), StateError>;
}

/// Write access to records that belong to no group: sets, Sources, settings and the log. Settings, sets, the Sources of
/// sets and runs, and the progress may wait for the next transaction, or for [`WriteGroups::make_durable`].
pub(crate) trait WriteRecords {
    /// Returns the set with the URI of a Capability List, or of the document that is used instead. It is created if it
    /// is new.
    ///
    /// Errors: also if the copy follows as many sets as it can.
    fn set(&mut self, uri: &str) -> Result<SetId, StateError>;

    /// Renames a set. Does nothing if the copy follows no set with the former name.
    fn rename_set(&mut self, former: &str, name: &str) -> Result<(), StateError>;

    /// Gives the number of a set without resources to another one. Everything else that is known of the former is
    /// forgotten, with these settings.
    fn reuse_set(&mut self, set: SetId, name: &str, settings: &[String]) -> Result<(), StateError>;

    /// Sets a setting of the copy.
    fn set_setting(&mut self, name: &str, value: &str) -> Result<(), StateError>;

    /// Records that a URL led to these sets. A Source that is followed already keeps its record under another URL, and
    /// two Sources that have the same sets become one.
    fn found_source(&mut self, url: &str, sets: &[SetId]) -> Result<SourceId, StateError>;

    /// Records that a set belongs to a Source.
    fn set_belongs_to(&mut self, set: SetId, source: SourceId) -> Result<(), StateError>;

    /// Records that a run begins. `source` is `None` if it is not known yet.
    fn begin_run(
        &mut self,
        started: DateTime,
        what: &str,
        source: Option<SourceId>,
    ) -> Result<RunId, StateError>;

    /// Records the Source that a run has found.
    fn run_is_of(&mut self, run: RunId, source: SourceId) -> Result<(), StateError>;

    /// Records the end of a run, with its problems by kind.
    fn finish_run(&mut self, run: &LoggedRun, problems: &[LoggedProblem]) -> Result<(), StateError>;

    /// Records the progress of the copy at a time. Of the points of one minute the last is kept, so that a copy with
    /// changes every second has no more points than others.
    fn note_reached(&mut self, point: ReachedPoint) -> Result<(), StateError>;
}

/// The state of a copy for writing: only the [`Committer`](crate::commit::Committer) has it.
pub(crate) trait CopyState: ReadState + WriteGroups + WritePacks + WriteRecords + ImportState {
    /// Returns the interface for sharing a plan with other workers; `None` if the engine has no others.
    fn sharing(&mut self) -> Option<&mut dyn SharePlan> {
        None
    }
}

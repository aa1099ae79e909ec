//! A state as records that any engine can import: everything that it holds, without numbers that have a meaning in one
//! engine only.

use std::ops::ControlFlow;

use resourcesync::{DateTime, Uri};

use super::{
    Checkpoint, DocumentRecord, HeldResource, LoggedProblem, LoggedRun, Operation, Owed, ReachedPoint, SetId,
    StateError,
};
use crate::changes::CopyChange;

/// One record of a state. A record follows those that it refers to.
#[derive(Clone, Debug)]
pub(crate) enum StateRecord {
    /// A Source, and the record of the way to it.
    Source { url: String, way: Option<String> },
    /// A set that the copy follows, with the URL of its Source.
    Set { id: SetId, name: String, source: Option<String>, checkpoint: Option<Checkpoint> },
    /// A setting of the copy.
    Setting { name: String, value: String },
    /// A document that was read.
    Document(DocumentRecord),
    /// A run, with the URL of its Source. Its number is its position among all runs.
    Run { run: LoggedRun, source: Option<String> },
    /// The problems of one kind in the run with this number.
    Problem { run: i64, problem: LoggedProblem },
    /// The progress of the copy after a run.
    Reached(ReachedPoint),
    /// An object in object storage. Without bytes it is begun and was not committed.
    Object { key: Box<str>, bytes: Option<u64>, dead: u64 },
    /// A held resource. Its number is not used; the name is the form of the mapped path in a file system that ignores
    /// case, `None` if that is the path itself.
    Held { held: HeldResource, name: Option<String> },
    /// A resource of a set that the next run tries again.
    Owed { set: SetId, owed: Owed },
    /// A deletion that a change named, and its time.
    Gone { set: SetId, uri: Uri, at: DateTime },
    /// A change of the copy that its readers have not received yet.
    Change(CopyChange),
    /// A group that was under way when a run was killed.
    Group(Vec<Operation>),
}

impl StateRecord {
    /// Returns `true` if both are of one kind.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// A function that receives records until it breaks.
pub(crate) type EachRecord<'a> = dyn FnMut(StateRecord) -> ControlFlow<()> + 'a;

/// Read access to a complete state.
pub(crate) trait ExportState {
    /// Returns the highest number that a change of the copy may have had.
    fn last_change(&self) -> Result<i64, StateError>;

    /// Visits all records as they are at one moment, in an order that every engine has: kind by kind as
    /// [`StateRecord`] has them, and within a kind by the bytes of the key, or by age.
    fn export(&self, each: &mut EachRecord<'_>) -> Result<ControlFlow<()>, StateError>;
}

/// The records that an engine imports.
pub(crate) trait ImportFeed {
    /// Returns the highest number that a change of the copy may have had. Numbers continue from there.
    fn last_change(&self) -> i64;

    /// Returns the next records, all of one kind; none at the end. Breaks if no more are available.
    fn next(&mut self) -> ControlFlow<(), Vec<StateRecord>>;

    /// Receives a record as the engine has stored it.
    fn read_back(&mut self, record: StateRecord) -> ControlFlow<()>;

    /// Continues if everything was read back as it was given.
    fn is_right(&mut self) -> ControlFlow<()>;
}

/// Write access that fills a new state.
pub(crate) trait ImportState {
    /// Imports all records and reads them back, in one transaction. If the feed breaks, nothing is imported, and this
    /// breaks too.
    fn import(&mut self, feed: &mut dyn ImportFeed) -> Result<ControlFlow<()>, StateError>;
}

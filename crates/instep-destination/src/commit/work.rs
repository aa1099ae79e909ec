//! A group while it is carried out: operations in their order, and the report of each.

use resourcesync::{Change, Digests};

use super::{Committed, Flushed, record::Refused};
use crate::{
    error::error_chain,
    plan::{Desired, DesiredPresence, Retrieval},
    state::{Ledger, Operation, Owed, ResourceMetadata, SetId},
    store::StagedName,
};

/// A group that is being carried out.
#[derive(Debug)]
pub(super) struct Work {
    /// The operations in their order, without those that were refused.
    pub(super) operations: Vec<Operation>,
    /// The report of each of them.
    pub(super) notes: Vec<OperationReport>,
    pub(super) adopted: Vec<Operation>,
    pub(super) ledger: Ledger,
    /// The staged files that are not needed after the commit of the group.
    pub(super) leftovers: Vec<StagedName>,
    pub(super) flushed: Flushed,
}

/// The report of an operation.
#[derive(Clone, Debug, Default)]
pub(super) struct OperationReport {
    /// The set of the resource; `None` if a file is only moved.
    pub(super) set: Option<SetId>,
    pub(super) length: u64,
    /// The length and the digests that the Source gives a file that gets a name.
    pub(super) offered: (Option<u64>, Digests),
    /// The ways to get its bytes again.
    pub(super) retrieval: Option<Box<Retrieval>>,
    /// Its position in the order of the requests.
    pub(super) order: usize,
}

impl Work {
    pub(super) fn push(&mut self, operation: Operation, note: OperationReport) {
        self.operations.push(operation);
        self.notes.push(note);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.operations.is_empty() && self.adopted.is_empty() && self.ledger.is_empty()
    }

    /// Returns `true` if files of the copy get names, or are adopted under the names that they have.
    pub(super) fn names_files(&self) -> bool {
        !self.operations.is_empty() || !self.adopted.is_empty()
    }

    /// Returns the staged files that get a name.
    pub(super) fn staged(&self) -> Vec<StagedName> {
        let placed = |operation: &Operation| match operation {
            Operation::Place { staged, .. } => Some(StagedName::from(*staged)),
            _ => None,
        };
        self.operations.iter().filter_map(placed).collect()
    }

    /// Takes out the operations that were refused, which become pending. The others stay.
    pub(super) fn refuse(&mut self, refused: Vec<Refused>) {
        for Refused { index, error } in refused.into_iter().rev() {
            let (operation, note) = (self.operations.remove(index), self.notes.remove(index));
            let uri = operation.uri().clone();
            let mut desired = Desired::new(uri.clone());
            match operation {
                Operation::Place { staged, metadata, .. } => {
                    self.leftovers.push(StagedName::from(staged));
                    let (length, digests) = note.offered;
                    desired.metadata = ResourceMetadata { length, digests, ..metadata };
                    desired.retrieval = note.retrieval;
                    self.flushed.has_unplaced = true;
                }
                _ => {
                    desired.presence = DesiredPresence::Absent;
                }
            }
            if let Some(set) = note.set.filter(|_| desired.can_be_requested()) {
                self.ledger.owe(set, Owed::new(desired, format!("storage: {}", error_chain(&error))));
            }
            self.flushed.refused.push((uri, error));
        }
        self.flushed.refused.reverse();
        let removed = |operation: &Operation| match operation {
            Operation::Remove { staged, .. } => Some(StagedName::from(*staged)),
            _ => None,
        };
        self.leftovers.extend(self.operations.iter().filter_map(removed));
    }

    /// Returns the operations that were done.
    pub(super) fn done(&self) -> [&[Operation]; 2] {
        [&self.operations, &self.adopted]
    }

    /// Returns the result of the group, with its changes in the order of the requests.
    pub(super) fn conclude(self) -> Flushed {
        let mut committed: Vec<(usize, Committed)> = Vec::with_capacity(self.operations.len());
        for (operation, OperationReport { length, order, .. }) in self.operations.into_iter().zip(self.notes)
        {
            let (uri, path, change) = match operation {
                Operation::Place { uri, path, replaces: true, .. } => (uri, path, Change::Updated),
                Operation::Place { uri, path, .. } => (uri, path, Change::Created),
                Operation::Remove { uri, path, .. } => (uri, path, Change::Deleted),
                Operation::Move { .. } => continue,
            };
            committed.push((order, Committed { uri, path, change, length }));
        }
        committed.sort_by_key(|(order, _)| *order);
        let committed = committed.into_iter().map(|(_, committed)| committed).collect();
        Flushed { committed, ..self.flushed }
    }
}

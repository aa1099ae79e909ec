//! A group while it grows: later changes of a resource replace earlier ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use resourcesync::Uri;

use super::{
    CommitOptions, Flushed, NewFile,
    work::{OperationReport, Work},
};
use crate::{
    map::CopyPath,
    state::{HeldAt, HeldResource, Ledger, Operation, ResourceMetadata, SetId},
    store::{StagedName, StoreError},
};

/// A group of a worker is put into an object early if it is at least this fraction, one fiftieth, of everything that the
/// run has committed. A kill loses half of a group on average, which is 1 % then, and also the transfers under way and a
/// group that is just being committed.
const PARTS: usize = 50;

/// The changes that will be committed together.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) places: BTreeMap<Uri, Box<Placing>>,
    pub(super) removals: BTreeMap<Uri, Removal>,
    pub(super) moves: BTreeMap<Uri, Moving>,
    /// The resource that will have a name; names that the store does not distinguish count as one.
    pub(super) names: BTreeMap<String, Uri>,
    /// Names that several resources map to; none of them gets it.
    pub(super) contested: BTreeSet<String>,
    /// Folders that no file of the group will block, and `true` if they already exist.
    pub(super) open_folders: BTreeMap<String, bool>,
    /// Names that nothing in the copy has, neither as a file nor as a folder.
    pub(super) free_names: BTreeSet<String>,
    pub(super) adopted: Vec<Operation>,
    /// Staged files that later versions in the same group have replaced.
    pub(super) superseded: Vec<StagedName>,
    pub(super) ledger: Ledger,
    /// The resources that a foreign file or folder in the copy blocks.
    pub(super) refused: Vec<(Uri, StoreError)>,
    since: Option<Instant>,
    bytes: u64,
    added: usize,
    weight: usize,
    /// The number of changes in the groups before.
    before: usize,
}

/// A staged file and its destination.
#[derive(Debug)]
pub(super) struct Placing {
    pub(super) file: NewFile,
    pub(super) path: CopyPath,
    pub(super) replaces: bool,
    order: usize,
}

/// A file to remove.
#[derive(Debug)]
pub(super) struct Removal {
    pub(super) path: CopyPath,
    pub(super) length: u64,
    pub(super) into: StagedName,
    set: SetId,
    order: usize,
}

/// A file that gets another name, to make room.
#[derive(Debug)]
pub(super) struct Moving {
    pub(super) from: CopyPath,
    pub(super) to: CopyPath,
    pub(super) by: StagedName,
}

impl Group {
    pub(super) fn begin(&mut self, weight: usize) {
        self.begin_to_wait();
        self.added += 1;
        self.weight += weight;
    }

    /// Counts the age of the group from now on, unless it has an age already.
    pub(super) fn begin_to_wait(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    /// Takes the group out, and begins the next one.
    pub(super) fn take(&mut self) -> Self {
        let before = self.before + self.added;
        std::mem::replace(self, Self { before, ..Self::default() })
    }

    pub(super) fn is_full(&self, options: &CommitOptions) -> bool {
        let by_itself = options.durability == crate::store::Durability::File && !self.places.is_empty();
        by_itself || self.weight >= options.most_resources || self.bytes >= options.most_bytes
    }

    /// Returns the time for which the group may still wait once this number of further changes is added; `None` if
    /// nothing waits.
    pub(super) fn due_in(&self, more: usize, options: &CommitOptions) -> Option<Duration> {
        let since = self.since?;
        Some(self.longest_wait(more, options).saturating_sub(since.elapsed()))
    }

    /// Returns the longest time that its first resource waits once this number of further changes is added.
    pub(super) fn longest_wait(&self, more: usize, options: &CommitOptions) -> Duration {
        match self.added + more {
            added if added >= options.few.max(self.before / PARTS) => options.early,
            added if added >= options.enough => options.soon,
            _ => options.longest_wait,
        }
    }

    pub(super) fn place(&mut self, file: NewFile, path: CopyPath, replaces: bool) {
        self.bytes += file.staged.length;
        let order = self.added;
        let uri = file.uri.clone();
        // Two versions of a resource in one group: only the later one gets the name.
        if let Some(earlier) = self.places.insert(uri, Box::new(Placing { file, path, replaces, order })) {
            self.superseded.push(earlier.file.staged.name);
        }
    }

    pub(super) fn remove(&mut self, held: &HeldResource, path: CopyPath, into: StagedName, set: SetId) {
        let length = held.metadata.length.unwrap_or_default();
        self.removals.insert(held.uri.clone(), Removal { path, length, into, set, order: self.added });
    }

    /// Returns the operations in the order in which they are carried out: names are freed, then resources are removed,
    /// then new ones are placed, folder by folder.
    pub(super) fn into_work(self) -> Work {
        let count = self.moves.len() + self.removals.len() + self.places.len();
        let mut work = Work {
            operations: Vec::with_capacity(count),
            notes: Vec::with_capacity(count),
            adopted: self.adopted,
            ledger: self.ledger,
            leftovers: self.superseded,
            flushed: Flushed {
                has_unplaced: !self.refused.is_empty(),
                refused: self.refused,
                ..Flushed::default()
            },
        };
        // A file that makes room for a folder is moved before anything is placed below that folder.
        for (uri, Moving { from, to, by }) in self.moves {
            work.push(Operation::Move { uri, from, to, staged: by.get() }, OperationReport::default());
        }
        // Resources are removed before new ones are placed, which may need the name or the space of a removed one.
        for (uri, Removal { path, length, into, set, order }) in self.removals {
            work.push(
                Operation::Remove { uri, path, staged: into.get() },
                OperationReport { set: Some(set), length, order, ..OperationReport::default() },
            );
        }
        let mut places: Vec<_> = self.places.into_values().collect();
        // The order by folders opens and syncs each folder once.
        places.sort_by(|a, b| (a.path.folder(), &a.path).cmp(&(b.path.folder(), &b.path)));
        for placing in places {
            let (operation, note) = placing.into_operation();
            work.push(operation, note);
        }
        work
    }
}

impl Placing {
    fn into_operation(self) -> (Operation, OperationReport) {
        let Self { file, path, replaces, order } = self;
        let length = file.staged.length;
        let offered = (file.metadata.length, file.metadata.digests);
        let metadata =
            ResourceMetadata { length: Some(length), digests: file.staged.digests, ..file.metadata };
        let operation = Operation::Place {
            uri: file.uri,
            key: file.path.key_beside(&path),
            path,
            staged: file.staged.name.get(),
            sets: file.set.mask(),
            metadata,
            replaces,
            place: HeldAt::Path,
        };
        let report =
            OperationReport { set: Some(file.set), length, offered, order, retrieval: file.retrieval };
        (operation, report)
    }
}

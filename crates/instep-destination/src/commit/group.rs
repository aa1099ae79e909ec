use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use resourcesync::{Change, Uri};

use super::{CommitOptions, Committed, Flushed, NewFile, Refused};
use crate::{
    map::CopyPath,
    state::{Held, Ledger, Operation, Owed, SetId, StoredFacts, Wanted},
    store::{StagedName, StoreError},
};

/// What is going to be committed together.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) places: BTreeMap<Uri, Placing>,
    pub(super) removals: BTreeMap<Uri, Removal>,
    pub(super) moves: BTreeMap<Uri, Moving>,
    /// Which resource is going to have a name; names that the store takes for one are one.
    pub(super) names: BTreeMap<String, Uri>,
    /// Names that several resources would have; none of them gets it.
    pub(super) contested: BTreeSet<String>,
    /// Folders on whose way no file is going to stand, and whether they are there already.
    pub(super) open_folders: BTreeMap<String, bool>,
    pub(super) adopted: Vec<Operation>,
    /// Staged files that later versions in the same group have replaced.
    pub(super) superseded: Vec<StagedName>,
    pub(super) ledger: Ledger,
    pub(super) since: Option<Instant>,
    bytes: u64,
    added: usize,
}

/// A staged file and where it goes.
#[derive(Debug)]
pub(super) struct Placing {
    pub(super) file: NewFile,
    pub(super) path: CopyPath,
    pub(super) replaces: bool,
    order: usize,
}

/// A file that goes.
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

/// What a group came to.
pub(super) struct Concluded {
    pub(super) flushed: Flushed,
    pub(super) ledger: Ledger,
    pub(super) adopted: Vec<Operation>,
    pub(super) leftovers: Vec<StagedName>,
}

impl Group {
    pub(super) fn begin(&mut self) {
        self.since.get_or_insert_with(Instant::now);
        self.added += 1;
    }

    pub(super) fn is_full(&self, options: &CommitOptions) -> bool {
        let by_itself = options.durability == crate::store::Durability::File && !self.places.is_empty();
        by_itself || self.added >= options.most_resources || self.bytes >= options.most_bytes
    }

    pub(super) fn place(&mut self, file: NewFile, path: CopyPath, replaces: bool) {
        self.bytes += file.staged.length;
        let order = self.added;
        let uri = file.uri.clone();
        if let Some(earlier) = self.places.insert(uri, Placing { file, path, replaces, order }) {
            self.superseded.push(earlier.file.staged.name);
        }
    }

    pub(super) fn remove(&mut self, held: &Held, path: CopyPath, into: StagedName, set: SetId) {
        let length = held.facts.length.unwrap_or_default();
        self.removals.insert(held.uri.clone(), Removal { path, length, into, set, order: self.added });
    }

    pub(super) fn staged(&self) -> Vec<StagedName> {
        self.places.values().map(|placing| placing.file.staged.name).collect()
    }

    /// Room is made first, then what goes goes, then what comes comes, by folders.
    pub(super) fn operations(&self) -> Vec<Operation> {
        let moves = self.moves.iter().map(|(uri, moving)| Operation::Move {
            uri: uri.to_string(),
            from: moving.from.to_string(),
            to: moving.to.to_string(),
            staged: moving.by.0,
        });
        let removals = self.removals.iter().map(|(uri, removal)| Operation::Remove {
            uri: uri.to_string(),
            path: removal.path.to_string(),
            staged: removal.into.0,
        });
        let mut places: Vec<_> = self.places.values().collect();
        places.sort_by(|a, b| (a.path.folder(), &a.path).cmp(&(b.path.folder(), &b.path)));
        moves.chain(removals).chain(places.into_iter().map(Placing::operation)).collect()
    }

    /// Sorts what was done from what was refused; the latter is owed.
    pub(super) fn conclude(mut self, done: &[Operation], refused: Vec<Refused>) -> Concluded {
        let mut flushed = Flushed::default();
        let mut leftovers = std::mem::take(&mut self.superseded);
        let operations = if refused.is_empty() { Vec::new() } else { self.operations() };
        for Refused { index, error } in refused {
            let Some(uri) = operations.get(index).and_then(|operation| Uri::parse(operation.uri()).ok())
            else {
                continue;
            };
            let mut wanted = Wanted::new(uri.clone());
            if let Some(Placing { file, .. }) = self.places.remove(&uri) {
                leftovers.push(file.staged.name);
                wanted.facts = file.facts;
                self.ledger.owed.push((file.set, Owed::new(wanted, Change::Updated, error.to_string())));
            } else if let Some(removal) = self.removals.remove(&uri) {
                self.ledger.paid.retain(|paid| paid != uri.as_str());
                self.ledger.owed.push((removal.set, Owed::new(wanted, Change::Deleted, error.to_string())));
            }
            flushed.refused.push((uri, error));
        }
        let mut committed: Vec<(usize, Committed)> = Vec::with_capacity(done.len());
        for (uri, placing) in self.places {
            let change = if placing.replaces { Change::Updated } else { Change::Created };
            let length = placing.file.staged.length;
            committed.push((placing.order, Committed { uri, path: placing.path, change, length }));
        }
        for (uri, Removal { path, length, into, order, .. }) in self.removals {
            leftovers.push(into);
            committed.push((order, Committed { uri, path, change: Change::Deleted, length }));
        }
        committed.sort_by_key(|(order, _)| *order);
        flushed.committed.extend(committed.into_iter().map(|(_, committed)| committed));
        Concluded { flushed, ledger: self.ledger, adopted: self.adopted, leftovers }
    }
}

impl Placing {
    fn operation(&self) -> Operation {
        let mut facts = self.file.facts.clone();
        facts.length = Some(self.file.staged.length);
        facts.digests = self.file.staged.digests.clone();
        Operation::Place {
            uri: self.file.uri.to_string(),
            path: self.path.to_string(),
            key: self.file.path.key(),
            staged: self.file.staged.name.0,
            sets: self.file.set.mask(),
            facts: StoredFacts::new(&facts),
            replaces: self.replaces,
        }
    }
}

/// The path of an operation.
pub(super) fn path(text: &str) -> Result<CopyPath, StoreError> {
    CopyPath::from_state(text).ok_or_else(|| StoreError::Blocked {
        path: text.to_owned(),
        by: "its own form: it is no path of a copy",
    })
}

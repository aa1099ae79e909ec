//! Past states that go when neither a version nor a package that is still to be made needs them (C13).

use std::{cell::OnceCell, collections::BTreeSet};

use resourcesync::{Change, Digests};

use super::{context::SourceContext, published};
use crate::{
    Error,
    catalogue::Snapshot,
    content::StateSpool,
    records::{PublishedSet, PublishedSource},
};

/// States that are released together.
const GROUP: usize = 1_024;

/// The states that a Change Dump will need. They are looked up on demand: most publications release nothing.
pub(super) struct UnpackedStates<'a> {
    source: &'a SourceContext,
    snapshot: &'a Snapshot,
    names: OnceCell<BTreeSet<String>>,
}

impl<'a> UnpackedStates<'a> {
    pub(super) fn new(source: &'a SourceContext, snapshot: &'a Snapshot) -> Self {
        Self { source, snapshot, names: OnceCell::new() }
    }

    /// Returns `true` if a change that no package has led to the state.
    pub(super) fn contains(&self, digests: &Digests) -> Result<bool, Error> {
        if !self.source.options.dumps.changes {
            return Ok(false);
        }
        if self.names.get().is_none() {
            let packed = packed_through(&published::load(self.snapshot)?.published);
            let changes = self.snapshot.changes(u64::MAX, packed);
            let names = changes.map(|change| Ok(name(&change?.state.digests)));
            let _ = self.names.set(names.collect::<Result<_, Error>>()?);
        }
        Ok(self.names.get().is_some_and(|names| names.contains(&name(digests))))
    }
}

impl SourceContext {
    /// Drops the states of changes that have a package since this publication, unless they are versions. Patches begin
    /// with past states: with them and without versions these stay until the room for them is full.
    pub(super) fn release_packed(&self, snapshot: &Snapshot, before: &PublishedSource) -> Result<(), Error> {
        // Otherwise small states would fill the room of a gigabyte with millions of files (O417).
        let is_of_use = self.options.versions.is_none() && self.options.patches().is_some();
        let wanted = self.options.dumps.changes && !is_of_use;
        let Some(spool) = StateSpool::of(&self.options).filter(|_| wanted) else { return Ok(()) };
        let current = self.catalogue.snapshot()?;
        let (first, last) = (packed_through(before), packed_through(&published::load(&current)?.published));
        if last <= first {
            return Ok(());
        }
        let unpacked = UnpackedStates::new(self, &current);
        let mut packed = snapshot.changes(u64::MAX, first).peekable();
        while packed.peek().is_some() {
            let mut released = Vec::new();
            for change in packed.by_ref().take(GROUP) {
                let change = change?;
                let is_packed = change.sequence <= last && change.change != Change::Deleted;
                if is_packed && !unpacked.contains(&change.state.digests)? {
                    released.push(change.state.digests);
                }
            }
            for digests in self.catalogue.without_version(released)? {
                spool.remove(&digests).map_err(Error::write(spool.folder()))?;
            }
        }
        spool.trim().map(drop).map_err(Error::write(spool.folder()))
    }
}

/// Returns the last change that every set has in a package; for a set without packages, the last one that its lists show.
fn packed_through(published: &PublishedSource) -> u64 {
    let packed = |set: &PublishedSet| {
        let dump = set.change_dump.as_ref().map(|dump| dump.through);
        let lists = || set.change_list.as_ref().map(|lists| lists.through);
        let list = || set.resource_list.as_ref().map(|list| list.sequence);
        dump.or_else(lists).or_else(list).unwrap_or_default()
    };
    published.sets.values().map(packed).min().unwrap_or_default()
}

fn name(digests: &Digests) -> String {
    digests.strongest().map(ToString::to_string).unwrap_or_default()
}

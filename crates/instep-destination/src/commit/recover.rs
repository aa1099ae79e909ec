//! The start after a crash: decides by the final names which operations of an unfinished group were done.

use resourcesync::{Algorithm, Digests, Uri};

use super::{CommitError, Committer, Recovered};
use crate::{
    map::CopyPath,
    plan::may_hide_changes,
    state::{Ledger, Operation, ResourceMetadata},
    store::{CopyNames, NameKind, StagedName, StoreError, digest_file},
};

/// The fate of a step that a crash may have cut off.
enum Fate {
    Finished,
    Undone,
    /// Neither the old version nor the new one is there.
    Lost,
}

impl Committer {
    /// Inspects the final names of all unfinished operations, and records the result in the state.
    pub(super) fn recover(&mut self) -> Result<Recovered, CommitError> {
        let Some(names) = self.store.names().cloned() else {
            let recovered = self.store.packs().cloned().map(|packs| self.sweep_packs(&packs)).transpose()?;
            self.store.staging().sweep()?;
            return Ok(recovered.unwrap_or_default());
        };
        let mut recovered = Recovered::default();
        let intents = self.state.intents()?;
        if !intents.is_empty() {
            // The names that the killed process left may not be on disk yet. They are synced first, because a power
            // failure must not lose a name that is recorded as held.
            names.sync_all()?;
        }
        for (intent, operations) in intents {
            // The operations that were done are recorded like a complete group.
            let mut done = Vec::new();
            let mut ledger = Ledger::default();
            for operation in operations {
                match self.fate(&operation, &*names)? {
                    Fate::Finished => {
                        if let Operation::Place { uri, metadata, .. } = &operation {
                            // The intent does not record when the bytes were sent.
                            let is_racy = may_hide_changes(metadata.lastmod.as_ref(), None);
                            ledger.note_racy(uri.as_str(), is_racy);
                        }
                        if let Operation::Move { from, .. } = &operation
                            && names.are_rows()
                        {
                            // In a bucket a move copies the object and removes the old one, and the kill may have come
                            // in between.
                            names.remove(from, self.store.staging().fresh_name())?;
                        }
                        done.push(operation);
                    }
                    Fate::Undone => recovered.undone += 1,
                    Fate::Lost => ledger.lost.push(operation.uri().to_string()),
                }
            }
            names.sync_names()?;
            recovered.finished += done.len();
            recovered.lost += ledger.lost.len();
            self.state.commit_group(Some(intent), &[&done], &ledger)?;
        }
        // Staging is emptied after the intents: until then staged files show which steps were not taken.
        self.store.staging().sweep()?;
        Ok(recovered)
    }

    fn fate(&self, operation: &Operation, names: &dyn CopyNames) -> Result<Fate, CommitError> {
        let kind = |path: &CopyPath| match names.kind(path.as_str()) {
            Err(error) if error.concerns_one_resource() => Ok(None),
            kind => kind,
        };
        Ok(match operation {
            // A rename removes the staged name: while it exists, the step was not taken.
            Operation::Place { staged, .. }
                if !names.are_rows() && self.store.staging().is_staged(StagedName::from(*staged))? =>
            {
                Fate::Undone
            }
            Operation::Place { uri, path, metadata, .. } => self.fate_of_name(uri, path, metadata, names)?,
            // The resource to remove is a file; a folder of that name is not the resource.
            Operation::Remove { path, .. } if kind(path)? == Some(NameKind::File) => Fate::Undone,
            Operation::Remove { .. } => Fate::Finished,
            Operation::Move { to, .. } if kind(to)? == Some(NameKind::File) => Fate::Finished,
            Operation::Move { .. } => Fate::Undone,
        })
    }

    fn fate_of_name(
        &self,
        uri: &Uri,
        path: &CopyPath,
        new: &ResourceMetadata,
        names: &dyn CopyNames,
    ) -> Result<Fate, CommitError> {
        let held = self.state.held(uri.as_str())?;
        let old = held.iter().flat_map(|held| &held.metadata.digests);
        // Both versions may have the same length, so they are distinguished by their bytes.
        let algorithms: Vec<Algorithm> =
            new.digests.iter().chain(old).map(|digest| digest.algorithm.clone()).collect();
        let find = |path: &CopyPath| match digest_file(names, path, &algorithms) {
            Err(StoreError::Blocked { .. }) => Ok(None),
            found => found,
        };
        let is = |found: &Option<(u64, Digests)>, metadata: &ResourceMetadata| {
            found.as_ref().is_some_and(|(found_length, found)| {
                Some(*found_length) == metadata.length && found.agrees_with(&metadata.digests) != Some(false)
            })
        };
        let found = find(path)?;
        Ok(match held {
            _ if is(&found, new) => Fate::Finished,
            Some(held) if is(&found, &held.metadata) => Fate::Undone,
            // The group would have given it another path first, and did not do so.
            Some(held) if held.path != *path && is(&find(&held.path)?, &held.metadata) => Fate::Undone,
            Some(_) => Fate::Lost,
            None => Fate::Undone,
        })
    }
}

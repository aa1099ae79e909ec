//! Adding to a group: each commit becomes operations on files and changes of the state.

use super::{Commit, CommitError, Committer, Flushed};
use crate::{plan::may_hide_changes, state::Setting};

impl Committer {
    /// Adds a commit to the group. If the group is full then, commits it and returns its result.
    ///
    /// # Errors
    /// If store or state fail.
    pub(crate) fn add(&mut self, commit: Commit) -> Result<Option<Flushed>, CommitError> {
        self.group.begin(commit.weight());
        let commit = match commit {
            // The record of the slice is in the same group as the outcome: neither is committed without the other.
            Commit::OfSlice(outcome) => outcome.note_in(&mut self.group.ledger.slices),
            commit => commit,
        };
        match commit {
            Commit::OfSlice(_) => {}
            Commit::File(file) => self.add_file(file)?,
            Commit::Adopted { uri, path, metadata, set } => self.add_adopted(uri, path, metadata, set),
            Commit::Deletion { uri, set, datetime } => {
                self.add_deletion(&uri, set)?;
                self.group.ledger.gone.extend(datetime.map(|time| (uri, set, time)));
            }
            Commit::Kept { uri, set, datetime } => {
                self.group.ledger.settle(set, uri.as_str());
                self.group.ledger.gone.extend(datetime.map(|time| (uri, set, time)));
            }
            Commit::Current { uri, metadata, set, is_racy } => {
                self.group.ledger.settle(set, uri.as_str());
                self.group.ledger.racy.insert(uri.as_str().to_owned(), is_racy);
                self.group.ledger.refreshed.push((uri, metadata));
            }
            Commit::Noted { uri, metadata, set } => {
                self.group.ledger.settle(set, uri.as_str());
                self.group.ledger.linked.push((uri.clone(), metadata.links.clone()));
                if may_hide_changes(metadata.lastmod.as_ref(), None) {
                    // The bytes were not transferred, so the Source may have changed them within the same second.
                    self.group.ledger.racy.insert(uri.as_str().to_owned(), true);
                }
                self.group.ledger.refreshed.push((uri, metadata));
            }
            Commit::Owed(set, owed) => self.group.ledger.owe(set, owed),
            Commit::Settled(set, uri) => self.group.ledger.settle(set, uri.as_str()),
            Commit::Returned(set, uri) => self.group.ledger.returned.push((uri, set)),
            Commit::Checkpoint { set, checkpoint, settings } => {
                self.group.ledger.checkpoints.insert(set, checkpoint);
                let settings = settings.into_iter().map(|Setting { name, text }| (name, text));
                self.group.ledger.settings.extend(settings);
            }
            Commit::Document(document) => self.group.ledger.documents.push(document),
        }
        if self.group.is_full(&self.options) { self.flush().map(Some) } else { Ok(None) }
    }
}

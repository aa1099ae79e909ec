//! The lookup of free names, for a state that knows them and is behind a network. Many names are looked up together,
//! because a query for each resource would cost the engine more than the resource itself (O75).

use std::time::Duration;

use tokio::{runtime::Handle, sync::mpsc, time::Instant};

use super::{Commit, CommitBatch, CommitError, Committer, Flushed};
use crate::map::CopyPath;

/// The number of commits whose names are looked up together.
const TOGETHER: usize = 512;

/// The longest time for which more commits are awaited. It counts for the age of their group.
const GATHERED: Duration = Duration::from_millis(500);

impl Committer {
    /// Adds a batch. If names are looked up together, the batches that arrive shortly after it are added with it.
    pub(super) fn add_gathered(
        &mut self,
        first: CommitBatch,
        next: &mut mpsc::Receiver<CommitBatch>,
        flushed: &mut dyn FnMut(Flushed),
    ) -> Result<(), CommitError> {
        let (mut all, mut rooms) = (first.commits, vec![first._room]);
        if self.state.foresees_names() {
            self.group.begin_to_wait();
            let (group, options) = (&self.group, &self.options);
            Handle::current().block_on(async {
                let until = Instant::now() + GATHERED;
                while all.len() < TOGETHER {
                    let due = group.due_in(all.len(), options).map_or(until, |wait| Instant::now() + wait);
                    let arriving = tokio::time::timeout_at(until.min(due), next.recv());
                    let Ok(Some(batch)) = arriving.await else { break };
                    all.extend(batch.commits);
                    rooms.push(batch._room);
                }
            });
        }
        self.foresee(&all)?;
        let mut commits = all.into_iter();
        while let Some(commit) = commits.next() {
            if let Some(group) = self.add(commit)? {
                flushed(group);
                self.foresee(commits.as_slice())?;
            }
        }
        // The room is given back when all commits are in a group.
        drop(rooms);
        Ok(())
    }

    /// Asks the state which names of new resources are free. The answer holds until the group is committed.
    fn foresee(&mut self, commits: &[Commit]) -> Result<(), CommitError> {
        if !self.state.foresees_names() {
            return Ok(());
        }
        let paths: Vec<&CopyPath> = commits.iter().filter_map(new_path).take(TOGETHER).collect();
        if !paths.is_empty() {
            self.group.free_names = self.state.free_names(&paths)?;
        }
        Ok(())
    }
}

/// Returns the path of a resource that was not held when its fetch was planned.
fn new_path(commit: &Commit) -> Option<&CopyPath> {
    match commit {
        Commit::File(file) if file.is_new => Some(&file.path),
        Commit::OfSlice(outcome) => new_path(&outcome.commit),
        _ => None,
    }
}

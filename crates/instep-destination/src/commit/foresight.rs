//! Names that are free: asked for together, where the state of a copy knows them and lies behind a network. One question for
//! each resource would cost the engine more than the resource itself (O75).

use std::time::Duration;

use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, mpsc},
    time::Instant,
};

use super::{Commit, CommitBatch, CommitError, Committer};
use crate::map::CopyPath;

/// Commits whose names are asked for together.
const TOGETHER: usize = 512;

/// The time for which others are waited for: much less than a group waits.
const GATHERED: Duration = Duration::from_millis(50);

/// Commits that came within a moment, in their order, and the room that they take.
pub(super) struct GatheredCommits {
    pub(super) commits: Vec<Commit>,
    _rooms: Vec<OwnedSemaphorePermit>,
}

impl Committer {
    /// Takes what comes behind a batch within a moment, where names are asked for together.
    pub(super) fn gather(
        &self,
        first: CommitBatch,
        commits: &mut mpsc::Receiver<CommitBatch>,
        runtime: &Handle,
    ) -> GatheredCommits {
        let mut all = GatheredCommits { commits: first.commits, _rooms: vec![first._room] };
        if !self.state.foresees_names() {
            return all;
        }
        runtime.block_on(async {
            let until = Instant::now() + GATHERED;
            while all.commits.len() < TOGETHER {
                let Ok(Some(next)) = tokio::time::timeout_at(until, commits.recv()).await else { break };
                all.commits.extend(next.commits);
                all._rooms.push(next._room);
            }
        });
        all
    }

    /// Finds out which names of new resources nothing has, for as long as the group grows.
    pub(super) fn foresee(&mut self, commits: &[Commit]) -> Result<(), CommitError> {
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

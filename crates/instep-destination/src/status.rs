//! The status of a copy, read from its state alone.

use std::path::Path;

use instep_store::{Lock, RootFolder};

use crate::{
    Error, Status, Strategy,
    run::LocalCopy,
    state::{Owed, Problem, SetId, State},
    store::FolderStore,
    versions::resources_held,
};

/// Rows read at a time.
const PAGE: usize = 1_000;

/// Returns what a copy holds and owes, and how far it is behind. It does not use the network, and works while a run uses the copy.
///
/// # Errors
/// When the folder holds no copy, or the state cannot be read.
pub fn status(dir: &Path) -> Result<Status, Error> {
    if !LocalCopy::is_at(dir) {
        return Err(Error::Usage { what: format!("{} holds no copy; instep sync makes one", dir.display()) });
    }
    let state = State::open_beside(&LocalCopy::state_file(dir))?;
    let mut status = Status::new(dir);
    status.url = state.setting(LocalCopy::URL)?;
    status.held = resources_held(&state)?;
    status.bytes = state.held_bytes()?;
    status.owed = state.owed_count()?;
    for (set, _) in state.sets()? {
        let reached = state.checkpoint(set)?.and_then(|checkpoint| checkpoint.datetime);
        // The copy is as far as the set that is furthest behind.
        status.checkpoint = match (status.checkpoint, reached) {
            (Some(a), Some(b)) => Some(if b.instant() < a.instant() { b } else { a }),
            (a, b) => a.or(b),
        };
        count_problems(&state, set, &mut status)?;
    }
    if let Some((run, problems)) = state.last_ended_run()? {
        status.last_run = run.finished;
        status.last_exit_code = run.exit_code;
        let way = Some(run.what).filter(|way| way != Strategy::Nothing.as_str());
        status.last_summary = run.summary.map(|summary| match way {
            Some(way) => format!("by {way}: {summary}"),
            None => summary,
        });
        let told = |problem: Problem| (problem.count, problem.message);
        status.last_problems =
            problems.into_iter().map(|problem| (problem.kind.clone(), told(problem))).collect();
    }
    status.free = FolderStore::free_bytes(dir);
    status.running = is_locked(&LocalCopy::own_folder(dir));
    Ok(status)
}

fn count_problems(state: &State, set: SetId, status: &mut Status) -> Result<(), Error> {
    let mut after: Option<String> = None;
    loop {
        let page = state.owed_after(set, after.as_deref(), PAGE)?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.desired.uri.as_str().to_owned());
        for Owed { why, .. } in page {
            let kind = why.split(':').next().unwrap_or_default().to_owned();
            *status.problems.entry(kind).or_default() += 1;
        }
    }
}

/// Returns `true` if a run has the copy. A lock that cannot be looked at is nobody's: no run could take it either.
fn is_locked(own: &Path) -> bool {
    RootFolder::open(own).is_ok_and(|own| Lock::is_taken(own).unwrap_or(false))
}

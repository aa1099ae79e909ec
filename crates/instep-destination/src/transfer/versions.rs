//! Versions that are kept beside the copy: those that a plan will replace or remove, and states in a package of changes
//! that the plan does not want.

use std::io::{ErrorKind, Read as _};

use resourcesync::{Algorithm, Change, Entry};

use super::{pipeline::Pipeline, settle::Placer};
use crate::{
    Error,
    commit::{Commit, NewFile},
    draft::Draft,
    plan::{Desired, DesiredPresence, VersionKey},
    run::{SetRun, SyncRun},
    state::{Action, ActionKind, HeldResource, SetId},
    store::{Staged, StoreError},
    transfer::{fetch::FetchError, package::OpenPackage},
};

/// The number of held files that are copied before they are passed on.
const AT_A_TIME: usize = 64;

impl Pipeline {
    /// Copies the versions that the plan will replace or remove.
    pub(super) async fn keep_versions(&mut self, run: &mut SyncRun<'_>, set: &SetRun) -> Result<(), Error> {
        let Some(id) = run.versions else { return Ok(()) };
        let placer = Placer::new(run, id);
        for kind in [ActionKind::Update, ActionKind::Check, ActionKind::Delete] {
            let mut after = 0;
            while run.ending().is_none() {
                let placer = placer.clone();
                let (commits, last) = set.work(move |draft| keep_some(draft, kind, after, &placer)).await?;
                let Some(last) = last else { break };
                after = last;
                for commit in commits {
                    self.send(commit).await?;
                }
                self.report_committed(run);
            }
        }
        Ok(())
    }
}

/// Returns commits that keep the held versions of the next resources to change, and the position in the plan after
/// them.
fn keep_some(
    draft: &mut Draft,
    kind: ActionKind,
    after: i64,
    placer: &Placer,
) -> Result<(Vec<Commit>, Option<i64>), Error> {
    let page = draft.actions().of_kind_after(kind, after, AT_A_TIME)?;
    let last = page.last().map(|action| action.sequence);
    let mut commits = Vec::new();
    for Action { desired, .. } in page {
        let Some(held) = draft.state().held(desired.uri.as_str())? else { continue };
        let named = placer.versions.name(draft.state(), &held.uri, &held.metadata)?;
        let Some(version) = named.map(VersionKey::into_uri) else { continue };
        let Ok(path) = placer.path(&version) else { continue };
        let Some(staged) = unless_lost(copy(placer, &held))? else {
            placer.versions.give_back(&version);
            continue;
        };
        commits.push(Commit::File(NewFile::new(version, path, staged, held.metadata, placer.set)));
    }
    Ok((commits, last))
}

/// Returns the copy of a held file; `None` if the file is damaged, missing or blocked, so that it is not kept as a version.
///
/// # Errors
/// After any other failure: the version could still be kept, so it must not be replaced.
fn unless_lost(copied: Result<Option<Staged>, StoreError>) -> Result<Option<Staged>, StoreError> {
    match copied {
        Err(error) if error.is_damage() || error.concerns_one_resource() => Ok(None),
        Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        copied => copied,
    }
}

/// Returns a staged copy of a held file; `None` if the file does not match the state.
fn copy(placer: &Placer, held: &HeldResource) -> Result<Option<Staged>, StoreError> {
    let algorithms: Vec<Algorithm> =
        held.metadata.digests.verifiable().map(|digest| digest.algorithm.clone()).collect();
    let mut from = placer.store.read(&held.path, &held.place)?;
    let mut to = placer.store.staging().stage(&algorithms)?;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read =
            from.read(&mut buffer).map_err(|error| StoreError::io("read", held.path.as_str(), error))?;
        if read == 0 {
            break;
        }
        to.write(&buffer[..read])?;
    }
    let staged = to.finish(held.metadata.lastmod)?;
    if staged.digests.agrees_with(&held.metadata.digests) == Some(false) {
        placer.store.staging().discard(&[staged.name]);
        return Ok(None);
    }
    Ok(Some(staged))
}

/// Returns the commit that keeps an unwanted state in a package of changes as a version; `None` if it is kept already,
/// or cannot be. `lacks` is called with the reason if the package does not have it as listed.
pub(super) fn packed(
    draft: &mut Draft,
    package: &mut OpenPackage,
    entry: &Entry,
    (placer, set): (&Placer, SetId),
    lacks: impl FnOnce(&FetchError),
) -> Result<Option<Commit>, Error> {
    let is_state = entry.metadata.path.is_some() && entry.metadata.change != Some(Change::Deleted);
    if !is_state || !draft.selects(package.manifest.origin().as_ref(), entry) {
        return Ok(None);
    }
    let desired = Desired::of_entry(entry, DesiredPresence::Present);
    let named = placer.versions.name_beside_resource(draft.state(), &entry.loc, &desired.metadata)?;
    let Some(version) = named.map(VersionKey::into_uri) else { return Ok(None) };
    let Ok(path) = placer.path(&version) else { return Ok(None) };
    let Some(arrival) = package.take(entry, lacks)? else {
        placer.versions.give_back(&version);
        return Ok(None);
    };
    let metadata = desired.metadata_beside(&arrival.staged.digests);
    Ok(Some(Commit::File(NewFile::new(version, path, arrival.staged, metadata, set))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o403_only_a_version_whose_file_is_lost_is_passed_over_and_other_failures_end_the_run() {
        let kept = |kind: ErrorKind| unless_lost(Err(StoreError::io("read", "a.txt", kind)));
        for kind in [ErrorKind::NotFound, ErrorKind::InvalidData, ErrorKind::PermissionDenied] {
            assert!(matches!(kept(kind), Ok(None)), "{kind}");
        }
        for kind in [ErrorKind::StorageFull, ErrorKind::TimedOut, ErrorKind::Other] {
            assert!(kept(kind).is_err(), "{kind}");
        }
        assert!(matches!(unless_lost(Ok(None)), Ok(None)));
        let full = StoreError::Reserve { free: 1, reserve: 2 };
        assert!(matches!(unless_lost(Err(full)), Err(StoreError::Reserve { .. })));
    }
}

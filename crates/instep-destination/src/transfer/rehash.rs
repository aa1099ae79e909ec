//! Held files whose entries have digests of other algorithms than the state: their bytes decide, not their time.

use super::{adopt::read, pipeline::Pipeline, settle::Placer};
use crate::{
    Error,
    commit::Commit,
    draft::Draft,
    plan::share_no_algorithm,
    run::{SetRun, SyncRun},
    state::{Action, ActionKind, HeldAt},
};

/// The number of files that are checked before they are passed on.
const AT_A_TIME: usize = 64;

impl Pipeline {
    /// Records the new digests of held files that match them. Files that do not stay in the plan, and are requested.
    pub(super) async fn rehash(&mut self, run: &mut SyncRun<'_>, set: &SetRun) -> Result<(), Error> {
        self.keep_found(run, set, look_at_some).await
    }
}

/// Returns the commits for the next actions' files that match, and the position in the plan after them.
fn look_at_some(draft: &mut Draft, after: i64, placer: &Placer) -> Result<(Vec<Commit>, Option<i64>), Error> {
    let page = draft.actions().of_kind_after(ActionKind::Check, after, AT_A_TIME)?;
    let last = page.last().map(|action| action.sequence);
    let mut commits = Vec::new();
    for Action { desired, .. } in page {
        let uri = desired.uri.as_str();
        let Some(held) = draft.state().held(uri)? else { continue };
        // A pending retry is settled by its request. A file at another place than its own is too rare to matter.
        if !share_no_algorithm(&held.metadata.digests, &desired.metadata.digests)
            || !matches!(held.place, HeldAt::Path)
            || placer.mapper.map(&desired.uri).ok().as_ref() != Some(&held.path)
            || draft.state().is_owed(uri)?
        {
            continue;
        }
        let Ok(mut metadata) = read(placer, &held.path, &desired) else { continue };
        if metadata.digests.agrees_with(&desired.metadata.digests) != Some(true) {
            continue;
        }
        // Both kinds are kept: two sets may list a resource with an algorithm each.
        metadata.digests = held.metadata.digests.iter().chain(metadata.digests.iter()).cloned().collect();
        metadata.datetime = metadata.datetime.or(held.metadata.datetime);
        metadata.etag = metadata.etag.or(held.metadata.etag);
        metadata.media_type = metadata.media_type.or(held.metadata.media_type);
        if metadata.links.is_empty() {
            metadata.links = held.metadata.links;
        }
        draft.done(uri)?;
        commits.push(Commit::Adopted { uri: desired.uri, path: held.path, metadata, set: placer.set });
    }
    Ok((commits, last))
}

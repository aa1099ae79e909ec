//! Adoption: files that are already in the copy without a record in the state, as in a copy that another client made,
//! are kept if they match.

use resourcesync::{Algorithm, Hasher};

use super::{pipeline::Pipeline, settle::Placer};
use crate::{
    Error,
    commit::Commit,
    draft::Draft,
    plan::Desired,
    run::{SetRun, SyncRun},
    state::{Action, ActionKind, HeldAt, ResourceMetadata},
    store::{NameKind, StoreError},
};

/// The number of files that are checked before they are passed on.
const AT_A_TIME: usize = 256;

/// Returns the commits for held files of the next actions after a position in the plan, and the position after them; `None`
/// at the end.
pub(super) type PlanSearch = fn(&mut Draft, i64, &Placer) -> Result<(Vec<Commit>, Option<i64>), Error>;

impl Pipeline {
    /// Keeps the files at the paths of desired resources that have the desired digest. The other resources stay in the
    /// plan.
    pub(super) async fn adopt(&mut self, run: &mut SyncRun<'_>, set: &SetRun) -> Result<(), Error> {
        self.keep_found(run, set, look_at_some).await
    }

    /// Keeps the files that a search through the plan finds, some at a time.
    pub(super) async fn keep_found(
        &mut self,
        run: &mut SyncRun<'_>,
        set: &SetRun,
        search: PlanSearch,
    ) -> Result<(), Error> {
        let placer = Placer::new(run, set.id);
        let mut after = 0;
        while run.ending().is_none() {
            let placer = placer.clone();
            let (commits, last) = set.work(move |draft| search(draft, after, &placer)).await?;
            let Some(last) = last else { return Ok(()) };
            after = last;
            run.reporter.report.unchanged += commits.len() as u64;
            self.send_all(commits).await?;
            self.report_committed(run);
        }
        Ok(())
    }
}

impl SyncRun<'_> {
    /// Removes from the plan of a dry run what a run that carries it out would adopt, and counts it as unchanged.
    pub(crate) async fn leave_out_adoptable(&mut self, set: &SetRun) -> Result<(), Error> {
        let placer = Placer::new(self, set.id);
        let mut after = 0;
        while self.ending().is_none() {
            let placer = placer.clone();
            let (found, last) = set.work(move |draft| look_at_some(draft, after, &placer)).await?;
            let Some(last) = last else { return Ok(()) };
            after = last;
            self.reporter.report.unchanged += found.len() as u64;
        }
        Ok(())
    }
}

/// Returns the next actions' files that can be adopted, and the position in the plan after them.
fn look_at_some(draft: &mut Draft, after: i64, placer: &Placer) -> Result<(Vec<Commit>, Option<i64>), Error> {
    let page = draft.actions().of_kind_after(ActionKind::Create, after, AT_A_TIME)?;
    let last = page.last().map(|action| action.sequence);
    let mut commits = Vec::new();
    for Action { desired, .. } in page {
        let Ok(path) = placer.path(&desired.uri) else { continue };
        let Some(names) = placer.store.names() else { break };
        if !matches!(names.kind(path.as_str()), Ok(Some(NameKind::File))) {
            continue;
        }
        let Ok(found) = read(placer, &path, &desired) else { continue };
        if found.digests.agrees_with(&desired.metadata.digests) == Some(true) {
            draft.done(desired.uri.as_str())?;
            commits.push(Commit::Adopted { uri: desired.uri, path, metadata: found, set: placer.set });
        }
    }
    Ok((commits, last))
}

/// Reads a file's length and the digest that the Source states, and adds the Source's other metadata.
pub(super) fn read(
    placer: &Placer,
    path: &crate::map::CopyPath,
    desired: &Desired,
) -> Result<ResourceMetadata, StoreError> {
    let strongest: Vec<Algorithm> =
        desired.metadata.digests.strongest().map(|digest| digest.algorithm.clone()).into_iter().collect();
    let mut hasher = Hasher::new(&strongest);
    let mut file = placer.store.read(path, &HeldAt::Path)?;
    let length = hasher
        .take_all(&mut *file, &mut vec![0; 64 << 10])
        .map_err(|error| StoreError::io("read", path.as_str(), error))?;
    let digests = hasher.finish();
    let metadata = desired.metadata_beside(&digests);
    Ok(ResourceMetadata { length: Some(length), digests, ..metadata })
}

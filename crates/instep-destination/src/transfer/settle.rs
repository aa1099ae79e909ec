//! The commit that follows from the result for one resource.

use std::sync::Arc;

use instep_net::{HttpError, Permission};
use resourcesync::{DateTime, MediaType, Uri};

use super::{
    doubtful::{former_state, page_instead_of},
    unexplained::Unexplained,
};
use crate::{
    Error, Problem, ProblemKind,
    commit::{Commit, NewFile},
    error::{BesideUrl as _, error_chain},
    map::{CopyPath, MapError, Mapper},
    plan::{Desired, VersionKey, may_hide_changes},
    run::SyncRun,
    slices::SlicePlace,
    state::{Action, ActionKind, Owed, ResourceMetadata, SetId},
    store::CopyStore,
    transfer::fetch::{Arrival, FetchError, FetchOutcome, Task},
    versions::VersionNames,
    web_archive::WebArchive,
};

/// An action while its resource is fetched.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) action: Action,
    /// The held metadata, if the plan could not decide that it is current.
    pub(super) held: Option<ResourceMetadata>,
    /// Its place in a slice, if the plan is shared with other workers.
    pub(super) place: Option<SlicePlace>,
}

/// The reason why a resource was not fetched.
pub(super) struct TransferFailure {
    pub(super) kind: ProblemKind,
    pub(super) what: String,
    /// `true` if a change that was published meanwhile may explain it (D39).
    pub(super) explicable: bool,
    /// The permission that would help; `None` if none would.
    pub(super) lacks: Option<Permission>,
}

impl TransferFailure {
    /// Returns a failure that no change explains, and that no permission would help with.
    pub(super) fn new(kind: ProblemKind, what: String) -> Self {
        Self { kind, what, explicable: false, lacks: None }
    }

    /// Returns the failure of a resource as a problem.
    pub(super) fn problem<'a>(&'a self, uri: &'a str) -> Problem<'a> {
        Problem::new(self.kind, uri, &self.what).lacking(self.lacks)
    }

    /// Reports the failure of a resource; a failure that a later change may explain is reported only after the
    /// changes were read.
    pub(super) fn report(self, run: &mut SyncRun<'_>, uri: &str, unexplained: &mut Unexplained) {
        if self.explicable && unexplained.len() < MOST_UNEXPLAINED {
            unexplained.insert(uri.to_owned(), (self.kind, self.what));
        } else {
            run.reporter.failed(self.problem(uri));
        }
    }
}

/// The commit for the result of one resource, and its failure.
pub(super) struct Settlement {
    pub(super) commit: Commit,
    /// The reason if the resource was not fetched; it is then pending.
    pub(super) failure: Option<TransferFailure>,
    /// `true` if nothing proves that the received bytes are complete.
    pub(super) is_unverified: bool,
}

impl Settlement {
    fn of(commit: Commit) -> Self {
        Self { commit, failure: None, is_unverified: false }
    }

    /// Returns the settlement of a resource that was not fetched.
    fn pending(set: SetId, desired: Desired, failure: TransferFailure) -> Self {
        let owed = Owed::new(desired, format!("{}: {}", failure.kind.as_str(), failure.what));
        Self { failure: Some(failure), ..Self::of(Commit::Owed(set, owed)) }
    }

    /// Returns `true` if the bytes that are held are current.
    pub(super) fn is_unchanged(&self) -> bool {
        matches!(self.commit, Commit::Current { .. })
    }
}

/// Returns the commit for the result of a resource. A failure becomes a pending retry.
pub(super) fn settle(
    run: &mut SyncRun<'_>,
    set: SetId,
    task: Box<Task<Pending>>,
    outcome: FetchOutcome,
) -> Result<Settlement, Error> {
    let has_length = task.context.action.desired.metadata.length.is_some();
    let is_unverified = !has_length && matches!(&outcome, FetchOutcome::Staged(arrival) if !arrival.verified);
    if let Some(failure) = refuse_doubtful(run, &task, &outcome)? {
        return Ok(Settlement::pending(set, task.context.action.desired, failure));
    }
    let failure = match outcome {
        FetchOutcome::Staged(Arrival { redirected_to: Some(target), staged, media_type, .. })
            if is_unverified && run.login_page.is_common_target(&target, media_type.as_deref(), &staged) =>
        {
            run.copy.store.staging().discard(&[staged.name]);
            run.login_page.page(&task.uri, staged.length);
            let what = format!(
                "It was redirected to {target}, as other resources were: this looks like a login page"
            );
            TransferFailure::new(ProblemKind::Mismatch, what)
        }
        FetchOutcome::Staged(arrival) => {
            run.login_page.right();
            if is_unverified && arrival.has_open_end {
                run.reporter.open_end(task.context.action.desired.uri.as_str());
            }
            match placed(&Placer::new(run, set), &task.context, arrival) {
                Ok(commit) => return Ok(Settlement { is_unverified, ..Settlement::of(commit) }),
                Err(failure) => failure,
            }
        }
        FetchOutcome::NotModified { sent, .. } => {
            return Ok(Settlement::of(current(set, task.context, sent)));
        }
        FetchOutcome::Gone { status } => {
            let what = format!("the Source lists it and answers {status}");
            TransferFailure { explicable: true, ..TransferFailure::new(ProblemKind::Missing, what) }
        }
        FetchOutcome::Failed(FetchError::Store(error)) => return Err(error.into()),
        FetchOutcome::Failed(error) => {
            if let FetchError::Mismatch(mismatch) = &error {
                run.login_page.wrong(&task.uri, mismatch);
            }
            failure(task.context.action.desired.uri.as_str(), &error)
        }
    };
    Ok(Settlement::pending(set, task.context.action.desired, failure))
}

/// Discards a response that is not the listed state, although no digest shows it. Returns the failure; `None` if the
/// response may be the listed state.
fn refuse_doubtful(
    run: &mut SyncRun<'_>,
    task: &Task<Pending>,
    outcome: &FetchOutcome,
) -> Result<Option<TransferFailure>, Error> {
    let action = &task.context.action;
    let former = former_state(action, outcome);
    let replaced = if former.is_none() { page_instead_of(action, outcome, run.state())? } else { None };
    if let FetchOutcome::Staged(arrival) = outcome
        && (former.is_some() || replaced.is_some())
    {
        run.copy.store.staging().discard(&[arrival.staged.name]);
        if replaced.is_some() {
            run.login_page.page(&task.uri, arrival.staged.length);
        }
    }
    let what = former.or_else(|| replaced.map(|content| format!("It came as a page instead of {content}")));
    Ok(what.map(|what| TransferFailure::new(ProblemKind::Mismatch, what)))
}

/// Returns the commit for an arrival that is taken for the resource.
fn placed(placer: &Placer, pending: &Pending, arrival: Arrival) -> Result<Commit, TransferFailure> {
    let Pending { action, held, .. } = pending;
    let mut commit = placer.place(&action.desired, held.as_ref(), arrival)?;
    if let Commit::File(file) = &mut commit {
        file.is_new = action.kind == ActionKind::Create;
    }
    Ok(commit)
}

/// Returns the commit for a resource whose held bytes are current, by an answer that was sent at a time.
fn current(set: SetId, pending: Pending, sent: DateTime) -> Commit {
    let Pending { action, held, .. } = pending;
    let metadata = match held {
        Some(held) => action.desired.metadata_beside(&held.digests),
        None => action.desired.metadata,
    };
    let is_racy = may_hide_changes(metadata.lastmod.as_ref(), Some(sent));
    Commit::Current { uri: action.desired.uri, metadata, set, is_racy }
}

/// The most failures that are kept until changes may explain them. Others are reported at once.
const MOST_UNEXPLAINED: usize = 10_000;

/// Gives received resources their paths, on any thread.
#[derive(Clone, Debug)]
pub(super) struct Placer {
    pub(super) mapper: Arc<Mapper>,
    pub(super) store: CopyStore,
    pub(super) set: SetId,
    /// The names of the versions that the run keeps.
    pub(super) versions: VersionNames,
    archive: Option<Arc<WebArchive>>,
}

impl Placer {
    pub(super) fn new(run: &SyncRun<'_>, set: SetId) -> Self {
        Self {
            mapper: Arc::clone(&run.copy.mapper),
            store: run.copy.store.clone(),
            set,
            versions: run.version_names.clone(),
            archive: run.archive.clone(),
        }
    }

    /// Returns the path of a resource, or of a version of one.
    pub(super) fn path(&self, uri: &Uri) -> Result<CopyPath, MapError> {
        match VersionKey::parse(uri) {
            Some(version) => self.mapper.map_version(uri, version.moment()),
            None => self.mapper.map(uri),
        }
    }

    /// Returns the commit for an arrival. Bytes that are already held need no path. A resource that is not from a
    /// single response is archived here, because no exchange has it.
    pub(super) fn place(
        &self,
        desired: &Desired,
        held: Option<&ResourceMetadata>,
        arrival: Arrival,
    ) -> Result<Commit, TransferFailure> {
        if let Some(archive) = self.archive.as_ref().filter(|_| !arrival.came_whole) {
            let file = self.store.staging().open_staged(arrival.staged.name);
            let listed = desired.metadata.media_type.as_ref().map(MediaType::as_str);
            archive.member(desired.uri.as_str(), listed.or(arrival.media_type.as_deref()), file);
        }
        let mut metadata = desired.metadata_beside(&arrival.staged.digests);
        let validators = &arrival.validators;
        metadata.etag = validators.etag.clone().or_else(|| validators.last_modified.clone());
        if metadata.media_type.is_none() {
            metadata.media_type = arrival.media_type.as_deref().map(MediaType::new);
        }
        let is_racy = may_hide_changes(metadata.lastmod.as_ref(), arrival.sent);
        if held.is_some_and(|held| held.digests.agrees_with(&arrival.staged.digests) == Some(true)) {
            self.store.staging().discard(&[arrival.staged.name]);
            return Ok(Commit::Current { uri: desired.uri.clone(), metadata, set: self.set, is_racy });
        }
        match self.path(&desired.uri) {
            Ok(path) => {
                let file = NewFile::new(desired.uri.clone(), path, arrival.staged, metadata, self.set);
                Ok(Commit::File(NewFile { is_racy, retrieval: desired.retrieval.clone(), ..file }))
            }
            Err(error) => {
                self.store.staging().discard(&[arrival.staged.name]);
                Err(TransferFailure::new(ProblemKind::Storage, error_chain(&error)))
            }
        }
    }
}

fn failure(uri: &str, error: &FetchError) -> TransferFailure {
    let what = error.beside(uri);
    let (kind, explicable) = match error {
        FetchError::Mismatch(_) | FetchError::Coding { .. } => (ProblemKind::Mismatch, true),
        FetchError::Http(HttpError::Refused { .. }) => (ProblemKind::OutOfScope, false),
        FetchError::Http(error) => match error.status().map(|status| status.as_u16()) {
            Some(401 | 403) => (ProblemKind::Denied, false),
            Some(404 | 410) => (ProblemKind::Missing, true),
            _ => (ProblemKind::Unreachable, false),
        },
        _ => (ProblemKind::Storage, false),
    };
    let lacks = if let FetchError::Http(error) = error { error.lacks() } else { None };
    TransferFailure { kind, what, explicable, lacks }
}

//! What came of one resource.

use std::sync::Arc;

use resourcesync::{Change, MediaType, Uri};

use super::{Unexplained, pipeline::Pending};
use crate::{
    Error, ProblemKind,
    commit::{Commit, NewFile},
    error::story,
    fetch::{Arrival, FetchError, Outcome, Task},
    http::HttpError,
    map::{CopyPath, MapError, Mapper},
    state::{ActionKind, Facts, Owed, SetId, Wanted},
    store::Store,
    sync::{run::Run, wanted::Extra},
};

/// Why a resource was not had.
pub(super) struct Failure {
    kind: ProblemKind,
    what: String,
    /// Whether a change that was published meanwhile may explain it (D39).
    explicable: bool,
}

/// What is committed for it. What could not be had is owed; what nobody can explain yet is told later.
pub(super) fn settle(
    run: &mut Run<'_>,
    set: SetId,
    task: Task<Pending>,
    outcome: Outcome,
    unexplained: &mut Unexplained,
) -> Result<Option<Commit>, Error> {
    let failure = match outcome {
        Outcome::Staged(arrival) if is_a_page_instead(&task.context.action.wanted, &arrival) => {
            run.copy.store.discard(&[arrival.staged.name]);
            run.wall.wrong_body(format!("{} bytes of HTML", arrival.staged.length));
            let what = "It came as a page instead of what the Source lists".to_owned();
            Failure { kind: ProblemKind::Mismatch, what, explicable: false }
        }
        Outcome::Staged(arrival) => {
            run.wall.right();
            let Pending { action, held } = &task.context;
            match Placer::new(run, set).place(&action.wanted, held.as_ref(), arrival) {
                Ok(mut commit) => {
                    if let Commit::File(file) = &mut commit {
                        file.is_new = action.kind == ActionKind::Create;
                    }
                    run.report.unchanged += u64::from(matches!(commit, Commit::Current { .. }));
                    return Ok(Some(commit));
                }
                Err(failure) => failure,
            }
        }
        Outcome::NotModified => {
            run.report.unchanged += 1;
            let wanted = task.context.action.wanted;
            return Ok(Some(Commit::Current { uri: wanted.uri, facts: wanted.facts }));
        }
        Outcome::Gone { .. } if Extra::of(&task.context.action.wanted).ask => {
            return Ok(Some(gone(run, set, task)));
        }
        Outcome::Gone { status } => Failure {
            kind: ProblemKind::Missing,
            what: format!("the Source lists it and answers {status}"),
            explicable: true,
        },
        Outcome::Failed(FetchError::Store(error)) => return Err(error.into()),
        Outcome::Failed(error) => {
            if let FetchError::Mismatch(mismatch) = &error {
                run.wall.wrong(mismatch);
            }
            failure(&error)
        }
    };
    let wanted = task.context.action.wanted;
    let uri = wanted.uri.as_str().to_owned();
    if failure.explicable && unexplained.len() < MOST_UNEXPLAINED {
        unexplained.insert(uri, (failure.kind, failure.what.clone()));
    } else {
        run.failed(failure.kind, &uri, &failure.what);
    }
    let attempts = Extra::of(&wanted).attempts + 1;
    let mut owed = Owed::new(wanted, Change::Updated, format!("{}: {}", failure.kind.as_str(), failure.what));
    owed.attempts = attempts;
    Ok(Some(Commit::Owed(set, owed)))
}

/// More than so many at a time are told at once.
const MOST_UNEXPLAINED: usize = 10_000;

/// Gives what arrived its place: on any thread.
#[derive(Clone, Debug)]
pub(super) struct Placer {
    pub(super) mapper: Arc<Mapper>,
    pub(super) store: Arc<dyn Store>,
    pub(super) set: SetId,
}

impl Placer {
    pub(super) fn new(run: &Run<'_>, set: SetId) -> Self {
        Self { mapper: Arc::clone(&run.copy.mapper), store: Arc::clone(&run.copy.store), set }
    }

    /// Where a resource lies, or a version of one.
    pub(super) fn path(&self, uri: &Uri) -> Result<CopyPath, MapError> {
        match uri.as_str().split_once('#') {
            Some((_, moment)) => self.mapper.map_version(uri, moment),
            None => self.mapper.map(uri),
        }
    }

    /// What is committed for an arrival; equal bytes need no place.
    pub(super) fn place(
        &self,
        wanted: &Wanted,
        held: Option<&Facts>,
        arrival: Arrival,
    ) -> Result<Commit, Failure> {
        let mut facts = wanted.facts.clone();
        let validators = &arrival.validators;
        facts.etag = validators.etag.clone().or_else(|| validators.last_modified.clone());
        if facts.media_type.is_none() {
            facts.media_type = arrival.media_type.as_deref().map(MediaType::new);
        }
        if held.is_some_and(|held| held.digests.agrees_with(&arrival.staged.digests) == Some(true)) {
            self.store.discard(&[arrival.staged.name]);
            return Ok(Commit::Current { uri: wanted.uri.clone(), facts });
        }
        match self.path(&wanted.uri) {
            Ok(path) => {
                Ok(Commit::File(NewFile::new(wanted.uri.clone(), path, arrival.staged, facts, self.set)))
            }
            Err(error) => {
                self.store.discard(&[arrival.staged.name]);
                Err(Failure { kind: ProblemKind::Storage, what: story(&error), explicable: false })
            }
        }
    }
}

/// Whether HTML came for something else, and neither length nor digest could tell (D31).
fn is_a_page_instead(wanted: &Wanted, arrival: &Arrival) -> bool {
    let is_html =
        |text: &str| matches!(MediaType::new(text).essence(), "text/html" | "application/xhtml+xml");
    let facts = &wanted.facts;
    !arrival.verified
        && facts.length.is_none()
        && facts.media_type.as_ref().is_some_and(|listed| !is_html(listed.as_str()))
        && arrival.media_type.as_deref().is_some_and(is_html)
}

/// A change of unknown kind led to nothing: the resource is gone (AMB-B14).
fn gone(run: &Run<'_>, set: SetId, task: Task<Pending>) -> Commit {
    let uri = task.context.action.wanted.uri;
    if run.options.delete { Commit::Deletion { uri, set } } else { Commit::Paid(uri) }
}

fn failure(error: &FetchError) -> Failure {
    let what = story(error);
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
    Failure { kind, what, explicable }
}

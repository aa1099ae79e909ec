//! Former states of documents, with which caches and restored Sources answer.

use resourcesync::{DateTime, Uri};

use crate::{
    Error, Guard,
    clock::http_date,
    discover::CapabilitySet,
    documents::Document,
    plan::{IndexMember, Shape},
    run::SyncRun,
    state::DocumentRecord,
};

/// Refuses a member of an index that was sent before a time which the index names for its state, while the index itself
/// was sent after it: a cache has kept a former state of the member. Resources that moved there meanwhile would seem to
/// be gone (O732), and changes that were added at its end would be passed over (O735). A member that states the time
/// itself has that state, although the clock of the server that sent it may be behind (O920).
pub(super) fn refuse_former(
    uri: &Uri,
    member: &Document,
    stated: Option<DateTime>,
    index_sent: Option<DateTime>,
) -> Result<(), Error> {
    let (Some(stated), Some(index_sent), Some(sent)) = (stated, index_sent, member.date) else {
        return Ok(());
    };
    let own = member.header.metadata.as_ref().and_then(|root| root.until.or(root.at));
    if own.is_some_and(|own| stated.instant() < own.end()) {
        return Ok(());
    }
    // Both are usually times of one server, whose clock need not be that of the Source.
    if stated.instant() < index_sent.end() && sent.end() <= stated.instant() {
        let what = format!("a cache answers with its state of {sent}, and its index names that of {stated}");
        return Err(Error::InvalidDocument { url: uri.as_str().to_owned(), what });
    }
    Ok(())
}

/// Returns `true` if a document was modified before the one that was applied last: a cache, or one of several servers, has
/// kept a former state of it.
pub(super) fn is_former_state(document: &Document, applied: &DocumentRecord) -> bool {
    let modified = |text: Option<&str>| text.and_then(http_date);
    let own = modified(document.validators.last_modified.as_deref());
    let known = modified(applied.last_modified.as_deref());
    own.zip(known).is_some_and(|(own, known)| own.instant() < known.instant())
}

/// Refuses a list that has lost entries since it was read: it is an older one (D36).
pub(super) fn refuse_older(uri: &Uri, shape: &Shape) -> Result<(), Error> {
    if !shape.went_back {
        return Ok(());
    }
    let what = format!("{uri} has fewer changes than when it was read last: it is an older one");
    Err(Error::Refused { guard: Guard::TimeWentBack, what })
}

/// Returns `true` if an index does not name the Change List that was read last, and its open list begins before that one did:
/// it is the index from before, as of a Source that was restored from a backup (O768).
pub(super) fn lacks_read_last(
    run: &SyncRun<'_>,
    found: &CapabilitySet,
    members: &[IndexMember],
) -> Result<bool, Error> {
    let Some(set) = run.state().known_set(found.name())? else { return Ok(false) };
    // Of the documents that may have been read last, only a Change List has a digest of its entries.
    let held = run.state().checkpoint(set)?.filter(|held| held.leading.is_some());
    let Some(last) = held.and_then(|held| held.document) else { return Ok(false) };
    let open = members.last().filter(|open| open.until.is_none());
    let Some(begins) = open.and_then(|open| open.from) else { return Ok(false) };
    let began = run.believed(run.state().document(&last)?.and_then(|record| record.at));
    let is_named = members.iter().any(|member| member.uri == last);
    Ok(!is_named && began.is_some_and(|began| begins.end() <= began.instant()))
}

/// Returns `true` if the clock of the Source may have gone back since the lists were read: one of them ends before it
/// begins, and none of those after it was read. The copy may have reached any time while that list was open, so what
/// follows is new although its times may be over (O45).
pub(super) fn may_have_gone_back(members: &[IndexMember], last: Option<&Uri>) -> bool {
    let stepped = members.iter().rposition(IndexMember::went_back);
    let read = members.iter().rposition(|member| Some(&member.uri) == last);
    stepped.is_some_and(|stepped| read.is_none_or(|read| read <= stepped))
}

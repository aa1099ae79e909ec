//! Former states of documents, with which caches and restored Sources answer.

use resourcesync::{DateTime, Uri};

use crate::{Error, Guard, clock::http_date, documents::Document, plan::Shape, state::DocumentRecord};

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

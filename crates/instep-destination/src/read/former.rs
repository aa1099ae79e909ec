//! Former states of documents, with which caches and restored Sources answer.

use resourcesync::{DateTime, Uri};

use crate::{Error, Guard, documents::Document, plan::Shape};

/// Refuses a member of an index that was sent before a time which the index names for its state, while the index itself
/// was sent after it: a cache has kept a former state of the member. Resources that moved there meanwhile would seem to
/// be gone (O732), and changes that were added at its end would be passed over (O735).
pub(super) fn refuse_former(
    uri: &Uri,
    member: &Document,
    stated: Option<DateTime>,
    index_sent: Option<DateTime>,
) -> Result<(), Error> {
    let (Some(stated), Some(index_sent), Some(sent)) = (stated, index_sent, member.date) else {
        return Ok(());
    };
    // Both are times of one server, whose clock need not be that of the Source.
    if stated.instant() < index_sent.end() && sent.end() <= stated.instant() {
        let what = format!("a cache answers with its state of {sent}, and its index names that of {stated}");
        return Err(Error::InvalidDocument { url: uri.as_str().to_owned(), what });
    }
    Ok(())
}

/// Refuses a list that has lost entries since it was read: it is an older one (D36).
pub(super) fn refuse_older(uri: &Uri, shape: &Shape) -> Result<(), Error> {
    if !shape.went_back {
        return Ok(());
    }
    let what = format!("{uri} has fewer changes than when it was read last: it is an older one");
    Err(Error::Refused { guard: Guard::TimeWentBack, what })
}

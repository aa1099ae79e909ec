//! The parts of an inventory: the members of an index.

use std::pin::pin;

use futures_util::{Stream, StreamExt as _, stream};
use instep_net::Origin;
use resourcesync::{DateTime, Form, Uri};

use super::{Inventory, generation::Generation, plausible_time};
use crate::{
    Error,
    clock::latest_time,
    documents::{Document, DocumentError, Documents},
    plan::plausible,
    read::{
        applied::{digest_of, joined},
        former::refuse_former,
        kind::{ExpectedKind, unusable_members},
    },
    run::{SetRun, SyncRun},
};

/// The number of members that are fetched ahead.
const AHEAD: usize = 4;

/// An index while its members are read.
struct IndexReading<'a> {
    generation: Generation,
    /// The time at which it was sent.
    sent: Option<DateTime>,
    /// Its digest, and that of its members if it does not change with them.
    digest: &'a mut [u8; 32],
    /// `true` if a member is older than the index states.
    is_mixed: bool,
    /// `true` if the time of a member is unknown.
    lacks_times: bool,
}

/// The members that cannot be read. The first one is reported once another one was read: without any part of the index
/// nothing is known, and the inventory is lost (O48).
#[derive(Default)]
struct LostMembers {
    is_any_read: bool,
    first: Option<(Uri, Error)>,
}

impl LostMembers {
    fn lose(&mut self, run: &mut SyncRun<'_>, uri: Uri, error: Error) {
        if !self.is_any_read && self.first.is_none() {
            self.first = Some((uri, error));
        } else {
            run.reporter.lost_document(&uri, &error);
        }
    }

    /// Reports the first one.
    ///
    /// # Errors
    /// With its error, if no member was read.
    fn settle(self, run: &mut SyncRun<'_>) -> Result<(), Error> {
        match self.first {
            Some((_, error)) if !self.is_any_read => return Err(error),
            Some((uri, error)) => run.reporter.lost_document(&uri, &error),
            None => {}
        }
        Ok(())
    }
}

impl Inventory {
    /// Plans the entries of the members of an index. Returns `true` if all members are of one state of the Source. If
    /// the index does not change with its members, `digest` becomes that of all of them.
    pub(super) async fn read_members(
        &mut self,
        run: &mut SyncRun<'_>,
        index: &Document,
        set: &mut SetRun,
        digest: &mut [u8; 32],
    ) -> Result<bool, Error> {
        let (generation, members) = Generation::of(index)?;
        if let Some(lost) = unusable_members(&index.uri, generation.unusable()) {
            self.complete = false;
            run.reporter.lost_document(&index.uri, &lost);
        }
        let mut reading =
            IndexReading { generation, sent: index.date, digest, is_mixed: false, lacks_times: false };
        let mut lost = LostMembers::default();
        if members.contains(&index.uri) {
            let what = "an index that contains itself (GEN-12)".to_owned();
            return Err(Error::InvalidDocument { url: index.uri.as_str().to_owned(), what });
        }
        let mut opened = pin!(opened_ahead(run.network.documents.clone(), members, index.origin()));
        while let Some((uri, document)) = opened.next().await {
            let read = match document {
                Ok(document) => self.read_member(run, set, &mut reading, &uri, &document).await,
                Err(error) => Err(error.into()),
            };
            match read {
                Ok(()) => lost.is_any_read = true,
                Err(error @ (Error::InvalidDocument { .. } | Error::Unreachable { .. })) => {
                    self.complete = false;
                    lost.lose(run, uri, error);
                }
                Err(error) => return Err(error),
            }
            run.reporter.problems_of(set);
            if run.ending().is_some() {
                return Err(Error::Interrupted);
            }
        }
        lost.settle(run)?;
        let IndexReading { generation, is_mixed, lacks_times, .. } = reading;
        // The earliest time is unknown if that of a part is (DST-2).
        self.at = self.at.filter(|_| !lacks_times);
        // If each part confirms the time that the index states for it, more is needed only to infer deletions.
        let doubtful = self.complete && (run.options.delete || generation.is_silent());
        Ok(!is_mixed && (!doubtful || generation.stands(run, index).await))
    }

    /// Plans the entries of a member, and adds its digest to that of the index if the index does not change with it.
    async fn read_member(
        &mut self,
        run: &mut SyncRun<'_>,
        set: &mut SetRun,
        index: &mut IndexReading<'_>,
        uri: &Uri,
        document: &Document,
    ) -> Result<(), Error> {
        ExpectedKind::ResourceList.check(document)?;
        if document.header.form != Form::List {
            let what =
                "an index within an index (GEN-12); its resources can be copied from its own URL".to_owned();
            return Err(Error::InvalidDocument { url: uri.as_str().to_owned(), what });
        }
        refuse_former(uri, document, index.generation.stated(uri), index.sent)?;
        let at = plausible_time(run, uri, document);
        index.is_mixed |= index.generation.is_before(uri, at);
        // A time that no clock has reached would hide every following change here too (B4).
        let stated = plausible(index.generation.time_of(uri), Some(latest_time(document.date)));
        let at = at.or(stated);
        index.lacks_times |= at.is_none();
        self.at = [self.at, at].into_iter().flatten().min_by_key(DateTime::instant);
        if !index.generation.tells_changes() {
            *index.digest = joined(*index.digest, digest_of(document).await?);
        }
        set.read_list(document, stated, self.was_applied).await
    }
}

/// Returns the members of an index with their documents, in their order. A few are fetched ahead.
fn opened_ahead(
    documents: Documents,
    members: Vec<Uri>,
    speaker: Option<Origin>,
) -> impl Stream<Item = (Uri, Result<Document, DocumentError>)> {
    let opened = stream::iter(members).map(move |uri| {
        let (documents, speaker) = (documents.clone(), speaker.clone());
        async move {
            let opened = open(&documents, &uri, speaker.as_ref()).await;
            (uri, opened)
        }
    });
    opened.buffered(AHEAD)
}

async fn open(documents: &Documents, uri: &Uri, speaker: Option<&Origin>) -> Result<Document, DocumentError> {
    documents.get(uri, speaker).await?.document()
}

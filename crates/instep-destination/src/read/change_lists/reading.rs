//! Reads new entries of Change Lists (§12).

use resourcesync::DateTime;

use super::{ChangeDocuments, MemberDocument};
use crate::{
    Error,
    clock::latest_time,
    plan::Mark,
    read::{
        former::{refuse_former, refuse_older},
        kind::unusable_members,
        known_changes::{
            ends_long_before, has_change_of, lacks_known_changes, lacks_newest_change, newest_to_keep,
            reported_unusable,
        },
        passed::{Passed, ReadChanges},
    },
    records::DocumentNote,
    run::{SetRun, SyncRun, record_of},
    state::{Checkpoint, DocumentRecord},
};

impl ChangeDocuments {
    /// Folds new changes over the plan. A missing list costs only its own entries: the later lists are read, and the
    /// checkpoint stays before it, so that the next run reads it (B11).
    pub(crate) async fn read(
        mut self,
        run: &mut SyncRun<'_>,
        set: &mut SetRun,
        from: Checkpoint,
    ) -> Result<ReadChanges, Error> {
        let since = from.datetime;
        let mut read = ReadChanges::without_packages(run, from);
        if let Some(lost) = unusable_members(&self.speaker, self.unusable) {
            read.lose(set, self.speaker.clone(), lost);
        }
        for list in std::mem::take(&mut self.lists) {
            let uri = list.member.uri.clone();
            match self.read_one(run, set, list, since, &mut read).await {
                Err(error) if error.loses_document() => read.lose(set, uri, error),
                done => done?,
            }
        }
        // While a list is lost, it may have the change.
        let went_back = self.went_back.is_some() && read.lost.is_empty();
        set.with(|draft| draft.met.went_back |= went_back);
        // The list that was read last stays that of the checkpoint, and an unchanged index would lead to it alone (O665).
        let is_whole = read.lost.is_empty() && !self.lacks_last;
        self.remember_top(run, set, is_whole)?;
        Ok(read)
    }

    /// Records the document that leads to the lists, once all of them were read. Otherwise the next run must check
    /// its members again, even if the document is unchanged.
    pub(crate) fn remember_top(
        self,
        run: &SyncRun<'_>,
        set: &mut SetRun,
        complete: bool,
    ) -> Result<(), Error> {
        if complete {
            set.records.extend(self.top);
        } else if let Some(known) = run.state().document(&self.speaker)? {
            set.records.push(DocumentRecord { etag: None, last_modified: None, ..known });
        }
        Ok(())
    }

    async fn read_one(
        &mut self,
        run: &mut SyncRun<'_>,
        set: &mut SetRun,
        MemberDocument { member, document }: MemberDocument,
        since: Option<DateTime>,
        read: &mut ReadChanges,
    ) -> Result<(), Error> {
        let record = run.state().document(&member.uri)?;
        let known = read.checkpoint.document.as_ref() == Some(&member.uri);
        let document = match document {
            Some(document) => Some(document),
            None => {
                // A cache answers 304 also for the state from before the list was closed.
                let held = run.read_before(set.id, &member.uri)?.filter(|_| known && member.until.is_none());
                run.network.open(&member.uri, Some(&self.speaker), held.as_ref()).await?
            }
        };
        let Some(document) = document else { return Ok(()) };
        self.kind.document().check_list(&document)?;
        refuse_former(&member.uri, &document, member.until, self.sent)?;
        let reported = reported_unusable(run, record.as_ref(), &document)?;
        let mark = known.then(|| Mark {
            from: record.as_ref().and_then(|record| record.at),
            entries: read.checkpoint.position,
            leading: read.checkpoint.leading,
            may_lose_entries: self.sparse,
        });
        let latest = latest_time(document.date);
        let (is_sparse, before) = (self.sparse, record.as_ref());
        let lacks_known =
            !known && lacks_known_changes(run, set.id, &member.uri, &document, before, is_sparse)?;
        let mut went_back = lacks_newest_change(run, &document, before, is_sparse)?;
        let is_next = |newest: &mut DateTime| !ends_long_before(member.until, *newest);
        if let Some(newest) = self.went_back.take_if(is_next) {
            went_back |= !has_change_of(&document, newest)?;
        }
        set.with(|draft| {
            draft.met.lost_changes |= lacks_known;
            draft.met.went_back |= went_back;
        });
        let shape = set.read_changes(&document, mark, since, member.from, reported).await?;
        refuse_older(&member.uri, &shape)?;
        run.reporter.problems_of(set);
        // The run that can use all activities looks for what became of those that could not be used (O996).
        let unusable = shape.unusable + u64::from(self.lacks_activities);
        set.new_documents |= shape.known < shape.entries || unusable > reported;
        if !read.lost.is_empty() {
            return Ok(());
        }
        let root = document.header.metadata.clone().unwrap_or_default();
        let mut record = record_of(&member.uri, &document);
        record.at = root.from;
        let newest = newest_to_keep(&shape, [root.until, member.until]).map(|newest| newest.unix_micros());
        DocumentNote { unusable, newest, ..DocumentNote::default() }.write(run.state(), &mut record)?;
        set.records.push(record);
        let passed = Passed { uri: member.uri, from: root.from, until: root.until, shape, latest };
        passed.advance(&mut read.checkpoint);
        Ok(())
    }
}

//! Reads new entries of Change Lists (§12).

use resourcesync::DateTime;

use super::{ChangeDocuments, MemberDocument};
use crate::{
    Error,
    clock::latest_time,
    plan::Mark,
    read::{
        former::refuse_older,
        kind::unusable_members,
        known_changes::{KnownList, ends_long_before, has_change_of, has_newest_of_last, newest_to_keep},
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
        read.lacks_last = self.lacks_last;
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
        let opened = self.open_list(run, set.id, &read.checkpoint, &member, document).await?;
        let Some(document) = opened else { return Ok(()) };
        let (uri, is_sparse) = (&member.uri, self.sparse);
        let list = KnownList { uri, document: &document, record: record.as_ref(), is_sparse };
        let reported = list.reported_unusable(run)?;
        let mark = known.then(|| Mark {
            from: record.as_ref().and_then(|record| record.at),
            entries: read.checkpoint.position,
            leading: read.checkpoint.leading,
            may_lose_entries: is_sparse,
        });
        let latest = latest_time(document.date);
        // The entries of the list that was read last are compared by the mark.
        let lacks_known = !known && list.lacks_known_changes(run, set.id)?;
        let went_back = self.shows_step_back(run, &list, member.until)?;
        self.lacks_last = self.lacks_last && !has_newest_of_last(run, set.id, &document)?;
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

    /// Returns `true` if a list that ends at a time shows that the clock of the Source went back.
    fn shows_step_back(
        &mut self,
        run: &SyncRun<'_>,
        list: &KnownList<'_>,
        until: Option<DateTime>,
    ) -> Result<bool, Error> {
        let mut went_back = list.lacks_newest_change(run)?;
        let is_next = |newest: &mut DateTime| !ends_long_before(until, *newest);
        if let Some(newest) = self.went_back.take_if(is_next) {
            went_back |= !has_change_of(list.document, newest)?;
        }
        Ok(went_back)
    }
}

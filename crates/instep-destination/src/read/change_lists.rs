//! Finds the Change Lists or Change Dumps of a set, and reads new entries of the lists (§12).

use std::collections::BTreeMap;

use resourcesync::{Capability, DateTime, Form, Uri};

use super::{
    former::{lacks_read_last, may_have_gone_back, refuse_former, refuse_older},
    kind::ChangeKind,
    member_times::{find_beginning, find_times},
    passed::{Passed, ReadChanges, reported_unusable},
};
use crate::{
    Error, ProblemKind,
    clock::latest_time,
    discover::CapabilitySet,
    documents::Document,
    error::BesideUrl as _,
    plan::{IndexMember, Mark, Reach, members_to_read, reach},
    records::DocumentNote,
    run::{SetRun, SyncRun, record_of},
    state::{Checkpoint, DocumentRecord},
};

/// The Change Lists since a checkpoint, or the Change Dumps.
#[derive(Debug)]
pub(crate) struct ChangeDocuments {
    /// Their reach relative to the checkpoint.
    pub(crate) reach: Reach,
    /// The lists that may hold something new, oldest first.
    pub(crate) lists: Vec<MemberDocument>,
    /// The document in whose scope they must lie.
    pub(crate) speaker: Uri,
    /// The document that leads to them, if it is new.
    pub(crate) top: Option<DocumentRecord>,
    /// The time at which the index over several was sent.
    pub(super) sent: Option<DateTime>,
    /// Their kind.
    pub(super) kind: ChangeKind,
    /// `true` if they have only the last change of each resource, as a collection of activities may.
    sparse: bool,
    /// `true` if they are those from before the list that was read last (O768).
    pub(super) lacks_last: bool,
}

#[derive(Debug)]
pub(crate) struct MemberDocument {
    pub(crate) member: IndexMember,
    pub(crate) document: Option<Document>,
}

impl ChangeDocuments {
    /// Reads the set's Change List or Change Dump, or the index over several; `None` if there is none, or no longer
    /// (DST-10).
    pub(crate) async fn look(
        run: &mut SyncRun<'_>,
        set: &CapabilitySet,
        kind: ChangeKind,
        checkpoint: &Checkpoint,
        anew: bool,
    ) -> Result<Option<Self>, Error> {
        let Some(offer) = set.get(&kind.capability()) else { return Ok(None) };
        // If no list was read before, any of them may have grown under an unchanged index (O26). The document that was read
        // last may also be one of the other kind, or be under an index of that (O378).
        let inventory = set.get(&Capability::ResourceList).map(|offer| &offer.uri);
        let other = set.get(&kind.other().capability()).map(|offer| &offer.uri);
        let read_before =
            checkpoint.document.as_ref().filter(|uri| ![inventory, other].contains(&Some(*uri)));
        let follows_other = other.map(|uri| run.state().document(uri)).transpose()?.flatten().is_some();
        let is_certain = !anew && !follows_other && read_before.is_some();
        let record = run.read_before_by(set, &offer.uri)?.filter(|_| is_certain);
        let opened = match &offer.document {
            Some(document) => Ok(Some(document.clone())),
            None => run.network.open(&offer.uri, set.capability_list.as_ref(), record.as_ref()).await,
        };
        match opened {
            Ok(Some(document)) => {
                kind.document().check(&document)?;
                let mut members = Vec::new();
                if document.header.form == Form::Index {
                    document.for_each(|entry| members.push(IndexMember::from(entry)))?;
                }
                let read = find_times(run, &document, &mut members).await?;
                let begins = find_beginning(run, &document)?;
                let lacks_last = lacks_read_last(run, set, &members)?;
                let is_doubtful = !anew && may_have_gone_back(&members, checkpoint.document.as_ref());
                let mut lists =
                    Self::of(&offer.uri, document, members, kind, checkpoint, begins, is_doubtful);
                (lists.sparse, lists.lacks_last) = (set.is_translated, lacks_last);
                lists.take_documents(read);
                if let (Reach::Gap { earliest }, Some(time)) = (lists.reach, checkpoint.datetime) {
                    lists.bridge(run, set, time, earliest).await?;
                }
                Ok(Some(lists))
            }
            Ok(None) => Ok(record.map(|record| Self::unchanged(kind, checkpoint, record))),
            Err(error) if is_gone(&error) => {
                match set.capability_list {
                    // A document that the Source lists and does not have costs as much as one that cannot be read (O1).
                    Some(_) => run.reporter.lost_document(&offer.uri, &error),
                    None => run.reporter.warn(
                        ProblemKind::Document,
                        offer.uri.as_str(),
                        &error.beside(offer.uri.as_str()),
                    ),
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the time at which the first of them begins.
    pub(crate) fn start(&self) -> Option<DateTime> {
        self.lists.first()?.member.from
    }

    /// Returns the lists of an unchanged document: of an index, only the last read list can have grown. It still reaches
    /// as far back as before.
    fn unchanged(kind: ChangeKind, checkpoint: &Checkpoint, top: DocumentRecord) -> Self {
        let last = checkpoint.document.clone().filter(|last| *last != top.uri);
        // The list that was read last has everything since then, also if it seems to begin in years.
        let begins = if last.is_none() { top.at.and(checkpoint.datetime) } else { top.at };
        let lists = last.map(|uri| MemberDocument { member: IndexMember::new(uri), document: None });
        let reach = checkpoint.datetime.map_or(Reach::Unknown, |time| reach(&time, begins.as_ref()));
        let lists = lists.into_iter().collect();
        Self { reach, lists, speaker: top.uri, top: None, sent: None, kind, sparse: false, lacks_last: false }
    }

    fn of(
        uri: &Uri,
        document: Document,
        members: Vec<IndexMember>,
        kind: ChangeKind,
        checkpoint: &Checkpoint,
        begins: Option<DateTime>,
        is_doubtful: bool,
    ) -> Self {
        let mut top = record_of(uri, &document);
        let root = document.header.metadata.clone().unwrap_or_default();
        if document.header.form == Form::List {
            let reach = match &checkpoint.datetime {
                Some(time) => reach(time, begins.as_ref()),
                None if checkpoint.document.as_ref() == Some(uri) => Reach::Covered,
                None => Reach::Unknown,
            };
            let member = IndexMember { from: begins, until: root.until, ..IndexMember::new(uri.clone()) };
            let lists = vec![MemberDocument { member, document: Some(document) }];
            return Self {
                reach,
                lists,
                speaker: uri.clone(),
                top: None,
                sent: None,
                kind,
                sparse: false,
                lacks_last: false,
            };
        }
        let last = checkpoint.document.as_ref();
        let is_last_listed = members.iter().any(|member| Some(&member.uri) == last);
        let (wanted, reach) = match &checkpoint.datetime {
            // If the clock went back meanwhile, times do not show what came since the last list that was read.
            Some(time) if !(is_doubtful && is_last_listed) => members_to_read(time, &members),
            _ => (after_document(&members, last), Reach::Unknown),
        };
        let reach = match (reach, members.first()) {
            (Reach::Covered, None) => covers_nothing(checkpoint, root.from.as_ref()),
            (Reach::Covered, _) if is_doubtful => Reach::Unknown,
            (reach, _) => reach,
        };
        // If the next run finds the index unchanged, it uses the same knowledge of its reach.
        top.at =
            members.first().and_then(|first| first.from).or(root.from).filter(|_| reach != Reach::Unknown);
        // Only the last member can have grown if the index is as it was, unless others have no end either.
        let open = members.iter().filter(|member| member.until.is_none()).count();
        let top = (open < 2).then_some(top);
        let lists = wanted
            .into_iter()
            .map(|member| MemberDocument { member: member.clone(), document: None })
            .collect();
        Self {
            reach,
            lists,
            speaker: uri.clone(),
            top,
            sent: document.date,
            kind,
            sparse: false,
            lacks_last: false,
        }
    }

    /// Keeps documents that were opened already for the lists that they are.
    fn take_documents(&mut self, mut opened: BTreeMap<Uri, Document>) {
        for list in &mut self.lists {
            if list.document.is_none() {
                list.document = opened.remove(&list.member.uri);
            }
        }
    }

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
        for list in std::mem::take(&mut self.lists) {
            let uri = list.member.uri.clone();
            match self.read_one(run, set, list, since, &mut read).await {
                Err(error) if error.loses_document() => read.lose(set, uri, error),
                done => done?,
            }
        }
        self.remember_top(run, set, read.lost.is_empty())?;
        Ok(read)
    }

    /// Records the document that leads to the lists, once all of them were read. Otherwise the next run must check
    /// its members again, even if the document is unchanged.
    pub(super) fn remember_top(
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
        &self,
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
            from: record.and_then(|record| record.at),
            entries: read.checkpoint.position,
            leading: read.checkpoint.leading,
            may_lose_entries: self.sparse,
        });
        let latest = latest_time(document.date);
        let shape = set.read_changes(&document, mark, since, member.from, reported).await?;
        refuse_older(&member.uri, &shape)?;
        run.reporter.problems_of(set);
        set.new_documents |= shape.known < shape.entries || shape.unusable > reported;
        if !read.lost.is_empty() {
            return Ok(());
        }
        let root = document.header.metadata.clone().unwrap_or_default();
        let mut record = record_of(&member.uri, &document);
        record.at = root.from;
        DocumentNote { unusable: shape.unusable, sets: None }.write(run.state(), &mut record)?;
        set.records.push(record);
        let passed = Passed { uri: member.uri, from: root.from, until: root.until, shape, latest };
        passed.advance(&mut read.checkpoint);
        Ok(())
    }
}

/// Returns the members from the last read one on: without times only their order is known.
fn after_document<'a>(members: &'a [IndexMember], last: Option<&Uri>) -> Vec<&'a IndexMember> {
    let at = members.iter().position(|member| Some(&member.uri) == last).unwrap_or(0);
    members[at..].iter().collect()
}

fn covers_nothing(checkpoint: &Checkpoint, from: Option<&DateTime>) -> Reach {
    checkpoint.datetime.as_ref().map_or(Reach::Unknown, |time| reach(time, from))
}

/// Returns `true` if a document no longer exists, rather than being unreachable now.
pub(crate) fn is_gone(error: &Error) -> bool {
    matches!(error.status(), Some(404 | 410))
}

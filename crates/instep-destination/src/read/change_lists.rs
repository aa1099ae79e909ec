//! Finds the Change Lists or Change Dumps of a set (§12).

mod reading;
mod top;

use std::collections::BTreeMap;

use resourcesync::{Capability, DateTime, Form, Uri};

use super::{
    former::refuse_former,
    kind::ChangeKind,
    known_changes::{lacks_read_last, may_have_gone_back, newest_after_end},
    unchanged::Unchanged,
};
use crate::{
    Error, ProblemKind,
    discover::CapabilitySet,
    documents::Document,
    error::BesideUrl as _,
    plan::{IndexMember, Reach, members_to_read, reach},
    run::{SyncRun, record_of},
    state::{Checkpoint, DocumentRecord, SetId},
};
use top::ChangeTop;

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
    /// The number of members of their index without a usable `loc`, or with that of another one.
    pub(super) unusable: u64,
    /// The newest change that the list which was read last had then, if that list ends long before it now (O706), until the
    /// next list shows if it has the change.
    went_back: Option<DateTime>,
    /// `true` if activities of the collection that they are made of cannot be used.
    lacks_activities: bool,
    /// `true` if they are those from before the list that was read last (O768), unless one of them has the changes of that.
    lacks_last: bool,
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
        unchanged: Unchanged,
    ) -> Result<Option<Self>, Error> {
        let Some(offer) = set.get(&kind.capability()) else { return Ok(None) };
        // If no list was read before, any of them may have grown under an unchanged index (O26). The document that was read
        // last may also be one of the other kind, or be under an index of that (O378).
        let inventory = set.get(&Capability::ResourceList).map(|offer| &offer.uri);
        let other = set.get(&kind.other().capability()).map(|offer| &offer.uri);
        let read_before =
            checkpoint.document.as_ref().filter(|uri| ![inventory, other].contains(&Some(*uri)));
        let follows_other = other.map(|uri| run.state().document(uri)).transpose()?.flatten().is_some();
        let is_certain = unchanged == Unchanged::Skip && !follows_other && read_before.is_some();
        let record = run.read_before_by(set, &offer.uri)?.filter(|_| is_certain);
        let opened = match &offer.document {
            Some(document) => Ok(Some(document.clone())),
            None => run.network.open(&offer.uri, set.capability_list.as_ref(), record.as_ref()).await,
        };
        match opened {
            Ok(Some(document)) => {
                kind.document().check(&document)?;
                let mut top = ChangeTop::find(run, offer.uri.clone(), document).await?;
                top.is_doubtful = unchanged == Unchanged::Skip
                    && may_have_gone_back(&top.members, checkpoint.document.as_ref());
                Self::listed(run, set, kind, checkpoint, top).await.map(Some)
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

    /// Returns the lists that a new document names, compared with those that were read before.
    async fn listed(
        run: &mut SyncRun<'_>,
        set: &CapabilitySet,
        kind: ChangeKind,
        checkpoint: &Checkpoint,
        mut top: ChangeTop,
    ) -> Result<Self, Error> {
        let went_back = newest_after_end(run, set, &top.members)?;
        let lacks_last = lacks_read_last(run, set, &top.members)?;
        let (unusable, opened) = (top.unusable, std::mem::take(&mut top.opened));
        // If changes may be missing, the checkpoint stays before them.
        let lacks_activities = set.lacks_entries && !set.lacks_changes;
        let sparse = set.is_translated;
        let lists = Self::of(top, kind, checkpoint);
        let mut lists = Self { sparse, unusable, went_back, lacks_activities, lacks_last, ..lists };
        lists.take_documents(opened);
        if let (Reach::Gap { earliest }, Some(time)) = (lists.reach, checkpoint.datetime) {
            lists.bridge(run, set, time, earliest).await?;
        }
        Ok(lists)
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
        Self::new(reach, lists, top.uri, kind)
    }

    fn of(top: ChangeTop, kind: ChangeKind, checkpoint: &Checkpoint) -> Self {
        let ChangeTop { uri, document, members, begins, is_doubtful, .. } = top;
        let mut top = record_of(&uri, &document);
        let root = document.header.metadata.clone().unwrap_or_default();
        if document.header.form == Form::List {
            let reach = match &checkpoint.datetime {
                Some(time) => reach(time, begins.as_ref()),
                None if checkpoint.document.as_ref() == Some(&uri) => Reach::Covered,
                None => Reach::Unknown,
            };
            let member = IndexMember { from: begins, until: root.until, ..IndexMember::new(uri.clone()) };
            let lists = vec![MemberDocument { member, document: Some(document) }];
            return Self::new(reach, lists, uri, kind);
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
        // Only the last member can have grown if the index is as it was, unless others have no end.
        let are_others_closed = members.iter().rev().skip(1).all(|member| member.until.is_some());
        let top = are_others_closed.then_some(top);
        let lists = wanted
            .into_iter()
            .map(|member| MemberDocument { member: member.clone(), document: None })
            .collect();
        Self { top, sent: document.date, ..Self::new(reach, lists, uri, kind) }
    }

    fn new(reach: Reach, lists: Vec<MemberDocument>, speaker: Uri, kind: ChangeKind) -> Self {
        Self {
            reach,
            lists,
            speaker,
            top: None,
            sent: None,
            kind,
            sparse: false,
            unusable: 0,
            went_back: None,
            lacks_activities: false,
            lacks_last: false,
        }
    }

    /// Opens one of the lists, and checks it. `None` if it is the last one that was read (`reached`), and unchanged since.
    ///
    /// # Errors
    /// If it cannot be fetched, is of another kind, or is a former state of the list.
    pub(super) async fn open_list(
        &self,
        run: &mut SyncRun<'_>,
        set: SetId,
        reached: &Checkpoint,
        member: &IndexMember,
        opened: Option<Document>,
    ) -> Result<Option<Document>, Error> {
        let document = match opened {
            Some(document) => Some(document),
            None => {
                // A cache answers 304 also for the state from before the list was closed.
                let may_be_unchanged =
                    reached.document.as_ref() == Some(&member.uri) && member.until.is_none();
                let held = run.read_before(set, &member.uri)?.filter(|_| may_be_unchanged);
                run.network.open(&member.uri, Some(&self.speaker), held.as_ref()).await?
            }
        };
        if let Some(document) = &document {
            self.kind.document().check_list(document)?;
            refuse_former(&member.uri, document, member.until, self.sent)?;
        }
        Ok(document)
    }

    /// Keeps documents that were opened already for the lists that they are.
    fn take_documents(&mut self, mut opened: BTreeMap<Uri, Document>) {
        for list in &mut self.lists {
            if list.document.is_none() {
                list.document = opened.remove(&list.member.uri);
            }
        }
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

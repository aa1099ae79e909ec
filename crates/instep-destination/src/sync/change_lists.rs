//! Which Change Lists or Change Dumps there are, and what is new in the lists (§12).

use resourcesync::{Capability, DateTime, Form, Uri};

use super::{
    run::{Run, now},
    set::SetRun,
};
use crate::{
    Error, Guard, ProblemKind,
    discover::CapabilitySet,
    documents::Document,
    plan::{Mark, Member, Reach, Shape, members_to_read, reach},
    state::{Checkpoint, DocumentRecord},
};

/// The Change Lists since a checkpoint, or the Change Dumps.
#[derive(Debug)]
pub(super) struct ChangeLists {
    /// Whether they reach back to the checkpoint.
    pub(super) reach: Reach,
    /// Those that may hold something new, oldest first.
    pub(super) lists: Vec<List>,
    /// The document that speaks for them.
    pub(super) speaker: Uri,
    /// The document that leads to them, where it is new.
    pub(super) top: Option<DocumentRecord>,
    /// What they are.
    kind: Kind,
}

/// What tells of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Change Lists (§12).
    Lists,
    /// Change Dumps (§13).
    Dumps,
}

impl Kind {
    pub(super) fn capability(self) -> Capability {
        match self {
            Self::Lists => Capability::ChangeList,
            Self::Dumps => Capability::ChangeDump,
        }
    }

    fn archive(self) -> Capability {
        match self {
            Self::Lists => Capability::ChangeListArchive,
            Self::Dumps => Capability::ChangeDumpArchive,
        }
    }
}

#[derive(Debug)]
pub(super) struct List {
    pub(super) member: Member,
    pub(super) document: Option<Document>,
}

impl ChangeLists {
    /// Looks at the set's Change List or Change Dump, or the index over several; none where there is none (any more: DST-10).
    pub(super) async fn look(
        run: &mut Run<'_>,
        set: &CapabilitySet,
        (kind, checkpoint): (Kind, &Checkpoint),
        anew: bool,
    ) -> Result<Option<Self>, Error> {
        let Some(offer) = set.get(&kind.capability()) else { return Ok(None) };
        let record = run.state().document(&offer.uri)?.filter(|_| !anew);
        let opened = match &offer.document {
            Some(document) => Ok(Some(document.clone())),
            None => run.open(&offer.uri, set.capability_list.as_ref(), record.as_ref()).await,
        };
        match opened {
            Ok(Some(document)) => {
                let mut lists = Self::of(run, &offer.uri, document, (kind, checkpoint))?;
                if let (Reach::Gap { earliest }, Some(time)) = (lists.reach, checkpoint.datetime) {
                    lists.bridge(run, set, time, earliest).await?;
                }
                Ok(Some(lists))
            }
            Ok(None) => Ok(Some(Self::unchanged(kind, checkpoint, &offer.uri))),
            Err(error) if is_gone(&error) => {
                run.warn(ProblemKind::Document, offer.uri.as_str(), &error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// When the first of them begins.
    pub(super) fn start(&self) -> Option<DateTime> {
        self.lists.first()?.member.from
    }

    /// The index is as it was: only the list that was read last can have grown.
    fn unchanged(kind: Kind, checkpoint: &Checkpoint, top: &Uri) -> Self {
        let last = checkpoint.document.clone().filter(|last| last != top);
        let lists = last.map(|uri| List { member: Member::new(uri), document: None });
        let reach = if checkpoint.datetime.is_some() { Reach::Covered } else { Reach::Unknown };
        Self { reach, lists: lists.into_iter().collect(), speaker: top.clone(), top: None, kind }
    }

    fn of(
        run: &Run<'_>,
        uri: &Uri,
        document: Document,
        (kind, checkpoint): (Kind, &Checkpoint),
    ) -> Result<Self, Error> {
        let mut top = run.record(uri, &document);
        let root = document.header.metadata.clone().unwrap_or_default();
        top.at = root.from;
        if document.header.form == Form::List {
            let reach = match &checkpoint.datetime {
                Some(time) => reach(time, root.from.as_ref()),
                None if checkpoint.document.as_ref() == Some(uri) => Reach::Covered,
                None => Reach::Unknown,
            };
            let member = Member { from: root.from, until: root.until, ..Member::new(uri.clone()) };
            let lists = vec![List { member, document: Some(document) }];
            return Ok(Self { reach, lists, speaker: uri.clone(), top: None, kind });
        }
        let mut members = Vec::new();
        document.for_each(|entry| members.push(Member::from(entry)))?;
        let (wanted, reach) = match &checkpoint.datetime {
            Some(time) => members_to_read(time, &members),
            None => (after_document(&members, checkpoint.document.as_ref()), Reach::Unknown),
        };
        let reach = match (reach, members.first()) {
            (Reach::Covered, None) => covers_nothing(checkpoint, root.from.as_ref()),
            (reach, _) => reach,
        };
        let lists =
            wanted.into_iter().map(|member| List { member: member.clone(), document: None }).collect();
        Ok(Self { reach, lists, speaker: uri.clone(), top: Some(top), kind })
    }

    /// Closes a gap with closed lists of the archive, where it reaches back to the checkpoint without a hole (ARC-14).
    async fn bridge(
        &mut self,
        run: &mut Run<'_>,
        set: &CapabilitySet,
        checkpoint: DateTime,
        earliest: DateTime,
    ) -> Result<(), Error> {
        let Some(offer) = set.get(&self.kind.archive()) else { return Ok(()) };
        let mut archived = match archived_lists(run, set, &offer.uri).await {
            Ok(archived) => archived,
            Err(error) => {
                run.warn(ProblemKind::Document, offer.uri.as_str(), &error);
                return Ok(());
            }
        };
        // What begins where the current lists do, they have themselves.
        archived.retain(|member| member.from.is_none_or(|from| from.instant() < earliest.instant()));
        archived.extend(self.lists.first().map(|list| list.member.clone()));
        let (wanted, reach) = members_to_read(&checkpoint, &archived);
        if reach != Reach::Covered || wanted.len() < 2 {
            return Ok(());
        }
        run.note(&format!("the archive closes a gap before {earliest}"));
        let bridge = wanted[..wanted.len() - 1]
            .iter()
            .map(|member| List { member: (*member).clone(), document: None });
        self.lists.splice(0..0, bridge);
        self.reach = Reach::Covered;
        Ok(())
    }

    /// Folds what is new over the plan; gives the checkpoint that holds once the plan is done.
    pub(super) async fn read(
        self,
        run: &mut Run<'_>,
        set: &mut SetRun,
        from: Checkpoint,
    ) -> Result<Checkpoint, Error> {
        let since = from.datetime;
        let mut checkpoint = from;
        for List { member, document } in self.lists {
            let record = run.state().document(&member.uri)?;
            let known = checkpoint.document.as_ref() == Some(&member.uri);
            let document = match document {
                Some(document) => Some(document),
                None => run.open(&member.uri, Some(&self.speaker), record.as_ref().filter(|_| known)).await?,
            };
            let Some(document) = document else { continue };
            let mark = known.then(|| Mark {
                from: record.and_then(|record| record.at),
                entries: checkpoint.position,
                last: checkpoint.last.clone(),
            });
            let shape = set.read_changes(&document, mark, since).await?;
            refuse_older(&member.uri, &shape)?;
            run.tell(set);
            set.new_documents |= shape.known < shape.entries;
            let root = document.header.metadata.clone().unwrap_or_default();
            let mut record = run.record(&member.uri, &document);
            record.at = root.from;
            set.records.push(record);
            pass(&mut checkpoint, member.uri, root.from, root.until, shape);
        }
        set.records.extend(self.top);
        Ok(checkpoint)
    }
}

/// The lists of an archive, or of all archives under an index (ARC-12), oldest first.
pub(super) async fn archived_lists(
    run: &mut Run<'_>,
    set: &CapabilitySet,
    uri: &Uri,
) -> Result<Vec<Member>, Error> {
    let mut members = Vec::new();
    let mut archives = vec![uri.clone()];
    let mut indexes = 1;
    while let Some(uri) = archives.pop() {
        let Some(document) = run.open(&uri, set.capability_list.as_ref(), None).await? else { continue };
        if document.header.form == Form::List {
            document.for_each(|entry| members.push(Member::from(entry)))?;
        } else if indexes > 0 {
            indexes -= 1;
            document.for_each(|entry| archives.push(entry.loc.clone()))?;
        }
    }
    members.sort_by_key(|member| member.from.or(member.at).map(|time| time.instant()));
    Ok(members)
}

/// Microseconds that a Source may be ahead of this machine.
const A_DAY: i64 = 24 * 3_600 * 1_000_000;

/// Moves a checkpoint to the end of a list.
pub(super) fn pass(
    checkpoint: &mut Checkpoint,
    uri: Uri,
    from: Option<DateTime>,
    until: Option<DateTime>,
    shape: Shape,
) {
    // A clock that is far ahead would hide everything that comes after it (D38).
    let latest = now().unix_micros().saturating_add(A_DAY);
    let times = [from, until, shape.newest].into_iter().flatten();
    for time in times.filter(|time| time.unix_micros() <= latest) {
        if checkpoint.datetime.is_none_or(|held| held.instant() < time.instant()) {
            checkpoint.datetime = Some(time);
        }
    }
    checkpoint.newest = checkpoint.newest.max(checkpoint.datetime);
    checkpoint.document = Some(uri);
    checkpoint.position = shape.entries;
    checkpoint.last = shape.last;
}

/// A list that has lost entries since it was read is an older one (D36).
fn refuse_older(uri: &Uri, shape: &Shape) -> Result<(), Error> {
    if !shape.went_back {
        return Ok(());
    }
    let what = format!("{uri} has fewer changes than when it was read last: it is an older one");
    Err(Error::Refused { guard: Guard::TimeWentBack, what })
}

/// The members from the one that was read last: without times only their order tells.
fn after_document<'a>(members: &'a [Member], last: Option<&Uri>) -> Vec<&'a Member> {
    let at = members.iter().position(|member| Some(&member.uri) == last).unwrap_or(0);
    members[at..].iter().collect()
}

fn covers_nothing(checkpoint: &Checkpoint, from: Option<&DateTime>) -> Reach {
    checkpoint.datetime.as_ref().map_or(Reach::Unknown, |time| reach(time, from))
}

/// Whether a document is not there any more, rather than not reachable now.
pub(super) fn is_gone(error: &Error) -> bool {
    let Error::Unreachable { source, .. } = error else { return false };
    let status = source.downcast_ref::<crate::http::HttpError>().and_then(|error| error.status());
    status.is_some_and(|status| matches!(status.as_u16(), 404 | 410))
}

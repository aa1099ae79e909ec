//! What the Source has: its Resource List or the index over several (§10).

mod generation;

use futures_util::{StreamExt as _, stream};
use resourcesync::{Capability, DateTime, Form, Uri, value::Precision};

use super::{
    change_lists::{archived_lists, is_gone},
    changes::Changes,
    dump::{Dump, DumpPackage},
    run::Run,
    set::SetRun,
};
use crate::{
    Error, ProblemKind,
    discover::CapabilitySet,
    documents::{Document, DocumentError, Documents},
    error::story,
    http::Origin,
    plan::{Member, check_age, check_inventory_time},
    state::{Checkpoint, DocumentRecord},
};
use generation::Generation;

/// Members of an index fetched ahead.
const AHEAD: usize = 4;

/// An inventory that was read.
#[derive(Debug)]
pub(crate) struct Inventory {
    /// The earliest `at` of what was read (DST-2).
    at: Option<DateTime>,
    /// Whether every part of it was read (RLI-8).
    pub(crate) complete: bool,
    /// The list that stands for it.
    uri: Uri,
}

impl Inventory {
    /// Plans the whole inventory: of the Resource List, or where there is none of the manifests of the Resource Dump.
    pub(crate) async fn read_any(
        run: &mut Run<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
        anew: bool,
    ) -> Result<Option<(Self, Option<Dump>)>, Error> {
        if found.get(&Capability::ResourceList).is_some() {
            return Ok(Self::read(run, found, set, anew).await?.map(|inventory| (inventory, None)));
        }
        let Some(mut dump) = Dump::look(run, found).await? else {
            let what = "The Source offers neither a Resource List nor a Resource Dump".to_owned();
            return Err(Error::Usage { what });
        };
        let mut record = DocumentRecord::new(dump.uri.clone());
        record.at = dump.at;
        let applied = run.state().document(&dump.uri)?.and_then(|record| record.at);
        if !anew && same_instant(applied, dump.at) {
            return Ok(None);
        }
        let packages = run.packages();
        let complete = dump.find_contents(run, &packages).await?;
        dump.read_inventory(run, set).await?;
        set.records.push(record);
        let inventory = Self { at: dump.at, complete, uri: dump.uri.clone() };
        Ok(Some((inventory, Some(dump))))
    }

    /// Plans the whole Resource List with the changes since its `at` folded over it. None where it is the one that was
    /// applied, unless `anew`.
    pub(crate) async fn read(
        run: &mut Run<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
        anew: bool,
    ) -> Result<Option<Self>, Error> {
        let Some(offer) = found.get(&Capability::ResourceList) else {
            return Err(Error::Usage { what: "The Source offers no Resource List".to_owned() });
        };
        if let Some(as_of) = run.options.as_of {
            return Self::read_as_of(run, found, set, as_of).await.map(Some);
        }
        let record = run.state().document(&offer.uri)?;
        let opened = match &offer.document {
            Some(document) => Some(document.clone()),
            None => {
                let held = record.as_ref().filter(|_| !anew);
                run.open(&offer.uri, found.capability_list.as_ref(), held).await?
            }
        };
        let Some(document) = opened else { return Ok(None) };
        let at = document.header.metadata.as_ref().and_then(|root| root.at);
        let applied = record.as_ref().and_then(|record| record.at);
        check_inventory_time(offer.uri.as_str(), applied.as_ref(), at.as_ref())?;
        check_age(at.as_ref(), super::run::now(), run.options.max_age)?;
        if !anew && same_instant(applied, at) {
            return Ok(None);
        }
        let mut record = run.record(&offer.uri, &document);
        record.at = at;
        set.records.push(record);
        Self::plan(run, offer.uri.clone(), &document, set).await.map(Some)
    }

    /// Plans a Resource List or what an index over several leads to.
    async fn plan(run: &mut Run<'_>, uri: Uri, document: &Document, set: &mut SetRun) -> Result<Self, Error> {
        let at = document.header.metadata.as_ref().and_then(|root| root.at);
        let mut inventory = Self { at, complete: true, uri };
        match document.header.form {
            Form::List => set.read_list(document).await?,
            Form::Index => inventory.read_members(run, document, set).await?,
        }
        run.tell(set);
        Ok(inventory)
    }

    /// Plans the newest Resource List that is not younger than a time: the current one, or one of the archive.
    async fn read_as_of(
        run: &mut Run<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
        as_of: DateTime,
    ) -> Result<Self, Error> {
        let mut lists: Vec<Member> = Vec::new();
        if let Some(archive) = found.get(&Capability::ResourceListArchive) {
            lists = archived_lists(run, found, &archive.uri).await?;
        }
        if let Some(current) = found.get(&Capability::ResourceList) {
            let document = run.open(&current.uri, found.capability_list.as_ref(), None).await?;
            let at = document.and_then(|document| document.header.metadata?.at);
            lists.push(Member { at, ..Member::new(current.uri.clone()) });
        }
        let begun = |list: &&Member| list.at.is_some_and(|at| at.instant() < as_of.end());
        let newest = lists.iter().filter(begun).max_by_key(|list| list.at.map(|at| at.instant()));
        let Some(list) = newest else {
            let what = format!("The Source offers no Resource List of {as_of} or before");
            return Err(Error::Usage { what });
        };
        let document = run.open(&list.uri, found.capability_list.as_ref(), None).await?;
        let gone =
            || Error::NotResourceSync { url: list.uri.as_str().to_owned(), what: "it is gone".to_owned() };
        Self::plan(run, list.uri.clone(), &document.ok_or_else(gone)?, set).await
    }

    async fn read_members(
        &mut self,
        run: &mut Run<'_>,
        index: &Document,
        set: &mut SetRun,
    ) -> Result<(), Error> {
        let (generation, members) = Generation::of(index)?;
        let mut is_mixed = false;
        if members.contains(&index.uri) {
            let what = "an index that contains itself (GEN-12)".to_owned();
            return Err(Error::InvalidDocument { url: index.uri.as_str().to_owned(), what });
        }
        let documents = run.documents.clone();
        let speaker = index.origin();
        let opened = stream::iter(members).map(|uri| {
            let (documents, speaker) = (documents.clone(), speaker.clone());
            async move {
                let opened = open(&documents, &uri, speaker.as_ref()).await;
                (uri, opened)
            }
        });
        let mut opened = std::pin::pin!(opened.buffered(AHEAD));
        while let Some((uri, document)) = opened.next().await {
            let read = match document {
                Ok(document) if document.header.form == Form::List => {
                    let at = document.header.metadata.as_ref().and_then(|root| root.at);
                    is_mixed |= generation.is_before(&uri, at);
                    self.at = [self.at, at].into_iter().flatten().min_by_key(DateTime::instant);
                    set.read_list(&document).await
                }
                Ok(_) => Err(Error::InvalidDocument {
                    url: uri.as_str().to_owned(),
                    what: "an index within an index (GEN-12)".to_owned(),
                }),
                Err(error) => Err(error.into()),
            };
            match read {
                Ok(()) => {}
                Err(error @ (Error::InvalidDocument { .. } | Error::Unreachable { .. })) => {
                    self.complete = false;
                    run.lost_document(&uri, &error);
                }
                Err(error) => return Err(error),
            }
            run.tell(set);
            if run.options.shutdown.is_cancelled() {
                self.complete = false;
                break;
            }
        }
        // Only what is inferred from absence needs one state of all parts; it waits for the next run.
        let infers = self.complete && run.options.delete;
        if infers && (is_mixed || !generation.stands(run, index).await) {
            self.complete = false;
            let what =
                "it was published anew while its parts were read: what it no longer lists is kept for now";
            run.problem(ProblemKind::Document, index.uri.as_str(), &what);
        }
        Ok(())
    }

    /// Folds the changes since the inventory over the plan, as far as Change Lists or Change Dumps reach back to it;
    /// gives the checkpoint that holds once the plan is done, and the packages of changes that were read.
    pub(crate) async fn followed_by_changes(
        &self,
        run: &mut Run<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
    ) -> Result<(Checkpoint, Vec<DumpPackage>), Error> {
        let mut checkpoint = Checkpoint::new();
        checkpoint.datetime = self.at;
        checkpoint.newest = self.at;
        if self.at.is_none() {
            // Without a time the list itself is all that can be held on to.
            checkpoint.document = Some(self.uri.clone());
            return Ok((checkpoint, Vec::new()));
        }
        let changes = Changes::look(run, found, &checkpoint, true).await?;
        if !changes.are_complete() {
            if changes.are_offered() {
                run.note(
                    "the changes that are offered do not reach back to the inventory: it is taken as it is",
                );
            }
            return Ok((checkpoint, Vec::new()));
        }
        let (reached, packages) = match changes.read(run, found, set, checkpoint.clone()).await {
            // One lost list never costs the Source (invariant 10): the inventory stands.
            Err(error) if is_gone(&error) => {
                let what = format!(
                    "a Change List since then is gone, so that the copy may be behind: {}",
                    story(&error)
                );
                run.problem(ProblemKind::Document, self.uri.as_str(), &what);
                return Ok((checkpoint, Vec::new()));
            }
            read => read?,
        };
        let Some(as_of) = run.options.as_of else { return Ok((reached, packages)) };
        // What came later is not passed, and what was read is to be read again.
        set.records.clear();
        Ok((Checkpoint { datetime: Some(as_of), ..checkpoint }, packages))
    }
}

async fn open(documents: &Documents, uri: &Uri, speaker: Option<&Origin>) -> Result<Document, DocumentError> {
    documents.get(uri, speaker).await?.document()
}

/// Whether the list is the one that was applied (DST-7); a date alone does not tell.
fn same_instant(applied: Option<DateTime>, at: Option<DateTime>) -> bool {
    matches!((applied, at), (Some(applied), Some(at))
        if at.precision() >= Precision::Second && applied.instant() == at.instant())
}

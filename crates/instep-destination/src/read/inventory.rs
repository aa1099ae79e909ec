//! The inventory of a Source: its Resource List, or the index over several (§10).
//!
//! Changes since its `at` are folded over it before anything is fetched, so the expected digests are the newest
//! published ones. The checkpoint afterwards is the earliest `at` among the index, its members, packages and
//! manifests. An index whose parts are of two states is read again.

mod as_of;
mod changes_since;
mod from_dump;
mod generation;
mod members;
mod older;

use resourcesync::{Capability, DateTime, Form, Uri, value::Precision};

use super::{
    applied::{digest_of, has_digest, is_applied, same_instant},
    dump::Dump,
    former::is_former_state,
    kind::ExpectedKind,
    unchanged::Unchanged,
};
use crate::{
    Error, ProblemKind, Via,
    clock::{latest_time, now},
    discover::{CapabilitySet, Offer},
    documents::Document,
    draft::Draft,
    plan::{check_age, check_inventory_time, deciding_time, plausible},
    run::{SetRun, SyncRun, record_of},
    state::{Checkpoint, DocumentRecord},
};
use generation::Generation;

/// The number of attempts to read an inventory that is republished while it is read (D39).
const READINGS: usize = 3;

/// An inventory that was read.
#[derive(Debug)]
pub(crate) struct Inventory {
    /// The earliest `at` of the documents read (DST-2).
    pub(crate) at: Option<DateTime>,
    /// The time at which the Source had written it, if it states one. Changes until then may be in it.
    completed: Option<DateTime>,
    /// `true` if every part of it was read (RLI-8).
    pub(crate) complete: bool,
    /// The URI of the Resource List, its index or the Resource Dump.
    uri: Uri,
    /// The Resource Dump, if its manifests are the inventory; `None` otherwise.
    pub(crate) dump: Option<Dump>,
    /// `true` if it equals, byte for byte, the one that was applied last.
    pub(crate) was_applied: bool,
}

impl Inventory {
    /// Returns the time that decides between it and changes that were applied.
    pub(crate) fn deciding_time(&self) -> Option<DateTime> {
        deciding_time(self.at, self.was_applied)
    }

    /// Returns the time from which on the next inventory shows what was deleted, if neither states its own. This inventory
    /// was made after the time that the copy had reached (`held`), and after the time of its newest entry (`newest`); the next
    /// one is made after it.
    pub(crate) fn last_gap_end(
        &self,
        found: &CapabilitySet,
        held: Option<&Checkpoint>,
        newest: Option<DateTime>,
    ) -> Option<DateTime> {
        let is_new = self.complete && self.at.is_none() && !self.was_applied;
        // Something else may have changed later in the second of an entry, but not at an exact time.
        let is_exact = |time: DateTime| time.precision() > Precision::Second;
        let after = |time: DateTime| time.unix_micros() + i64::from(is_exact(time));
        let listed = newest.filter(|_| self.is_first_choice(found));
        let listed = listed.map(|newest| DateTime::from_unix_micros(after(newest)));
        held.and_then(|held| held.datetime).max(listed).filter(|_| is_new)
    }

    /// Returns `true` if the next inventory is later. The exception is a dump that was read instead of a list, because the
    /// list may be older.
    fn is_first_choice(&self, found: &CapabilitySet) -> bool {
        self.dump.is_none() || found.get(&Capability::ResourceList).is_none()
    }

    /// Plans the complete inventory: the Resource List, or otherwise the manifests of the Resource Dump.
    pub(crate) async fn read_any(
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
        unchanged: Unchanged,
    ) -> Result<Option<Self>, Error> {
        if !found.offers_changes() {
            set.with(Draft::expect_no_changes)?;
        }
        if found.get(&Capability::ResourceList).is_none() {
            return Self::read_dump(run, found, set, unchanged).await;
        }
        match Self::read(run, found, set, unchanged).await {
            Err(error) if error.loses_document() && run.options.via == Via::Cheapest => {
                Self::read_dump_instead(run, found, set, error).await
            }
            read => read,
        }
    }

    /// Plans the complete Resource List with the changes since its `at` folded over it. `None` if it is the last
    /// applied one, and unchanged documents are skipped.
    pub(crate) async fn read(
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
        unchanged: Unchanged,
    ) -> Result<Option<Self>, Error> {
        let Some(offer) = found.get(&Capability::ResourceList) else {
            return Err(Error::Usage { what: "The Source offers no Resource List".to_owned() });
        };
        if let Some(as_of) = run.options.as_of {
            return Self::read_as_of(run, found, set, as_of).await.map(Some);
        }
        let last = last_applied(run, found)?;
        let is_last = |record: &DocumentRecord| !is_over(record.at, last);
        let record = run.read_before_by(found, &offer.uri)?.filter(is_last);
        let opened = match &offer.document {
            Some(document) => Some(document.clone()),
            None => {
                let held = record.as_ref().filter(|_| unchanged == Unchanged::Skip);
                run.network.open(&offer.uri, found.capability_list.as_ref(), held).await?
            }
        };
        let Some(document) = opened else { return Ok(None) };
        let applied = run.believed(record.as_ref().and_then(|record| record.at));
        let at = plausible_time(run, &offer.uri, &document);
        check_inventory_time(offer.uri.as_str(), applied.or(last).as_ref(), at.as_ref())?;
        check_age(at.as_ref(), now(), run.options.max_age)?;
        if unchanged == Unchanged::Skip
            && same_instant(applied, at)
            && has_digest(&document, record.as_ref()).await?
        {
            return Ok(None);
        }
        let is_former = record.as_ref().is_some_and(|applied| is_former_state(&document, applied));
        set.with(|draft| draft.history.has_former_inventory = is_former);
        let (mut inventory, document, digest) =
            Self::plan(run, offer.uri.clone(), document, set, record.as_ref()).await?;
        inventory.complete &= !found.lacks_entries;
        let mut record = record_of(&offer.uri, &document);
        record.at = plausible_time(run, &offer.uri, &document);
        record.digest = Some(digest);
        let hides_members =
            document.header.form == Form::Index && !Generation::of(&document)?.0.tells_changes();
        let hides_changes = record.at.is_none() && set.with(|draft| draft.inventory.has_silent);
        if hides_members || hides_changes {
            // Without validators the next run reads it again: its members (O12) or resources (O386) may change while it
            // stays the same.
            (record.etag, record.last_modified) = (None, None);
        }
        set.records.push(record);
        Ok(Some(inventory))
    }

    /// Plans the Resource List again if it differs from the one that the plan was made of. If it cannot be read now, only
    /// the explanations are missing that it might have: everything else is kept.
    pub(crate) async fn read_newer(
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
    ) -> Result<(), Error> {
        let Some(offer) = found.get(&Capability::ResourceList).filter(|_| !found.is_translated) else {
            return Ok(());
        };
        match Self::plan_newer(run, found, offer, set).await {
            Err(error) if error.loses_document() => {
                run.reporter.lost_document(&offer.uri, &error);
                Ok(())
            }
            planned => planned,
        }
    }

    /// Plans a Resource List if it differs from the one that was read. It is not recorded as read, so that the next run
    /// looks for resources that it no longer names.
    async fn plan_newer(
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        offer: &Offer,
        set: &mut SetRun,
    ) -> Result<(), Error> {
        let Some(read) = set.records.iter().find(|record| record.uri == offer.uri).cloned() else {
            return Ok(());
        };
        let opened = run.network.open(&offer.uri, found.capability_list.as_ref(), Some(&read)).await?;
        let at = |document: &Document| document.header.metadata.as_ref().and_then(|root| root.at);
        let Some(document) = opened.filter(|document| !same_instant(read.at, at(document))) else {
            return Ok(());
        };
        // Without a time, the same bytes are the same inventory, and planning it again would request everything again.
        // If the parts of an index without times have changed, the next run finds it.
        let is_known = document.header.form == Form::Index || has_digest(&document, Some(&read)).await?;
        if read.at.is_none() && is_known {
            Ok(())
        } else {
            Self::plan(run, offer.uri.clone(), document, set, None).await.map(drop)
        }
    }

    /// Plans a Resource List, or the members of an index. A list that is republished while it is read is read again
    /// (D39). Returns the document and the digest of the inventory. `applied` is the record of the last applied one.
    async fn plan(
        run: &mut SyncRun<'_>,
        uri: Uri,
        mut document: Document,
        set: &mut SetRun,
        applied: Option<&DocumentRecord>,
    ) -> Result<(Self, Document, [u8; 32]), Error> {
        let (mut readings, mut known) = (0, None);
        loop {
            readings += 1;
            ExpectedKind::ResourceList.check(&document)?;
            let at = plausible_time(run, &uri, &document);
            let mut digest = digest_of(&document).await?;
            let was_applied = is_applied(known.or(Some(digest)), applied);
            let completed = document.header.metadata.as_ref().and_then(|root| root.completed);
            let mut inventory =
                Self { at, completed, complete: true, uri: uri.clone(), dump: None, was_applied };
            let stood = match document.header.form {
                Form::List => set.read_list(&document, None, was_applied).await.map(|()| true)?,
                Form::Index => inventory.read_members(run, &document, set, &mut digest).await?,
            };
            run.reporter.problems_of(set);
            if stood && is_applied(Some(digest), applied) != was_applied && readings < READINGS {
                // If the index does not change with its members, it is known only now that the inventory was applied
                // before. This affects the decision about each entry, so the plan begins again.
                known = Some(digest);
                set.work(Draft::start_over).await?;
                continue;
            }
            if stood {
                return Ok((inventory, document, digest));
            }
            let now = if readings < READINGS {
                run.network.open(&document.uri, Some(&document.uri), None).await?
            } else {
                None
            };
            let Some(now) = now else {
                inventory.complete = false;
                let what =
                    "it was republished each time its parts were read: unlisted resources are kept for now";
                run.reporter.problem(ProblemKind::Document, document.uri.as_str(), &what);
                return Ok((inventory, document, digest));
            };
            run.reporter.note("the inventory was republished while its parts were read: it is read again");
            set.work(Draft::start_over).await?;
            document = now;
        }
    }
}

/// Returns the time of the last applied inventory of a set that has nothing but Resource Lists. A Source may name each of
/// them anew, so that the one that it names now may be an earlier one than that which was applied last (O799).
fn last_applied(run: &SyncRun<'_>, found: &CapabilitySet) -> Result<Option<DateTime>, Error> {
    if found.offers_changes() || found.get(&Capability::ResourceDump).is_some() {
        return Ok(None);
    }
    let Some(set) = run.state().known_set(found.name())? else { return Ok(None) };
    let checkpoint = run.state().checkpoint(set)?;
    // Changes that were applied are later than their inventory.
    let by_list = checkpoint.filter(|checkpoint| checkpoint.leading.is_none() && checkpoint.last.is_none());
    Ok(run.believed(by_list.and_then(|checkpoint| checkpoint.newest)))
}

/// Returns `true` if a time was over at another one.
fn is_over(time: Option<DateTime>, at: Option<DateTime>) -> bool {
    time.zip(at).is_some_and(|(time, at)| time.end() <= at.instant())
}

/// Returns the time of an inventory. `None` if it states none, or one that is far ahead of the clocks (D38).
fn plausible_time(run: &SyncRun<'_>, uri: &Uri, document: &Document) -> Option<DateTime> {
    let at = document.header.metadata.as_ref().and_then(|root| root.at)?;
    let time = plausible(Some(at), Some(latest_time(document.date)));
    if time.is_none() {
        let what =
            format!("its time {at} is ahead of the server's clock: it counts as a list without a time");
        run.reporter.warn(ProblemKind::Document, uri.as_str(), &what);
    }
    time
}

//! One set of resources in one run.

use std::sync::{Arc, Mutex, PoisonError};

use resourcesync::DateTime;

use crate::{
    Error,
    documents::Document,
    draft::Draft,
    plan::{Coverage, Mark, Shape},
    records::{UnusableEntries, kept::KeptResources},
    state::{Action, ActionKind, DocumentRecord, SetId},
};

/// A set, its plan, and the records to write when the plan is done.
#[derive(Debug)]
pub(crate) struct SetRun {
    pub(crate) id: SetId,
    draft: Arc<Mutex<Draft>>,
    pub(crate) records: Vec<DocumentRecord>,
    /// `true` if a document had something new.
    pub(crate) new_documents: bool,
    /// The coverage of the Source once the plan is done. `None` if no document was read that states it.
    pub(crate) coverage: Option<Coverage>,
    /// The time of the inventory that the plan was made of, if all of it was read.
    pub(crate) inventory: Option<DateTime>,
    /// The time from which on the next inventory shows what was deleted, also if it does not state its own.
    pub(crate) last_gap_end: Option<DateTime>,
    /// The time before which no deletion of the set needs to be known once the plan is done; `None` if that is as before.
    pub(crate) forgets_before: Option<DateTime>,
    /// The held resources that are gone at the Source and stay.
    pub(crate) kept: KeptResources,
    /// Entries that could not be used; `None` if those of earlier runs still count.
    pub(crate) unusable: Option<UnusableEntries>,
    /// `true` if its deletions are done.
    pub(crate) has_deleted: bool,
    /// The reason why its deletions are not carried out and the checkpoint stays (D35).
    pub(crate) refused: Option<Error>,
}

impl SetRun {
    /// Returns `true` if the plan keeps resources although their deletion is known: the operator does not allow
    /// deletions, or the guard refused them.
    pub(crate) fn keeps_what_is_gone(&self) -> bool {
        let count = |kind| self.with(|draft| draft.actions().count_of(kind));
        count(ActionKind::Keep) > 0 || self.refused.is_some() && count(ActionKind::Delete) > 0
    }

    pub(crate) fn new(id: SetId, draft: Draft) -> Self {
        let draft = Arc::new(Mutex::new(draft));
        Self {
            id,
            draft,
            records: Vec::new(),
            new_documents: false,
            coverage: None,
            inventory: None,
            last_gap_end: None,
            forgets_before: None,
            kept: KeptResources::default(),
            unusable: None,
            has_deleted: false,
            refused: None,
        }
    }

    /// Reads or changes the plan. `work` must be short, because it may block a thread of the runtime.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Draft) -> T) -> T {
        work(&mut self.draft.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the plan in its order, a page at a time.
    pub(crate) fn each_action(&self, each: &mut dyn FnMut(&Action)) -> Result<(), Error> {
        let mut after = 0;
        loop {
            let page = self.with(|draft| draft.actions().after(after, 1_000))?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.sequence;
            page.iter().for_each(&mut *each);
        }
    }

    /// Records in a later plan of the set the resources that exist again according to this one.
    pub(crate) fn pass_returned_to(&self, later: &Self) -> Result<(), Error> {
        later.with(|later| self.with(|earlier| later.take_over_returned(earlier)))
    }

    /// Leaves the resources that this plan deletes to another set whose plan lists them.
    pub(crate) fn leave_to(&self, other: &Self) -> Result<(), Error> {
        self.with(|plan| other.with(|other| plan.leave_to(other)))
    }

    /// Deletes the resources that this plan leaves, if plans that are carried out before it leave them too, and no other set
    /// has them (O795).
    pub(crate) fn delete_after(&self, earlier: &[Self]) -> Result<(), Error> {
        let mut after = 0;
        loop {
            let page = self.with(|draft| draft.actions().of_kind_after(ActionKind::Leave, after, 1_000))?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.sequence;
            for Action { desired, .. } in page {
                let uri = desired.uri.as_str();
                let held = self.with(|draft| draft.state().held(uri))?;
                let Some(mut held) = held.filter(|held| held.is_in(self.id)) else { continue };
                for other in earlier {
                    if other.with(|draft| draft.gives_up(uri))? {
                        held.sets &= !other.id.mask();
                    }
                }
                if held.is_only_in(self.id) {
                    self.with(|draft| draft.replace(ActionKind::Delete, desired))?;
                }
            }
        }
    }

    /// Tells a later plan of the set which held files are damaged: this plan knows those that are pending too.
    pub(crate) fn pass_damaged_to(&self, later: &Self) {
        let damaged = self.with(|earlier| earlier.damaged());
        later.with(|later| later.repair(&damaged));
    }

    /// Adds the links to versions of this plan to those of a later one, so that they are fetched with it.
    pub(crate) fn pass_links_to(&self, later: &Self) -> Result<(), Error> {
        later.with(|later| self.with(|earlier| later.take_over_links(earlier)))
    }

    /// Returns the entries that were read for the plan and could not be used within a scope.
    pub(crate) fn unusable_entries(&self, scope: String) -> UnusableEntries {
        let (count, first) =
            self.with(|draft| (draft.account.unusable, draft.problems.take_first_unusable()));
        let (uri, what) = first.unwrap_or_default();
        UnusableEntries { count, uri, what, scope }
    }

    /// Works on the plan on a thread that may block.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Draft) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let draft = Arc::clone(&self.draft);
        let work = move || work(&mut draft.lock().unwrap_or_else(PoisonError::into_inner));
        tokio::task::spawn_blocking(work).await?
    }

    /// Plans a Resource List, on a thread that may block. `stated` is its time according to the document above it;
    /// `was_applied` is `true` if it is the last applied inventory.
    pub(crate) async fn read_list(
        &mut self,
        document: &Document,
        stated: Option<DateTime>,
        was_applied: bool,
    ) -> Result<(), Error> {
        self.new_documents = true;
        let document = document.clone();
        self.work(move |draft| draft.read_list(&document, stated, was_applied)).await
    }

    /// Folds a Change List over the plan, on a thread that may block. `begins` is the beginning that the document
    /// above it states, `reported` the number of its entries without a usable `loc` that were reported before.
    pub(crate) async fn read_changes(
        &mut self,
        document: &Document,
        mark: Option<Mark>,
        since: Option<DateTime>,
        begins: Option<DateTime>,
        reported: u64,
    ) -> Result<Shape, Error> {
        let document = document.clone();
        self.work(move |draft| draft.read_changes(&document, mark.as_ref(), since, begins, reported)).await
    }
}

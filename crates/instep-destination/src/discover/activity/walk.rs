//! A walk over the pages of a collection of activities, from the last to the first. They are fetched by `activity.rs`.

use std::collections::BTreeSet;

use resourcesync::Uri;

use super::page::{Activity, CollectionPage};
use crate::{discover::Trouble, documents::DocumentError};

/// The most pages of a collection that are read.
pub(super) const MOST_PAGES: usize = 20_000;

/// The most activities of a collection that are read. They are in memory together, with about 200 bytes each.
const MOST_ACTIVITIES: u64 = 2_000_000;

/// The most bytes of the URIs of a collection, and of the messages about activities that cannot be used: an identifier may
/// fill a page.
const MOST_TEXT: usize = 512 << 20;

/// The part of a collection that was read.
#[derive(Debug, Default)]
pub(super) struct CollectionSize {
    pub(super) activities: u64,
    text: usize,
}

impl CollectionSize {
    pub(super) fn add(&mut self, page: &CollectionPage) {
        self.activities += page.items;
        let uris = page.activities.iter().map(|activity| activity.object.as_str().len());
        let before = page.before.iter().map(|before| before.as_str().len());
        self.text += uris.chain(before).chain(page.unusable.iter().map(String::len)).sum::<usize>();
    }

    pub(super) fn is_too_large(&self) -> bool {
        self.activities > MOST_ACTIVITIES || self.text > MOST_TEXT
    }
}

/// The pages of a collection that were read, and their faults.
#[derive(Debug)]
pub(super) struct CollectionWalk {
    /// The URI of the collection.
    uri: Uri,
    /// Its first page, if it names it.
    first: Option<Uri>,
    /// The number of activities that it states.
    stated: Option<u64>,
    /// The URIs of the pages.
    seen: BTreeSet<Uri>,
    /// The activities of each page, in the order of reading.
    pages: Vec<Vec<Activity>>,
    size: CollectionSize,
    pub(super) troubles: Vec<Trouble>,
    lacks_changes: bool,
    is_too_large: bool,
}

impl CollectionWalk {
    /// Begins at a collection, which is the first page to take.
    pub(super) fn begin(uri: &Uri, collection: &CollectionPage) -> Self {
        Self {
            uri: uri.clone(),
            first: collection.first.clone(),
            stated: collection.stated,
            seen: BTreeSet::from([uri.clone()]),
            pages: Vec::new(),
            size: CollectionSize::default(),
            troubles: Vec::new(),
            lacks_changes: false,
            is_too_large: false,
        }
    }

    /// Takes the page at a URI. Returns the URI of the page before it; `None` if the walk ends here.
    ///
    /// # Errors
    /// If the page does not name the one before it, because changes would be missed silently.
    pub(super) fn take(&mut self, at: &Uri, page: CollectionPage) -> Result<Option<Uri>, DocumentError> {
        if page.lacks_pages {
            let what = "it does not name the page with the activities before".to_owned();
            return Err(DocumentError::Activities { uri: at.as_str().to_owned(), what });
        }
        self.size.add(&page);
        let CollectionPage { activities, before, own, lacks_items, unusable, .. } = page;
        self.troubles.extend(unusable.into_iter().map(|what| Trouble::lost_entries(at, what)));
        if lacks_items {
            self.lacks_changes = true;
            self.troubles.push(Trouble::lost_entries(at, "the page has no orderedItems"));
        }
        self.pages.push(activities);
        if before.is_none() {
            self.end_at(at, own.as_ref());
        }
        Ok(before.and_then(|next| self.go_on_to(next)))
    }

    /// Returns the next page, unless the pages go in a circle or are too many.
    fn go_on_to(&mut self, next: Uri) -> Option<Uri> {
        let is_circle = !self.seen.insert(next.clone());
        self.lacks_changes |= is_circle;
        self.is_too_large = self.seen.len() > MOST_PAGES || self.size.is_too_large();
        if is_circle || self.is_too_large {
            self.troubles.push(Trouble::lost_entries(&next, "the pages go in a circle, or are too many"));
            return None;
        }
        Some(next)
    }

    /// Notes if the page that names none before it is not the first one. `own` is the URI that it states for itself.
    fn end_at(&mut self, at: &Uri, own: Option<&Uri>) {
        let first = self.first.take();
        let missed = first.filter(|first| *at != self.uri && first != at && own != Some(first));
        if let Some(first) = missed {
            self.lacks_changes = true;
            let what = format!("it names no page before it, and the first page is {first}");
            self.troubles.push(Trouble::lost_entries(at, what));
        }
    }

    /// Ends the walk, and notes if the pages have fewer activities than the collection states. Returns them in the order of
    /// time.
    pub(super) fn finish(&mut self) -> Vec<Activity> {
        let number = self.size.activities;
        if let Some(stated) = self.stated.filter(|stated| *stated > number) {
            self.lacks_changes = true;
            let what = format!("it states {stated} activities, and its pages have {number}");
            self.troubles.push(Trouble::lost_entries(&self.uri, what));
        }
        // The last page was read first, so the reverse is the order of time.
        std::mem::take(&mut self.pages).into_iter().rev().flatten().collect()
    }

    /// Returns `true` if changes are missing that a later reading may have. One of a collection that is too large would not
    /// have more.
    pub(super) fn lacks_changes(&self) -> bool {
        self.lacks_changes && !self.is_too_large
    }
}

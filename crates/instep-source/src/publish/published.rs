//! What is published, kept in the catalogue.

use std::mem;

use serde::Serialize;
use serde_json::from_slice;

use crate::{
    Error,
    catalogue::{Catalogue, Snapshot},
    render::{ArchivedDocuments, Before, PublishedSet, PublishedSource},
};

const PUBLISHED: &str = "published";
/// What was about to be put in place; it is there only while that happens, or when it was interrupted.
const PLACING: &str = "placing";
/// What the archives of a set keep; the name of the set follows.
const ARCHIVE: &str = "archive:";

/// What the catalogue knows; nothing of it is relied upon where it cannot be read.
pub(super) fn load(snapshot: &Snapshot) -> Result<Before, Error> {
    let published = |name| -> Result<Option<PublishedSource>, Error> {
        Ok(snapshot.meta(name)?.and_then(|bytes| from_slice(&bytes).ok()))
    };
    let mut before = Before { published: published(PUBLISHED)?.unwrap_or_default(), ..Before::default() };
    if let Some(placing) = published(PLACING)? {
        before.published = before.published.interrupted(placing);
        before.repair = true;
    }
    Ok(before)
}

/// What is published of one set.
pub(crate) fn published_set(snapshot: &Snapshot, set: &str) -> Result<PublishedSet, Error> {
    Ok(load(snapshot)?.published.sets.remove(set).unwrap_or_default())
}

/// What the archives of a set keep.
pub(super) fn archive(snapshot: &Snapshot, set: &str) -> Result<ArchivedDocuments, Error> {
    let bytes = snapshot.meta(&format!("{ARCHIVE}{set}"))?;
    Ok(bytes.and_then(|bytes| from_slice(&bytes).ok()).unwrap_or_default())
}

/// The names of all sets that are published.
pub(super) fn sets(snapshot: &Snapshot) -> Result<Vec<String>, Error> {
    Ok(load(snapshot)?.published.sets.into_keys().collect())
}

/// Notes what is about to be put in place.
pub(super) fn begin(catalogue: &Catalogue, next: &PublishedSource) -> Result<(), Error> {
    Ok(catalogue.set_meta(vec![(PLACING.to_owned(), Some(encoded(next)))])?)
}

/// Notes that it is in place; archives apart, and only those that have changed. The changes up to `needed` go.
pub(super) fn complete(catalogue: &Catalogue, mut next: PublishedSource, needed: u64) -> Result<(), Error> {
    let archives = mem::take(&mut next.archives).into_iter();
    let archives = archives.map(|(set, published)| (format!("{ARCHIVE}{set}"), Some(encoded(&published))));
    let own = [(PUBLISHED.to_owned(), Some(encoded(&next))), (PLACING.to_owned(), None)];
    if catalogue.set_meta_and_forget(archives.chain(own).collect(), needed)? {
        catalogue.forget_changes(needed)?;
    }
    Ok(())
}

fn encoded(published: &impl Serialize) -> Vec<u8> {
    // Maps with text as keys and plain values: nothing that JSON cannot hold.
    serde_json::to_vec(published).unwrap_or_default()
}

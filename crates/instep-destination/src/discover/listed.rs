//! Entries of a Source Description: the URIs of sets, and the names by which an operator chooses among them.

use std::collections::BTreeSet;

use resourcesync::Uri;

use super::{CapabilitySet, DiscoverError, Trouble};
use crate::documents::{Document, DocumentError};

/// Returns `true` if an operator's name denotes a set: its URI, or a part of its path with or without `.xml`.
pub(super) fn is_named(uri: &Uri, name: &str) -> bool {
    let part = |part: &str| part == name || part.strip_suffix(".xml") == Some(name);
    uri.as_str() == name || uri.as_str().split(['/', '?']).skip(3).any(part)
}

pub(super) fn locs(document: &Document, troubles: &mut Vec<Trouble>) -> Result<Vec<Uri>, DiscoverError> {
    locs_of(document, troubles).map_err(|source| DiscoverError::Invalid { uri: document.uri.clone(), source })
}

/// Returns the URIs that a document lists, each of them once: a set that is named twice is one (O804). Of an entry without a
/// usable one, the set is lost (O709).
pub(super) fn locs_of(document: &Document, troubles: &mut Vec<Trouble>) -> Result<Vec<Uri>, DocumentError> {
    let (mut locs, mut seen) = (Vec::new(), BTreeSet::new());
    let unusable = document.for_each_usable(|entry| {
        if seen.insert(entry.loc.clone()) {
            locs.push(entry.loc.clone());
        }
    })?;
    if unusable > 0 {
        let what = format!("entries without a usable loc, whose sets are lost: {unusable}");
        troubles.push(Trouble::lost_set(&document.uri, what));
    }
    Ok(locs)
}

/// Adds a set, unless it is there: two documents may name it (O933).
pub(super) fn add_new(sets: &mut Vec<CapabilitySet>, set: CapabilitySet) {
    if !sets.iter().any(|other| other.name() == set.name()) {
        sets.push(set);
    }
}

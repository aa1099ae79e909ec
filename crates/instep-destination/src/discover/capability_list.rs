//! A Capability List, read as the set of resources whose capabilities it lists (§9).

use std::{
    collections::btree_map,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use resourcesync::{Entry, Uri};

use super::{CapabilitySet, DiscoverError, Offer};
use crate::documents::Document;

/// The most entries of a set that are kept beside the first one of each capability.
const MOST_FURTHER: usize = 16;
/// The most capabilities and links that are kept of all sets together (B9).
const MOST_OFFERS: usize = 50_000;

/// The number of capabilities and links that one search has read.
#[derive(Debug, Default)]
pub(super) struct Kept(AtomicUsize);

/// Reads a Capability List (§9). If a capability is listed twice, the first entry counts (AMB-B34). An entry that states
/// none cannot be used: it may be that of a Change List (CAP-7, O953).
pub(super) fn read_set(
    asked_for: &Uri,
    document: &Document,
    kept: &Kept,
) -> Result<CapabilitySet, DiscoverError> {
    let mut set = CapabilitySet {
        capability_list: Some(document.uri.clone()),
        asked_for: Some(asked_for.clone()),
        links: document.header.links.clone(),
        ..CapabilitySet::default()
    };
    let (mut read, mut unnamed) = (set.links.len(), 0);
    let unusable = document
        .for_each_usable(|Entry { loc, metadata, links, .. }| {
            read += 1 + links.len();
            let Some(capability) = &metadata.capability else {
                unnamed += 1;
                return;
            };
            let offer = || Offer::new(loc.clone(), links.clone());
            match set.capabilities.entry(capability.clone()) {
                btree_map::Entry::Vacant(place) => drop(place.insert(offer())),
                // A channel may have several entries, each with its transport.
                btree_map::Entry::Occupied(first)
                    if (capability.is_channel() || first.get().uri != *loc)
                        && set.further.len() < MOST_FURTHER =>
                {
                    set.further.push((capability.clone(), offer()));
                }
                btree_map::Entry::Occupied(_) => {}
            }
        })
        .map_err(|source| DiscoverError::Invalid { uri: document.uri.clone(), source })?;
    set.unusable = unusable + unnamed;
    if kept.0.fetch_add(read, Relaxed) + read > MOST_OFFERS {
        return Err(DiscoverError::TooMuch { uri: document.uri.clone(), most: MOST_OFFERS });
    }
    Ok(set)
}

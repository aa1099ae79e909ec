//! The other places of URIs, such as a second manifest. If a resource is gone from one of its places only, it never went to
//! readers.

use std::collections::BTreeSet;

use super::options::ScanOptions;
use crate::{
    Error,
    catalogue::{Resource, Snapshot},
    content::{Holdings, NAMED, PathContent, look},
};

/// The places of URIs that are not gone too, while resources are gone one after the other.
pub(super) struct OtherPlaces<'s> {
    snapshot: &'s Snapshot,
    holdings: &'s Holdings,
    /// The digests of the keys that are gone and whose URIs have another place. The keys themselves could fill the memory.
    gone: BTreeSet<[u8; 32]>,
}

impl<'s> OtherPlaces<'s> {
    pub(super) fn new(snapshot: &'s Snapshot, holdings: &'s Holdings) -> Self {
        Self { snapshot, holdings, gone: BTreeSet::new() }
    }

    /// Returns the sets of a resource that is gone in which its URI is now that of another one; `None` if no other one has
    /// its URI. Of several that are gone, the last one has no other place: otherwise each would stay for the sake of the
    /// others.
    pub(super) fn sets_of(&mut self, held: &Resource) -> Result<Option<u64>, Error> {
        let mut sets = None;
        for key in self.holdings.keys_of(held.uri.as_str()).filter(|key| *key != held.key) {
            if self.gone.contains(&digest(&key)) {
                continue;
            }
            if let Some(other) = self.snapshot.resource(&key)?.filter(|other| other.uri == held.uri) {
                sets = Some(sets.unwrap_or_default() | (other.sets & held.sets));
            }
        }
        if sets.is_some() {
            self.gone.insert(digest(&held.key));
        }
        Ok(sets)
    }
}

fn digest(key: &[u8]) -> [u8; 32] {
    *blake3::hash(key).as_bytes()
}

/// Returns `true` for a resource that an application has named and that a line of a manifest or a file of a folder takes over
/// (O729), if that file could not be read: the resource stays until it can be (O886).
pub(super) fn waits_for_file(
    held: &Resource,
    elsewhere: Option<u64>,
    holdings: &Holdings,
    options: &ScanOptions,
) -> bool {
    if held.key.first() != Some(&NAMED) || elsewhere.is_some() {
        return false;
    }
    let Some((root, path)) = holdings.root_of_uri(held.uri.as_str()) else { return true };
    !matches!(look(root, &path, options.private_too), PathContent::Nothing | PathContent::Folder)
}

//! Bitstreams of Change Dumps that are differences, as the dialect of January 2013 packs them (A16).

use resourcesync::{Change, Entry, patch::PatchFormat};

/// Returns the format of the difference in the bitstream of an entry, in a manifest that may pack differences; `None`
/// if it is the resource itself. Its digest and length may be those of the difference or of the resource.
pub(crate) fn packed_difference(entry: &Entry) -> Option<PatchFormat> {
    let is_update = entry.metadata.change == Some(Change::Updated) && entry.metadata.path.is_some();
    entry.metadata.media_type.as_ref().filter(|_| is_update).and_then(PatchFormat::of)
}

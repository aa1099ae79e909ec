//! The stored form of values, the same in every engine.

use resourcesync::{Algorithm, Change, Digest, Digests, MediaType};

use super::Patch;

/// The media types of rows. A Source has few different ones, so its rows share them.
#[derive(Debug, Default)]
pub(super) struct SharedTypes(Vec<MediaType>);

/// The number of media types that are shared.
const MOST_SHARED: usize = 64;

impl SharedTypes {
    pub(super) fn of(&mut self, name: &str) -> MediaType {
        if let Some(position) = self.0.iter().position(|known| known.as_str() == name) {
            self.0.swap(0, position);
            return self.0[0].clone();
        }
        let media_type = MediaType::new(name);
        if self.0.len() < MOST_SHARED {
            self.0.push(media_type.clone());
        }
        media_type
    }
}

/// Returns a patch as it is stored.
pub(super) fn write_patch(patch: &Patch) -> String {
    serde_json::to_string(patch).unwrap_or_default()
}

/// Returns a change as it is stored.
pub(super) fn write_change(change: &Change) -> i64 {
    match change {
        Change::Created => 1,
        Change::Deleted => 3,
        _ => 2,
    }
}

/// Reads a change; `None` if the value is not one.
pub(super) fn read_change_kind(stored: i64) -> Option<Change> {
    match stored {
        1 => Some(Change::Created),
        2 => Some(Change::Updated),
        3 => Some(Change::Deleted),
        _ => None,
    }
}

/// Returns the stored form of digests: for each one a byte for its algorithm, then its bytes. A digest of an unknown
/// algorithm is stored as a 0 and its text.
pub(super) fn write_digests(digests: &Digests) -> Vec<u8> {
    let mut stored = Vec::with_capacity(40);
    let tag = |digest: &Digest| Algorithm::KNOWN.iter().position(|known| *known == digest.algorithm);
    let mut opaque = Digests::new();
    for digest in digests {
        match (tag(digest), digest.bytes()) {
            (Some(tag), Some(bytes)) => {
                stored.push(tag as u8 + 1);
                stored.extend_from_slice(bytes);
            }
            _ => opaque.insert(digest.clone()),
        }
    }
    if !opaque.is_empty() {
        stored.push(0);
        stored.extend_from_slice(opaque.to_string().as_bytes());
    }
    stored
}

/// Reads digests; `None` if they are damaged.
pub(super) fn read_digests(mut stored: &[u8]) -> Option<Digests> {
    let mut digests = Digests::new();
    while let Some((&tag, rest)) = stored.split_first() {
        if tag == 0 {
            let opaque = Digests::parse(std::str::from_utf8(rest).ok()?, |_| ());
            opaque.iter().for_each(|digest| digests.insert(digest.clone()));
            break;
        }
        let algorithm = Algorithm::KNOWN.get(usize::from(tag) - 1)?.clone();
        let (bytes, rest) = rest.split_at_checked(algorithm.digest_bytes()?)?;
        digests.insert(Digest::new(algorithm, bytes)?);
        stored = rest;
    }
    Some(digests)
}

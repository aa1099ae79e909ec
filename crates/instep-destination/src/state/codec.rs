//! The forms of values in the columns of every engine.

use resourcesync::{Algorithm, DateTime, Digest, Digests, Link};

use super::HeldAt;

/// Returns digests as a column: algorithm, length and bytes of each. Algorithms that cannot be computed here are not
/// kept.
pub(crate) fn digests_to_blob(digests: &Digests) -> Vec<u8> {
    // Enough room for the usual two digests, MD5 and SHA-256.
    let mut blob = Vec::with_capacity(2 + 16 + 2 + 32);
    for digest in digests.verifiable() {
        let place = Algorithm::KNOWN.iter().position(|known| *known == digest.algorithm);
        if let (Some(place), Some(bytes)) = (place, digest.bytes()) {
            blob.push(place as u8);
            blob.push(bytes.len() as u8);
            blob.extend_from_slice(bytes);
        }
    }
    blob
}

/// Reads the digests of a column; `None` if it is invalid. Without its digests a resource could not be verified.
pub(crate) fn digests_from_blob(mut blob: &[u8]) -> Option<Digests> {
    let mut digests = Digests::new();
    while let [place, length, rest @ ..] = blob {
        let (bytes, rest) = rest.split_at_checked(usize::from(*length))?;
        let algorithm = Algorithm::KNOWN.get(usize::from(*place))?.clone();
        digests.insert(Digest::new(algorithm, bytes)?);
        blob = rest;
    }
    blob.is_empty().then_some(digests)
}

/// Returns a time as a column.
pub(crate) fn datetime_text(datetime: Option<&DateTime>) -> Option<String> {
    datetime.map(ToString::to_string)
}

/// Returns links as a column; `None` if there are none.
pub(crate) fn links_text(links: &[Link]) -> Option<String> {
    (!links.is_empty()).then(|| Link::list_to_json(links))
}

/// Reads the place of bytes within an object from a column that the state composes: offset, length and key.
pub(super) fn place_from_text(text: &str) -> Option<HeldAt> {
    let mut parts = text.splitn(3, ' ');
    let mut number = || parts.next()?.parse().ok();
    let (offset, length) = (number()?, number()?);
    Some(HeldAt::Object { key: parts.next()?.into(), offset, length })
}

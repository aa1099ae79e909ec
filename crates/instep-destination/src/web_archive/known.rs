//! Payloads that the archive has, so that the same one is not written again.

use std::{
    collections::{BTreeMap, VecDeque, btree_map::Entry},
    sync::Arc,
};

use instep_warc::PayloadDigest;

/// A capture that has a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FirstCapture {
    pub(super) uri: Box<str>,
    /// Its date, as written in records. Records of one second share it.
    pub(super) date: Arc<str>,
}

/// The newest payloads. Older ones are forgotten, so that memory does not grow with the archive; they are written again
/// if they are received again.
#[derive(Debug, Default)]
pub(super) struct KnownPayloads {
    captures: BTreeMap<PayloadDigest, FirstCapture>,
    order: VecDeque<PayloadDigest>,
}

impl KnownPayloads {
    /// The most payloads that are remembered: about 10 MB.
    pub(super) const MOST: usize = 1 << 16;

    /// Returns the capture that has a payload.
    pub(super) fn get(&self, digest: &PayloadDigest) -> Option<&FirstCapture> {
        self.captures.get(digest)
    }

    pub(super) fn is_full(&self) -> bool {
        self.order.len() >= Self::MOST
    }

    /// Adds a capture, unless another one has its payload.
    pub(super) fn add(&mut self, digest: PayloadDigest, capture: FirstCapture) {
        let Entry::Vacant(place) = self.captures.entry(digest) else { return };
        place.insert(capture);
        self.order.push_back(digest);
        if self.order.len() > Self::MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.captures.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_payload_is_forgotten_first() {
        let mut known = KnownPayloads::default();
        let digest = |number: usize| PayloadDigest::of(&number.to_le_bytes());
        let capture = |number: usize| FirstCapture { uri: number.to_string().into(), date: "".into() };
        for number in 0..=KnownPayloads::MOST {
            known.add(digest(number), capture(number));
            known.add(digest(number), capture(0));
        }
        assert_eq!(known.get(&digest(0)), None);
        assert_eq!(known.get(&digest(1)), Some(&capture(1)));
        assert_eq!(known.order.len(), KnownPayloads::MOST);
    }
}

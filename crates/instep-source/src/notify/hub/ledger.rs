//! The ledger of the hub: the book, written down as it changes.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::{
    bodies::DeliveryBodies,
    book::{Book, DeliveryOutcome, Key},
    store::KeepBook,
    verifications::Verifications,
};
use crate::Error;

/// The book, and its data in memory and on disk.
#[derive(Debug)]
pub(super) struct HubLedger {
    pub(super) book: Book,
    store: Box<dyn KeepBook>,
    bodies: DeliveryBodies,
    pub(super) verifications: Verifications,
    /// Subscribers whose last delivery was slow.
    slow: BTreeSet<Key>,
    /// Subscriptions whose last delivery is not written yet.
    unwritten: BTreeSet<Key>,
}

impl HubLedger {
    /// Opens the ledger that a place keeps.
    pub(super) fn open(store: Box<dyn KeepBook>) -> Result<Self, Error> {
        Ok(Self {
            book: store.book()?,
            store,
            bodies: DeliveryBodies::default(),
            verifications: Verifications::default(),
            slow: BTreeSet::new(),
            unwritten: BTreeSet::new(),
        })
    }

    /// Stores a message for the subscribers of a topic.
    pub(super) fn publish(&mut self, topic: &str, document: &Bytes, now: i64) -> Result<(), Error> {
        let sequence = self.book.publish(topic, now);
        self.store.publish(topic, sequence, now, document, self.book.oldest())?;
        self.bodies.publish(sequence, document.clone());
        Ok(())
    }

    /// Returns the secret of a subscriber and the body of the delivery in flight to it.
    pub(super) fn delivery(&mut self, key: &Key) -> Option<(Option<String>, Bytes)> {
        let (body, count) = self.bodies.of(self.book.in_flight(key)?, &*self.store)?;
        self.book.carries(key, count);
        Some((self.book.get(key)?.secret.clone(), body))
    }

    /// Returns `true` if deliveries to a subscriber belong into the slow lane.
    pub(super) fn is_slow(&self, key: &Key) -> bool {
        self.slow.contains(key) || self.book.get(key).is_some_and(|it| it.failures > 0)
    }

    /// Records the result of a delivery. Returns `true` if the next one is in flight, `None` if the subscriber was
    /// given up.
    pub(super) fn settle(
        &mut self,
        key: &Key,
        outcome: DeliveryOutcome,
        was_slow: bool,
        now: i64,
    ) -> Option<bool> {
        let was_there = self.book.get(key).is_some();
        if was_slow && was_there && outcome == DeliveryOutcome::Taken {
            self.slow.insert(key.clone());
        } else {
            // A failed subscriber is marked as such in the book, and a removed one needs no mark.
            self.slow.remove(key);
        }
        let goes_on = self.book.delivered(key, outcome, now);
        self.unwritten.insert(key.clone());
        let given_up = was_there && outcome == DeliveryOutcome::Failed && self.book.get(key).is_none();
        (!given_up).then_some(goes_on)
    }

    /// Writes a subscription as it is in the book.
    pub(super) fn keep(&mut self, key: &Key) {
        self.unwritten.insert(key.clone());
        self.write();
    }

    /// Writes the subscriptions that changed. A loss here leads to a second delivery, which does no harm (W5).
    pub(super) fn write(&mut self) {
        let keys = std::mem::take(&mut self.unwritten);
        let kept: Vec<_> = keys.iter().map(|key| (key, self.book.get(key))).collect();
        if kept.is_empty() {
            return;
        }
        if let Err(error) = self.store.keep(&kept) {
            tracing::warn!(%error, "subscriptions could not be kept");
        }
    }
}

impl Drop for HubLedger {
    fn drop(&mut self) {
        self.write();
    }
}

//! The ledger of the hub: the book, written down as it changes.

use std::{collections::BTreeSet, time::Instant};

use bytes::Bytes;

use super::{
    bodies::DeliveryBodies,
    book::{Book, DeliveryOutcome, Key},
    clock::HubClock,
    request::LONGEST,
    store::KeepBook,
    verifications::Verifications,
};
use crate::Error;

/// The book, and its data in memory and on disk.
#[derive(Debug)]
pub(super) struct HubLedger {
    pub(super) book: Book,
    clock: HubClock,
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
            clock: HubClock::default(),
            store,
            bodies: DeliveryBodies::default(),
            verifications: Verifications::default(),
            slow: BTreeSet::new(),
            unwritten: BTreeSet::new(),
        })
    }

    /// Returns the time of the system, in microseconds since 1970, by which the times of the book count.
    pub(super) fn now(&mut self) -> i64 {
        self.at(HubClock::of_system(), Instant::now())
    }

    /// Returns a time of the system's clock at a moment. If the clock was set since the last one, the times of the book move with
    /// it: by the new time a lease would end early, or an attempt come late.
    fn at(&mut self, time: i64, moment: Instant) -> i64 {
        let step = self.clock.shows(time, moment);
        if step != 0 {
            // Leases of an earlier process may be right, and only the clock of this one was wrong at first.
            let longest = i64::try_from(LONGEST.as_micros()).unwrap_or(i64::MAX);
            self.unwritten.extend(self.book.shift(step, time.saturating_add(longest)));
            self.write();
        }
        time
    }

    /// Stores a message for the subscribers of a topic. If there is no room for it, it is delivered from memory.
    pub(super) fn publish(&mut self, topic: &str, document: &Bytes) {
        let now = self.now();
        let sequence = self.book.publish(topic, now);
        self.bodies.publish(sequence, document.clone());
        if let Err(error) = self.store.publish(topic, sequence, now, document, self.book.oldest()) {
            tracing::warn!(%error, topic, "a message could not be kept");
        }
    }

    /// Returns the secret of a subscriber and the body of the delivery in flight to it; `None` if its messages are no
    /// longer there, or the subscriber has gone.
    ///
    /// # Errors
    /// If the messages cannot be read now.
    pub(super) fn delivery(&mut self, key: &Key) -> Result<Option<(Option<String>, Bytes)>, Error> {
        let run = self.book.in_flight(key).unwrap_or_default();
        let Some((body, count)) = self.bodies.of(run, &*self.store)? else { return Ok(None) };
        self.book.carries(key, count);
        Ok(self.book.get(key).map(|subscription| (subscription.secret.clone(), body)))
    }

    /// Returns `true` if deliveries to a subscriber belong into the slow lane.
    pub(super) fn is_slow(&self, key: &Key) -> bool {
        self.slow.contains(key) || self.book.get(key).is_some_and(|it| it.failures > 0)
    }

    /// Records the result of a delivery. Returns `true` if the next one is in flight, `None` if the subscriber was
    /// given up.
    pub(super) fn settle(&mut self, key: &Key, outcome: DeliveryOutcome, was_slow: bool) -> Option<bool> {
        let now = self.now();
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
        if self.unwritten.is_empty() {
            return;
        }
        let written = {
            let kept: Vec<_> = self.unwritten.iter().map(|key| (key, self.book.get(key))).collect();
            self.store.keep(&kept)
        };
        match written {
            Ok(()) => self.unwritten.clear(),
            // They are written with the next ones: a confirmed subscription must not end with the program.
            Err(error) => tracing::warn!(%error, "subscriptions could not be kept"),
        }
    }
}

impl Drop for HubLedger {
    fn drop(&mut self) {
        self.write();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{
            Arc, Mutex,
            atomic::{AtomicBool, Ordering::Relaxed},
        },
        time::Duration,
    };

    use super::*;
    use crate::notify::hub::book::HubSubscription;

    /// A disk that may be full.
    #[derive(Debug, Default)]
    struct SmallDisk {
        is_full: Arc<AtomicBool>,
        kept: Arc<Mutex<Vec<Key>>>,
    }

    impl KeepBook for SmallDisk {
        fn book(&self) -> Result<Book, Error> {
            Ok(Book::default())
        }

        fn keep(&self, subscriptions: &[(&Key, Option<&HubSubscription>)]) -> Result<(), Error> {
            if self.is_full.load(Relaxed) {
                return Err(Error::write("hub.db")(io::ErrorKind::StorageFull.into()));
            }
            self.kept.lock().unwrap().extend(subscriptions.iter().map(|(key, _)| (*key).clone()));
            Ok(())
        }

        fn publish(&self, _: &str, _: u64, _: i64, _: &[u8], _: u64) -> Result<(), Error> {
            Ok(())
        }

        fn body(&self, _: u64) -> Result<Option<Bytes>, Error> {
            if self.is_full.load(Relaxed) {
                return Err(Error::read("hub.db")(io::Error::other("the disk fails")));
            }
            Ok(Some(Bytes::from_static(b"body")))
        }
    }

    #[test]
    fn o628_a_message_that_cannot_be_read_now_is_not_taken_for_a_lost_one() {
        let disk = SmallDisk::default();
        let is_full = Arc::clone(&disk.is_full);
        let mut ledger = HubLedger::open(Box::new(disk)).unwrap();
        let key = ("http://a/t".to_owned(), "http://b/c".to_owned());
        ledger.book.subscribe(key.clone(), None, i64::MAX);
        ledger.book.publish(&key.0, 1);
        assert_eq!(ledger.book.take_due(1), std::slice::from_ref(&key));
        is_full.store(true, Relaxed);
        assert!(ledger.delivery(&key).is_err());
        is_full.store(false, Relaxed);
        assert_eq!(ledger.delivery(&key).unwrap(), Some((None, Bytes::from_static(b"body"))));
    }

    #[test]
    fn o435_a_subscription_that_found_no_room_is_written_once_there_is_room() {
        let disk = SmallDisk::default();
        let (is_full, kept) = (Arc::clone(&disk.is_full), Arc::clone(&disk.kept));
        let mut ledger = HubLedger::open(Box::new(disk)).unwrap();
        let key = ("http://a/t".to_owned(), "http://b/c".to_owned());
        is_full.store(true, Relaxed);
        ledger.book.subscribe(key.clone(), None, i64::MAX);
        ledger.keep(&key);
        is_full.store(false, Relaxed);
        ledger.write();
        assert_eq!(*kept.lock().unwrap(), [key]);
    }

    #[test]
    fn o971_a_lease_of_the_hub_lasts_as_long_as_it_was_granted_for_although_the_clock_is_set() {
        const HOUR: i64 = 3_600_000_000;
        let disk = SmallDisk::default();
        let kept = Arc::clone(&disk.kept);
        let mut ledger = HubLedger::open(Box::new(disk)).unwrap();
        let key = ("http://a/t".to_owned(), "http://b/c".to_owned());
        let began = Instant::now();
        let passed = |minutes: u64| began + Duration::from_secs(60 * minutes);
        let now = ledger.at(1_000 * HOUR, began);
        ledger.book.subscribe(key.clone(), None, now + HOUR);
        // Set ahead by a day, then back by two.
        let now = ledger.at(1_024 * HOUR, passed(1));
        assert_eq!(ledger.book.expire(now), []);
        assert_eq!(*kept.lock().unwrap(), std::slice::from_ref(&key));
        let now = ledger.at(976 * HOUR, passed(2));
        assert_eq!(ledger.book.expire(now), []);
        assert_eq!(ledger.book.get(&key).unwrap().expires, 977 * HOUR - HOUR / 30);
        let now = ledger.at(977 * HOUR, passed(62));
        assert_eq!(ledger.book.expire(now), [key]);
    }

    #[test]
    fn o936_a_clock_that_had_no_time_at_first_makes_no_lease_endless() {
        const HOUR: i64 = 3_600_000_000;
        let now = 490_000 * HOUR;
        let mut ledger = HubLedger::open(Box::new(SmallDisk::default())).unwrap();
        let key = ("http://a/t".to_owned(), "http://b/c".to_owned());
        ledger.book.subscribe(key.clone(), None, now + HOUR);
        let began = Instant::now();
        ledger.at(0, began);
        ledger.at(now, began + Duration::from_secs(60));
        assert_eq!(ledger.book.get(&key).unwrap().expires, now + 30 * 24 * HOUR);
    }
}

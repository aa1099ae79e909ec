//! The book in a catalogue that several servers use: the publishing server delivers, and its successor continues with
//! the same subscribers and messages.

use std::path::Path;

use bytes::Bytes;

use super::{
    book::{Book, HubSubscription, Key},
    store::{HubStore, KeepBook},
};
use crate::{
    Error,
    catalogue::{Catalogue, HubRows, ReadSubscribers, SharedRows, SubscriberRow},
};

/// The book as rows of a catalogue.
#[derive(Debug)]
pub(super) struct SharedBook(Catalogue);

impl SharedBook {
    /// Takes the rows of a catalogue; `None` if one machine has it. Subscriptions that an earlier version kept in a file of
    /// this machine are taken over.
    ///
    /// # Errors
    /// If the catalogue or the file fails.
    pub(super) fn of(catalogue: &Catalogue, file: &Path) -> Result<Option<Self>, Error> {
        if catalogue.subscribers().is_none() {
            return Ok(None);
        }
        let shared = Self(catalogue.clone());
        if file.exists() {
            let kept = HubStore::open(file)?.subscriptions()?;
            let kept: Vec<_> = kept.into_iter().map(|(key, kept)| (key, Some(kept))).collect();
            shared.0.share(SharedRows::Hub(rows(kept.iter().map(|(key, kept)| (key, kept.as_ref())))))?;
            std::fs::rename(file, file.with_extension("db.moved")).map_err(Error::write(file))?;
        }
        Ok(Some(shared))
    }

    fn reader(&self) -> Result<&dyn ReadSubscribers, Error> {
        self.0.subscribers().ok_or(Error::PublisherFailed)
    }
}

impl KeepBook for SharedBook {
    fn book(&self) -> Result<Book, Error> {
        let reader = self.reader()?;
        let rows = reader.subscribers()?.into_iter();
        let subscriptions = rows.filter_map(|row| Some(((row.topic, row.callback), row.state?)));
        Ok(Book::restore(subscriptions, reader.messages()?))
    }

    fn keep(&self, subscriptions: &[(&Key, Option<&HubSubscription>)]) -> Result<(), Error> {
        // Not waited for: a delivery must not wait for the database, and a cursor that is lost only leads to a second delivery.
        Ok(self.0.begin_to_share(SharedRows::Hub(rows(subscriptions.iter().copied())))?)
    }

    fn publish(&self, topic: &str, sequence: u64, at: i64, body: &[u8], oldest: u64) -> Result<(), Error> {
        let (topic, body) = (topic.to_owned(), body.to_vec());
        Ok(self.0.share(SharedRows::Hub(HubRows::Message { topic, sequence, at, body, oldest }))?)
    }

    fn body(&self, sequence: u64) -> Result<Option<Bytes>, Error> {
        Ok(self.reader()?.body(sequence)?.map(Bytes::from))
    }
}

fn rows<'a>(kept: impl Iterator<Item = (&'a Key, Option<&'a HubSubscription>)>) -> HubRows {
    let row = |((topic, callback), kept): (&Key, Option<&HubSubscription>)| SubscriberRow {
        topic: topic.clone(),
        callback: callback.clone(),
        state: kept.cloned(),
    };
    HubRows::Subscribers(kept.map(row).collect())
}

#[cfg(test)]
mod tests {
    use instep_testkit::PostgresServer;

    use super::*;
    use crate::catalogue::{CatalogueLocation, system_clock};

    fn open(server: &PostgresServer, state: &Path) -> Catalogue {
        let place = CatalogueLocation::of(state, Some(&server.url()), &["http://x/"]).unwrap();
        place.open(state, system_clock()).unwrap()
    }

    fn key(callback: &str) -> Key {
        ("http://x/topic".to_owned(), format!("http://b/{callback}"))
    }

    #[test]
    fn a_successor_on_another_machine_goes_on_with_the_subscribers_and_messages() {
        let Some(server) = PostgresServer::start() else { return };
        let [here, there] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let catalogue = open(&server, here.path());
        let kept = SharedBook::of(&catalogue, &here.path().join("hub.db")).unwrap().unwrap();
        let mut book = kept.book().unwrap();
        // A callback may be longer than an index takes.
        let keys = [key("a"), key(&"long".repeat(2_000)), key("left")];
        for key in &keys {
            let subscription = book.subscribe(key.clone(), Some("secret".into()), 42).clone();
            kept.keep(&[(key, Some(&subscription))]).unwrap();
        }
        kept.keep(&[(&keys[2], None)]).unwrap();
        for body in ["one", "two"] {
            let sequence = book.publish(&keys[0].0, 7);
            kept.publish(&keys[0].0, sequence, 7, body.as_bytes(), book.oldest()).unwrap();
        }
        drop((kept, catalogue));
        let catalogue = open(&server, there.path());
        let kept = SharedBook::of(&catalogue, &there.path().join("hub.db")).unwrap().unwrap();
        let mut book = kept.book().unwrap();
        assert_eq!(book.get(&keys[2]), None);
        let subscription = book.get(&keys[0]).unwrap();
        assert_eq!(
            (subscription.secret.as_deref(), subscription.expires, subscription.cursor),
            (Some("secret"), 42, 0)
        );
        assert_eq!(book.take_due(7), [keys[0].clone(), keys[1].clone()]);
        assert_eq!(kept.body(2).unwrap().as_deref(), Some(&b"two"[..]));
        // A message that every subscriber has is dropped with the next one.
        kept.publish(&keys[0].0, 3, 8, b"three", 3).unwrap();
        assert_eq!((kept.body(2).unwrap(), kept.reader().unwrap().messages().unwrap().len()), (None, 1));
    }

    #[test]
    fn subscriptions_that_a_file_of_this_machine_has_are_taken_over_once() {
        let Some(server) = PostgresServer::start() else { return };
        let here = tempfile::tempdir().unwrap();
        let file = here.path().join("hub.db");
        let (mut book, key) = (Book::default(), key("a"));
        let subscription = book.subscribe(key.clone(), None, 42).clone();
        HubStore::open(&file).unwrap().keep(&[(&key, Some(&subscription))]).unwrap();
        let catalogue = open(&server, here.path());
        for _ in 0..2 {
            let kept = SharedBook::of(&catalogue, &file).unwrap().unwrap();
            assert_eq!(kept.book().unwrap().get(&key), Some(&subscription));
            assert!(!file.exists());
        }
    }

    #[test]
    fn requests_wait_in_their_order_and_not_too_many_of_them() {
        let Some(server) = PostgresServer::start() else { return };
        let [here, there] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let catalogue = open(&server, here.path());
        let place = CatalogueLocation::of(there.path(), Some(&server.url()), &["http://x/"]).unwrap();
        let beside = place.beside().unwrap().unwrap();
        let left = beside.subscribers().unwrap();
        for number in 0..1_000 {
            assert!(left.leave_request(format!("{number}").as_bytes()).unwrap());
        }
        assert!(!left.leave_request(b"one too many").unwrap());
        let rows = catalogue.subscribers().unwrap();
        let first = rows.requests().unwrap();
        assert!(
            first.iter().map(|(_, form)| form.clone()).eq((0..64).map(|it| format!("{it}").into_bytes()))
        );
        let done = first[..10].iter().map(|(number, _)| *number).collect();
        catalogue.share(SharedRows::Hub(HubRows::RequestsDone(done))).unwrap();
        assert_eq!(rows.requests().unwrap()[0].1, b"10");
        assert!(left.leave_request(b"there is room").unwrap());
    }

    #[test]
    fn o813_a_request_that_came_while_later_ones_were_carried_out_still_waits() {
        let Some(server) = PostgresServer::start() else { return };
        let here = tempfile::tempdir().unwrap();
        let catalogue = open(&server, here.path());
        let rows = catalogue.subscribers().unwrap();
        for form in [b"a", b"b", b"c"] {
            assert!(rows.leave_request(form).unwrap());
        }
        // As if the first one was written after the others, with the number that it had got before.
        let done = rows.requests().unwrap()[1..].iter().map(|(number, _)| *number).collect();
        catalogue.share(SharedRows::Hub(HubRows::RequestsDone(done))).unwrap();
        let waiting: Vec<_> = rows.requests().unwrap().into_iter().map(|(_, form)| form).collect();
        assert_eq!(waiting, [b"a"]);
    }
}

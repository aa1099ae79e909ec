//! Folding against a replay of the same changes, one after the other.

use std::collections::BTreeMap;

use proptest::prelude::*;
use resourcesync::{DateTime, Uri};

use super::*;
use crate::plan::Place;

#[derive(Clone, Debug)]
struct Event {
    uri: u8,
    deleted: bool,
}

fn event() -> impl Strategy<Value = Event> {
    (0u8..4, any::<bool>()).prop_map(|(uri, deleted)| Event { uri, deleted })
}

fn desired(event: &Event, place: Place) -> Desired {
    let mut desired = Desired::new(Uri::parse(&format!("http://example.com/{}", event.uri)).unwrap());
    desired.presence = presence(event);
    (desired.metadata.datetime, desired.ordinal) = (place.time, place.ordinal);
    desired
}

fn presence(event: &Event) -> DesiredPresence {
    if event.deleted { DesiredPresence::Absent } else { DesiredPresence::Present }
}

/// Returns the presence of each URI after all events, applied one by one.
fn replayed(events: &[Event]) -> BTreeMap<String, DesiredPresence> {
    events.iter().map(|event| (format!("http://example.com/{}", event.uri), presence(event))).collect()
}

fn folded<'a>(events: impl Iterator<Item = (Place, &'a Event)>) -> (BTreeMap<String, DesiredPresence>, u64) {
    let mut changes: Vec<Desired> = events.map(|(place, event)| desired(event, place)).collect();
    let superseded = fold(&mut changes);
    (changes.into_iter().map(|one| (one.uri.into_string(), one.presence)).collect(), superseded)
}

proptest! {
    #[test]
    fn folding_is_replaying(events in prop::collection::vec(event(), 0..40), timed in any::<bool>()) {
        let place = |index: usize| Place {
            time: timed.then(|| DateTime::from_unix_seconds(index as i64 / 3)),
            ordinal: index as u64,
        };
        let (left, superseded) = folded(events.iter().enumerate().map(|(index, event)| (place(index), event)));
        prop_assert_eq!(left.len() as u64 + superseded, events.len() as u64);
        prop_assert_eq!(left, replayed(&events));
    }

    #[test]
    fn times_decide_whatever_order_they_are_read_in(
        events in prop::collection::vec(event(), 0..40).prop_flat_map(|events| {
            let order: Vec<usize> = (0..events.len()).collect();
            (Just(events), Just(order).prop_shuffle())
        })
    ) {
        let (events, order) = events;
        let read = order.iter().enumerate().map(|(ordinal, &index)| {
            let time = Some(DateTime::from_unix_seconds(index as i64));
            (Place { time, ordinal: ordinal as u64 }, &events[index])
        });
        prop_assert_eq!(folded(read).0, replayed(&events));
    }

    #[test]
    fn reading_an_overlap_twice_changes_nothing(events in prop::collection::vec(event(), 1..40), from in 0usize..40) {
        let from = from.min(events.len());
        let again = events.iter().enumerate().chain(events.iter().enumerate().skip(from));
        let read = again.enumerate().map(|(ordinal, (index, event))| {
            (Place { time: Some(DateTime::from_unix_seconds(index as i64)), ordinal: ordinal as u64 }, event)
        });
        prop_assert_eq!(folded(read).0, replayed(&events));
    }
}

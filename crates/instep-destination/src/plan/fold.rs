use resourcesync::{Change, DateTime};

/// What an entry asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The resource in its newest state.
    Fetch,
    /// That the resource is gone.
    Delete,
    /// The entry does not say: ask; what is not there is deleted (AMB-B14).
    Ask,
}

/// What a change asks for (ATT-8); an entry of a Resource List has none.
pub fn wanted(change: Option<&Change>) -> Wanted {
    match change {
        None | Some(Change::Created | Change::Updated) => Wanted::Fetch,
        Some(Change::Deleted) => Wanted::Delete,
        Some(_) => Wanted::Ask,
    }
}

/// Where an entry stands among all that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its time, its own or that of the nearest earlier entry (AMB-B16).
    pub time: Option<DateTime>,
    /// How many entries were read before it.
    pub ordinal: u64,
}

/// Whether an entry decides over an earlier read one about the same URI (DST-6): the later change does, and among
/// changes of one time, or without times, the one that was read later.
///
/// A resource that is created and deleted within a window is thereby a deletion of something that is not held, which
/// is nothing; one that is deleted and created is created (AMB-B20).
pub fn supersedes(new: Place, old: Place) -> bool {
    match (new.time, old.time) {
        (Some(new_time), Some(old_time)) if new_time.instant() != old_time.instant() => {
            new_time.instant() > old_time.instant()
        }
        _ => new.ordinal >= old.ordinal,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    struct Event {
        uri: u8,
        deleted: bool,
    }

    fn event() -> impl Strategy<Value = Event> {
        (0u8..4, any::<bool>()).prop_map(|(uri, deleted)| Event { uri, deleted })
    }

    /// What each URI is after all events, one after the other.
    fn replayed(events: &[Event]) -> BTreeMap<u8, Wanted> {
        events.iter().map(|event| (event.uri, asks(event))).collect()
    }

    fn asks(event: &Event) -> Wanted {
        wanted(Some(if event.deleted { &Change::Deleted } else { &Change::Updated }))
    }

    fn folded<'a>(events: impl Iterator<Item = (Place, &'a Event)>) -> BTreeMap<u8, Wanted> {
        let mut plan: BTreeMap<u8, (Place, Wanted)> = BTreeMap::new();
        for (place, event) in events {
            match plan.get(&event.uri) {
                Some((held, _)) if !supersedes(place, *held) => {}
                _ => {
                    plan.insert(event.uri, (place, asks(event)));
                }
            }
        }
        plan.into_iter().map(|(uri, (_, wanted))| (uri, wanted)).collect()
    }

    proptest! {
        #[test]
        fn folding_is_replaying(events in prop::collection::vec(event(), 0..40), timed in any::<bool>()) {
            let place = |index: usize| Place {
                time: timed.then(|| DateTime::from_unix_seconds(index as i64 / 3)),
                ordinal: index as u64,
            };
            let folded = folded(events.iter().enumerate().map(|(index, event)| (place(index), event)));
            prop_assert_eq!(folded, replayed(&events));
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
            prop_assert_eq!(folded(read), replayed(&events));
        }

        #[test]
        fn reading_an_overlap_twice_changes_nothing(events in prop::collection::vec(event(), 1..40), from in 0usize..40) {
            let from = from.min(events.len());
            let again = events.iter().enumerate().chain(events.iter().enumerate().skip(from));
            let read = again.enumerate().map(|(ordinal, (index, event))| {
                (Place { time: Some(DateTime::from_unix_seconds(index as i64)), ordinal: ordinal as u64 }, event)
            });
            prop_assert_eq!(folded(read), replayed(&events));
        }
    }

    #[test]
    fn an_unknown_change_is_asked_for() {
        assert_eq!(wanted(Some(&Change::parse("moved"))), Wanted::Ask);
        assert_eq!(wanted(None), Wanted::Fetch);
    }
}

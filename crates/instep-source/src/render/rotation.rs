//! The intervals of the change log that Change Lists hold, and when one list closes and the next opens.
//!
//! `changelist.xml` is an index from the first publication on, unless the operator wants one plain list. A list keeps
//! its name when it closes (gets `until`). An empty open list never closes, and a list closes by age only together
//! with the next change, so nothing is rewritten if nothing changed. `until` of one list is `from` of the next.

use resourcesync::{DateTime, Entry};

use super::SetPolicy;
use crate::{
    Rotation,
    records::{Moment, Span},
};

impl Span {
    /// Creates an empty open list.
    pub(crate) fn open(number: u64, from: DateTime, after: u64) -> Self {
        Self { number, from: Moment(from), until: None, after, first: None, entries: 0, bytes: 0 }
    }

    /// Returns the name of its document.
    pub(super) fn document(&self) -> String {
        format!("changelist-{:06}.xml", self.number)
    }

    /// Returns its entry in the index or in the archive (CLI-8).
    pub(super) fn member(&self, set: &SetPolicy) -> Entry {
        let mut entry = Entry::new(set.place.uri(&self.document()));
        entry.metadata.from = Some(self.from.0);
        entry.metadata.until = self.until.map(|until| until.0);
        entry
    }

    /// Returns `true` if the next change closes the list; an empty list never closes.
    fn is_full(&self, (rotation, most_bytes): ListBounds, next: &LoggedChange) -> bool {
        self.first.is_some_and(|first| {
            self.entries >= rotation.entries
                || self.bytes + next.bytes > most_bytes
                || first.is_older_than(rotation.age, next.datetime)
        })
    }

    fn add(&mut self, change: &LoggedChange) {
        self.first.get_or_insert(Moment(change.datetime));
        self.entries += 1;
        self.bytes += change.bytes;
    }
}

/// The bounds of one list: the rule of the operator, and the bytes of its entries.
pub(super) type ListBounds = (Rotation, u64);

/// A change as an entry of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoggedChange {
    pub(super) sequence: u64,
    pub(super) datetime: DateTime,
    /// The bytes of its entry.
    pub(super) bytes: u64,
}

/// Adds changes to the open list; returns the lists that close on the way and the final open one.
///
/// A list closes one microsecond before the next change, which is not before its own last one, and the next list
/// starts there: together they cover every instant, and each change is in exactly one list.
pub(super) fn rotate<E>(
    mut open: Span,
    through: u64,
    changes: impl Iterator<Item = Result<LoggedChange, E>>,
    bounds: ListBounds,
) -> Result<(Vec<Span>, Span), E> {
    let (mut closed, mut last) = (Vec::new(), through);
    for change in changes {
        let change = change?;
        if open.is_full(bounds, &change) {
            let until = DateTime::from_unix_micros(change.datetime.unix_micros() - 1);
            let next = Span::open(open.number + 1, until, last);
            closed.push(Span { until: Some(Moment(until)), ..std::mem::replace(&mut open, next) });
        }
        open.add(&change);
        last = change.sequence;
    }
    Ok((closed, open))
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, time::Duration};

    use proptest::prelude::{ProptestConfig, any, prop, prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn at(micros: i64) -> DateTime {
        DateTime::from_unix_micros(micros)
    }

    fn rotated(open: Span, through: u64, changes: &[LoggedChange], bounds: ListBounds) -> (Vec<Span>, Span) {
        rotate(open, through, changes.iter().copied().map(Ok::<_, Infallible>), bounds).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn lists_join_exactly_and_each_change_stands_in_one(
            gaps in prop::collection::vec((1u64..3, 1i64..50, 1u64..40), 0..200),
            entries in 1u64..20,
            age in 1u64..400,
            most_bytes in 1u64..400,
            cut in any::<prop::sample::Index>(),
        ) {
            let bounds = (Rotation { entries, age: Duration::from_micros(age) }, most_bytes);
            let (mut sequence, mut micros) = (7, 1_000);
            let changes: Vec<_> = gaps.iter().map(|(steps, gap, bytes)| {
                sequence += steps;
                micros += gap;
                LoggedChange { sequence, datetime: at(micros), bytes: *bytes }
            }).collect();
            let start = Span::open(1, at(1_000), 7);
            let (closed, open) = rotated(start.clone(), 7, &changes, bounds);

            let mut from = Moment(at(1_000));
            let mut rest = &changes[..];
            for (index, span) in closed.iter().chain([&open]).enumerate() {
                prop_assert_eq!(span.number, index as u64 + 1);
                prop_assert_eq!(span.from, from);
                let (own, later) = rest.split_at(usize::try_from(span.entries).unwrap());
                for change in own {
                    prop_assert!(change.sequence > span.after);
                    prop_assert!(Moment(change.datetime) >= span.from);
                    prop_assert!(span.until.is_none_or(|until| Moment(change.datetime) <= until));
                }
                let bytes = own.iter().map(|change| change.bytes).sum::<u64>();
                prop_assert!(span.bytes == bytes && (bytes <= most_bytes || own.len() == 1));
                if let Some(until) = span.until {
                    prop_assert!(!own.is_empty() && later.iter().all(|next| Moment(next.datetime) > until));
                    from = until;
                }
                rest = later;
            }
            prop_assert!(rest.is_empty() && open.until.is_none());

            // Published in two steps, the lists are the same.
            let (before, after) = changes.split_at(if changes.is_empty() { 0 } else { cut.index(changes.len()) });
            let (mut early, halfway) = rotated(start, 7, before, bounds);
            let through = before.last().map_or(7, |change| change.sequence);
            let (late, end) = rotated(halfway, through, after, bounds);
            early.extend(late);
            prop_assert_eq!((early, end), (closed, open));
        }
    }
}

//! The position of a Change Notification relative to the checkpoint: applied already, next, or after a gap.

use resourcesync::{Capability, DateTime, Entry, Form, Header, Uri};

/// The position of a Change Notification relative to the copy's checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// All its changes were applied already: it was repeated, or is late.
    Known,
    /// It has every change between the checkpoint and this time, so it is applied and moves the checkpoint there.
    Continues {
        /// Its `until`.
        until: DateTime,
    },
    /// It has changes with times, but states no interval that could be theirs, or there is a gap before it: the Change
    /// List must be read. Changes that the list lacks are applied too, but do not move the checkpoint.
    Apart,
    /// It has changes without times or with times in the future, or is about something else: the Change List must be read.
    Unclear,
}

/// Returns the relation of a notification about a set to the set's checkpoint. One that ends after `latest` comes
/// from a clock that is ahead, and has no effect. It counts as complete only if its root states its interval, and its
/// entries agree with that; those of the draft 0.8 state none (N8-5).
pub(crate) fn standing(
    header: &Header,
    entries: &[Entry],
    capability_list: &Uri,
    checkpoint: Option<&DateTime>,
    latest: &DateTime,
) -> Standing {
    let root = header.metadata.as_ref();
    let times = root.and_then(|root| root.from.zip(root.until));
    let is_about_changes = header.capability() == Some(&Capability::ChangeNotification);
    let is_about_set = header.up().is_none_or(|up| up == capability_list);
    let has_come = |time: &DateTime| time.instant() <= latest.instant();
    let all = |is: &dyn Fn(&DateTime) -> bool| {
        entries.iter().all(|entry| entry.metadata.datetime.as_ref().is_some_and(is))
    };
    let Some(checkpoint) = checkpoint else { return Standing::Unclear };
    if header.form != Form::List || !is_about_changes || !is_about_set || !all(&has_come) {
        return Standing::Unclear;
    }
    let Some((from, until)) = times else { return Standing::Apart };
    let inside = |time: &DateTime| from.instant() <= time.instant() && time.instant() <= until.instant();
    if !has_come(&until) || !all(&inside) {
        return Standing::Apart;
    }
    // A hub may repeat a message or deliver it late. Its changes must not be applied over newer ones (W5).
    if until.instant() <= checkpoint.instant() {
        return Standing::Known;
    }
    // A coarse time may hide a change between it and the checkpoint.
    let joins = from.instant() <= checkpoint.instant() && from.end() <= checkpoint.end();
    if joins { Standing::Continues { until } } else { Standing::Apart }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use resourcesync::{Change, Metadata};

    use super::*;

    fn list() -> Uri {
        Uri::parse("http://a/caps.xml").unwrap()
    }

    fn second(second: i64) -> DateTime {
        DateTime::from_unix_micros(second * 1_000_000)
    }

    fn notification(
        from: Option<DateTime>,
        until: Option<DateTime>,
        changes: &[i64],
    ) -> (Header, Vec<Entry>) {
        let mut header = Header::new(Form::List, Capability::ChangeNotification);
        let mut metadata = Metadata::with_capability(Capability::ChangeNotification);
        (metadata.from, metadata.until) = (from, until);
        header.metadata = Some(metadata);
        let uri = Uri::parse("http://a/r").unwrap();
        let entry = |time: &i64| Entry::changed(uri.clone(), Change::Updated, second(*time));
        (header, changes.iter().map(entry).collect())
    }

    fn judged(from: i64, until: i64, changes: &[i64], checkpoint: i64) -> Standing {
        let (header, entries) = notification(Some(second(from)), Some(second(until)), changes);
        standing(&header, &entries, &list(), Some(&second(checkpoint)), &second(1_000))
    }

    #[test]
    fn a_notification_continues_what_is_held_only_where_its_root_says_so() {
        assert_eq!(judged(5, 9, &[7, 9], 5), Standing::Continues { until: second(9) });
        assert_eq!(judged(5, 9, &[7, 9], 8), Standing::Continues { until: second(9) });
        assert_eq!(judged(5, 9, &[7, 9], 4), Standing::Apart, "a gap");
        assert_eq!(judged(5, 9, &[7, 9], 9), Standing::Known, "a duplicate");
        assert_eq!(judged(5, 9, &[7, 10], 5), Standing::Apart, "a change outside");
        for (from, until) in [(None, Some(second(9))), (Some(second(5)), None), (None, None)] {
            let (header, entries) = notification(from, until, &[7]);
            assert_eq!(
                standing(&header, &entries, &list(), Some(&second(5)), &second(1_000)),
                Standing::Apart
            );
        }
    }

    #[test]
    fn a_notification_of_another_kind_or_set_or_without_a_checkpoint_is_unclear() {
        let (header, entries) = notification(Some(second(5)), Some(second(9)), &[7]);
        assert_eq!(standing(&header, &entries, &list(), None, &second(1_000)), Standing::Unclear);
        let mut foreign = header.clone();
        let up =
            resourcesync::Link::new(resourcesync::Relation::Up, Uri::parse("http://b/caps.xml").unwrap());
        foreign.links.push(up);
        assert_eq!(
            standing(&foreign, &entries, &list(), Some(&second(5)), &second(1_000)),
            Standing::Unclear
        );
        let mut other = header;
        other.metadata = Some(Metadata::with_capability(Capability::ChangeList));
        assert_eq!(standing(&other, &entries, &list(), Some(&second(5)), &second(1_000)), Standing::Unclear);
    }

    #[test]
    fn b4_an_end_far_ahead_moves_nothing() {
        assert_eq!(judged(5, 9_999, &[7], 5), Standing::Apart);
        assert_eq!(judged(5, 9_999, &[9_999], 5), Standing::Unclear);
    }

    #[test]
    fn a_coarse_time_hides_changes() {
        let day = DateTime::parse("1970-01-01").unwrap();
        let (header, entries) = notification(Some(day), Some(second(9)), &[7]);
        assert_eq!(standing(&header, &entries, &list(), Some(&second(5)), &second(1_000)), Standing::Apart);
    }

    proptest! {
        /// Notifications that are lost, repeated or reordered never move the checkpoint past a change that was not
        /// received (W5).
        #[test]
        fn w5_no_change_is_passed_over(order in prop::collection::vec(0usize..20, 0..60)) {
            let mut checkpoint = 0;
            let mut announced = std::collections::BTreeSet::new();
            for number in order {
                let (from, until) = (number as i64 * 10, number as i64 * 10 + 10);
                if let Standing::Continues { until } = judged(from, until, &[from + 5, until], checkpoint) {
                    announced.extend([from + 5, from + 10]);
                    checkpoint = until.unix_micros() / 1_000_000;
                }
                let passed = (1..=checkpoint / 5).map(|step| step * 5);
                prop_assert!(passed.into_iter().all(|change| announced.contains(&change)));
            }
        }
    }
}

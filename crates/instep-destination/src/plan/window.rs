//! The intervals of lists: which members to read, and if changes reach back to the checkpoint.

use resourcesync::{DateTime, Entry, Uri};

use crate::state::PassedEntry;

/// A list as its index or archive names it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct IndexMember {
    /// Its URI.
    pub uri: Uri,
    /// The start of its interval.
    pub from: Option<DateTime>,
    /// The end of its interval; with it the list is closed.
    pub until: Option<DateTime>,
    /// The start of its snapshot.
    pub at: Option<DateTime>,
}

impl IndexMember {
    /// A list of which only the URI is known.
    pub(crate) fn new(uri: Uri) -> Self {
        Self { uri, from: None, until: None, at: None }
    }

    /// Returns `true` if it is the entry that was read last.
    pub(crate) fn is(&self, last: &PassedEntry) -> bool {
        self.uri == last.uri && self.until == last.datetime
    }

    /// Returns `true` if it ends before it begins: the clock of the Source went back while it was open.
    pub(crate) fn went_back(&self) -> bool {
        self.from.zip(self.until).is_some_and(|(from, until)| until.end() <= from.instant())
    }
}

impl From<&Entry> for IndexMember {
    fn from(entry: &Entry) -> Self {
        let md = &entry.metadata;
        Self { uri: entry.loc.clone(), from: md.from, until: md.until, at: md.at }
    }
}

/// The reach of the Change Lists relative to the checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Every change since the checkpoint is listed: no inventory is needed.
    Covered,
    /// They start later: changes in between are lost (DST-8).
    Gap {
        /// The time at which they start.
        earliest: DateTime,
    },
    /// They do not state their beginning, or the clock of the Source went back meanwhile.
    Unknown,
}

/// Returns the reach of lists that start at `earliest`; both ends are inclusive (AMB-B40).
pub(crate) fn reach(checkpoint: &DateTime, earliest: Option<&DateTime>) -> Reach {
    match earliest {
        None => Reach::Unknown,
        Some(earliest) if earliest.instant() < checkpoint.end() => Reach::Covered,
        Some(earliest) => Reach::Gap { earliest: *earliest },
    }
}

/// The members that may list a change since the checkpoint, in document order (CLI-12), and `true` if they reach back
/// to it without a gap between neighbours (TIME-13).
///
/// A list is complete from its beginning on (TIME-5): one without an end is not read if a later one begins before the
/// checkpoint. Its entries without a time could not be distinguished from new ones (O3).
///
/// A list that ends before it begins is over once its beginning is: until then, the times in it and in those after it do
/// not tell what is new (O45).
pub(crate) fn members_to_read<'a>(
    checkpoint: &DateTime,
    members: &'a [IndexMember],
) -> (Vec<&'a IndexMember>, Reach) {
    let is_over = |time: DateTime| time.end() <= checkpoint.instant();
    // The last member that begins before the checkpoint.
    let forward = members.iter().enumerate().filter(|(_, member)| !member.went_back());
    let begun = forward.filter_map(|(place, member)| Some((place, member.from?)));
    let last = begun.filter(|(_, from)| is_over(*from)).max_by_key(|(_, from)| from.instant());
    let is_followed = |(place, member): (usize, &IndexMember)| match (member.from, last) {
        (Some(from), Some((_, last))) => from.end() <= last.instant(),
        (None, Some((last, _))) => place < last,
        (_, None) => false,
    };
    let ends_before = |(place, member): (usize, &IndexMember)| match member.until {
        Some(_) if member.went_back() => member.from.is_some_and(is_over),
        Some(until) => is_over(until),
        None => is_followed((place, member)),
    };
    let wanted = members.iter().enumerate().filter(|member| !ends_before(*member));
    let wanted: Vec<&IndexMember> = wanted.map(|(_, member)| member).collect();
    let Some(first) = wanted.first() else {
        // Every list ended before the checkpoint: nothing is listed since then.
        return (wanted, Reach::Covered);
    };
    let start = reach(checkpoint, first.from.as_ref());
    let hole = wanted.windows(2).find_map(|pair| {
        let (until, from) = (pair[0].until?, pair[1].from?);
        (until.end() <= from.instant()).then_some(Reach::Gap { earliest: from })
    });
    match hole.unwrap_or(start) {
        Reach::Covered if wanted.iter().any(|member| member.went_back()) => (wanted, Reach::Unknown),
        reach => (wanted, reach),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn time(second: i64) -> DateTime {
        DateTime::from_unix_seconds(second)
    }

    fn member(name: &str, from: i64, until: Option<i64>) -> IndexMember {
        let uri = Uri::parse(&format!("http://example.com/{name}")).unwrap();
        IndexMember { uri, from: Some(time(from)), until: until.map(time), at: None }
    }

    #[test]
    fn members_are_read_in_document_order_from_the_one_that_holds_the_checkpoint() {
        let members = [member("z", 0, Some(10)), member("m", 10, Some(20)), member("a", 20, None)];
        let (wanted, reach) = members_to_read(&time(12), &members);
        let names: Vec<_> = wanted.iter().map(|member| member.uri.as_str()).collect();
        assert_eq!((names, reach), (vec!["http://example.com/m", "http://example.com/a"], Reach::Covered));
    }

    #[test]
    fn o3_a_member_without_an_end_is_not_read_if_a_later_one_begins_before_the_checkpoint() {
        let members = [member("1", 0, None), member("2", 10, None), member("3", 20, None)];
        let read = |checkpoint: i64| -> Vec<usize> {
            let (wanted, reach) = members_to_read(&time(checkpoint), &members);
            assert_eq!(reach, Reach::Covered);
            wanted.iter().map(|wanted| members.iter().position(|one| one == *wanted).unwrap()).collect()
        };
        assert_eq!(read(5), [0, 1, 2]);
        assert_eq!(read(10), [0, 1, 2], "the second may begin within the second of the checkpoint");
        assert_eq!(read(15), [1, 2]);
        assert_eq!(read(25), [2]);
        let [mut first, second, third] = members;
        first.from = None;
        assert_eq!(members_to_read(&time(15), &[first, second, third]).0.len(), 2, "their order tells");
        let alike = [member("one", 0, None), member("other", 0, None)];
        assert_eq!(members_to_read(&time(5), &alike).0.len(), 2, "neither is the later one");
    }

    #[test]
    fn a_seam_is_read_from_both_sides() {
        let members = [member("1", 0, Some(10)), member("2", 10, None)];
        assert_eq!(members_to_read(&time(10), &members).0.len(), 2);
    }

    #[test]
    fn lists_that_start_later_leave_a_gap() {
        let members = [member("2", 10, Some(20)), member("3", 20, None)];
        assert_eq!(members_to_read(&time(5), &members).1, Reach::Gap { earliest: time(10) });
    }

    #[test]
    fn a_hole_between_members_is_a_gap() {
        let members = [member("1", 0, Some(10)), member("3", 20, None)];
        assert_eq!(members_to_read(&time(5), &members).1, Reach::Gap { earliest: time(20) });
    }

    #[test]
    fn o286_a_list_that_ends_before_it_begins_hides_nothing() {
        let members = [member("1", 40, Some(20)), member("2", 20, None)];
        let read = |checkpoint| {
            let (wanted, reach) = members_to_read(&time(checkpoint), &members);
            (wanted.len(), reach)
        };
        assert_eq!(read(40), (2, Reach::Unknown), "the times of both are over");
        assert_eq!(read(50), (1, Reach::Covered), "the open one is not followed by the one before it");
    }

    proptest! {
        #[test]
        fn no_change_since_the_checkpoint_is_missed(cuts in prop::collection::btree_set(1i64..1000, 1..20), at in 0i64..1000) {
            let cuts: Vec<i64> = std::iter::once(0).chain(cuts).collect();
            let members: Vec<IndexMember> = cuts
                .iter()
                .enumerate()
                .map(|(index, &from)| member(&index.to_string(), from, cuts.get(index + 1).copied()))
                .collect();
            let (wanted, reach) = members_to_read(&time(at), &members);
            prop_assert_eq!(reach, Reach::Covered);
            for change in at..1010 {
                let listed = |m: &&IndexMember| m.from.unwrap() <= time(change) && m.until.is_none_or(|until| time(change) <= until);
                let holders = members.iter().filter(listed).count();
                prop_assert_eq!(wanted.iter().copied().filter(listed).count(), holders);
            }
        }
    }
}

//! The intervals of lists: which members to read, and if changes reach back to the checkpoint.

use resourcesync::{DateTime, Entry, Uri};

/// A list as its index or archive names it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// Its URI.
    pub uri: Uri,
    /// The start of its interval.
    pub from: Option<DateTime>,
    /// The end of its interval; with it the list is closed.
    pub until: Option<DateTime>,
    /// The start of its snapshot.
    pub at: Option<DateTime>,
}

impl Member {
    /// A list of which only the URI is known.
    pub fn new(uri: Uri) -> Self {
        Self { uri, from: None, until: None, at: None }
    }
}

impl From<&Entry> for Member {
    fn from(entry: &Entry) -> Self {
        let md = &entry.metadata;
        Self { uri: entry.loc.clone(), from: md.from, until: md.until, at: md.at }
    }
}

/// The reach of the Change Lists relative to the checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Every change since the checkpoint is listed.
    Covered,
    /// They start later: changes in between are lost (DST-8).
    Gap {
        /// When they start.
        earliest: DateTime,
    },
    /// They do not say when they start.
    Unknown,
}

/// Returns the reach of lists that start at `earliest`; both ends are inclusive (AMB-B40).
pub fn reach(checkpoint: &DateTime, earliest: Option<&DateTime>) -> Reach {
    match earliest {
        None => Reach::Unknown,
        Some(earliest) if earliest.instant() < checkpoint.end() => Reach::Covered,
        Some(earliest) => Reach::Gap { earliest: *earliest },
    }
}

/// The members that may list a change since the checkpoint, in document order (CLI-12), and whether they reach back
/// to it without a hole between neighbours (TIME-13).
pub fn members_to_read<'a>(checkpoint: &DateTime, members: &'a [Member]) -> (Vec<&'a Member>, Reach) {
    let ends_before =
        |member: &&Member| member.until.is_some_and(|until| until.end() <= checkpoint.instant());
    let wanted: Vec<&Member> = members.iter().filter(|member| !ends_before(member)).collect();
    let Some(first) = wanted.first() else {
        return (wanted, Reach::Covered);
    };
    let start = reach(checkpoint, first.from.as_ref());
    let hole = wanted.windows(2).find_map(|pair| {
        let (until, from) = (pair[0].until?, pair[1].from?);
        (until.end() <= from.instant()).then_some(Reach::Gap { earliest: from })
    });
    (wanted, hole.unwrap_or(start))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn time(second: i64) -> DateTime {
        DateTime::from_unix_seconds(second)
    }

    fn member(name: &str, from: i64, until: Option<i64>) -> Member {
        let uri = Uri::parse(&format!("http://example.com/{name}")).unwrap();
        Member { uri, from: Some(time(from)), until: until.map(time), at: None }
    }

    #[test]
    fn members_are_read_in_document_order_from_the_one_that_holds_the_checkpoint() {
        let members = [member("z", 0, Some(10)), member("m", 10, Some(20)), member("a", 20, None)];
        let (wanted, reach) = members_to_read(&time(12), &members);
        let names: Vec<_> = wanted.iter().map(|member| member.uri.as_str()).collect();
        assert_eq!((names, reach), (vec!["http://example.com/m", "http://example.com/a"], Reach::Covered));
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

    proptest! {
        #[test]
        fn no_change_since_the_checkpoint_is_missed(cuts in prop::collection::btree_set(1i64..1000, 1..20), at in 0i64..1000) {
            let cuts: Vec<i64> = std::iter::once(0).chain(cuts).collect();
            let members: Vec<Member> = cuts
                .iter()
                .enumerate()
                .map(|(index, &from)| member(&index.to_string(), from, cuts.get(index + 1).copied()))
                .collect();
            let (wanted, reach) = members_to_read(&time(at), &members);
            prop_assert_eq!(reach, Reach::Covered);
            for change in at..1010 {
                let listed = |m: &&Member| m.from.unwrap() <= time(change) && m.until.is_none_or(|until| time(change) <= until);
                let holders = members.iter().filter(listed).count();
                prop_assert_eq!(wanted.iter().copied().filter(listed).count(), holders);
            }
        }
    }
}

//! The intervals of lists: which members to read, and if changes reach back to the checkpoint.

use std::collections::BTreeMap;

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
    /// Returns a list of which only the URI is known.
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

    /// Returns `true` if its interval begins when that of an earlier one ends.
    fn follows(&self, earlier: &Self) -> bool {
        let (Some(from), Some(begun), Some(until)) = (self.from, earlier.from, earlier.until) else {
            return false;
        };
        begun.instant() <= from.instant() && until.overlaps(&from)
    }

    /// Forgets times that no clock has reached (O382). A beginning stays if the list ended before one of those before it
    /// began: then the clock did not only come back from years ahead, but went back behind what was right. `begun` is the
    /// latest beginning so far.
    pub(crate) fn keep_believed(
        &mut self,
        begun: &mut Option<DateTime>,
        believed: impl Fn(Option<DateTime>) -> Option<DateTime>,
    ) {
        self.until = believed(self.until);
        let is_behind = |(until, begun): (DateTime, DateTime)| until.end() <= begun.instant();
        if !self.until.zip(*begun).is_some_and(is_behind) {
            self.from = believed(self.from);
        }
        *begun = believed(self.from).max(*begun);
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

/// Puts the members of an index that lists the newest first, although CLI-2 demands the oldest, into the order of their
/// intervals: the order shows which member can have grown, and if there is a gap between two. They are recognized by
/// intervals each of which ends when that of the member listed before it begins. Returns `true` if they were.
pub(crate) fn put_oldest_first(members: &mut [IndexMember]) -> bool {
    let begun = |member: Option<&IndexMember>| member.and_then(|member| member.from);
    let ends = begun(members.first()).zip(begun(members.last()));
    let is_newest_first = ends.is_some_and(|(first, last)| last.end() <= first.instant())
        && members.windows(2).all(|pair| pair[0].follows(&pair[1]));
    if is_newest_first {
        members.reverse();
    }
    is_newest_first
}

/// Returns the number of members that have the URI of an earlier one with other times. One of the two should name another
/// document, which is lost (O967).
pub(crate) fn count_repeated(members: &[IndexMember]) -> u64 {
    let (mut earlier, mut repeated) = (BTreeMap::new(), 0);
    for member in members {
        let first: &mut &IndexMember = earlier.entry(&member.uri).or_insert(member);
        let is_other = is_other_time(first.from, member.from)
            || is_other_time(first.until, member.until)
            || is_other_time(first.at, member.at);
        repeated += u64::from(is_other);
    }
    repeated
}

/// Returns `true` if two times of a member cannot mean the same. One that is not stated says nothing.
pub(crate) fn is_other_time(one: Option<DateTime>, other: Option<DateTime>) -> bool {
    one.zip(other).is_some_and(|(one, other)| !one.overlaps(&other))
}

/// Returns the members that may list a change since the checkpoint, in document order (CLI-12), and the reach of the
/// changes in them.
pub(crate) fn members_to_read<'a>(
    checkpoint: &DateTime,
    members: &'a [IndexMember],
) -> (Vec<&'a IndexMember>, Reach) {
    let intervals = MemberIntervals::new(*checkpoint, members);
    let wanted = members.iter().enumerate().filter(|member| !intervals.ends_before(*member));
    let wanted: Vec<&IndexMember> = wanted.map(|(_, member)| member).collect();
    let reach = reach_of_members(checkpoint, &wanted);
    (wanted, reach)
}

/// Returns the reach of the members that may list a change since the checkpoint. There is a gap also if one of them
/// begins later than the one before it ended (TIME-13).
fn reach_of_members(checkpoint: &DateTime, wanted: &[&IndexMember]) -> Reach {
    let Some(first) = wanted.first() else {
        // Every list ended before the checkpoint: nothing is listed since then.
        return Reach::Covered;
    };
    let is_stepped = wanted.iter().any(|member| member.went_back());
    let start = if first.went_back() { Reach::Unknown } else { reach(checkpoint, first.from.as_ref()) };
    let hole = wanted.windows(2).find_map(|pair| {
        let (until, from) = (pair[0].until?, pair[1].from?);
        (until.end() <= from.instant()).then_some(Reach::Gap { earliest: from })
    });
    match hole.filter(|_| !is_stepped).unwrap_or(start) {
        Reach::Covered if is_stepped => Reach::Unknown,
        reach => reach,
    }
}

/// The intervals of all members, compared with the checkpoint: they show which members end before it. A member is given
/// with its place.
///
/// A list is complete from its beginning on (TIME-5): one without an end is over if a later one begins before the
/// checkpoint, or states no beginning and ends before it. Its entries without a time could not be distinguished from new
/// ones (O3).
///
/// A list that ends before it begins is over once its beginning is: until then, the times in it and in those after it do
/// not show what is new (O45). Beginnings before and after it are not compared: those after it are the later lists.
struct MemberIntervals {
    checkpoint: DateTime,
    /// The place of the last member that ends before it begins: the step back of the clock.
    step: Option<usize>,
    /// The latest beginning before the checkpoint, among the members before the step.
    begun_before_step: Option<(usize, DateTime)>,
    /// The latest beginning before the checkpoint, among the members after the step, or among all if there is none.
    begun_after_step: Option<(usize, DateTime)>,
    /// The end of the last member that ends before the checkpoint and does not state its beginning: the order shows
    /// what began earlier.
    ended: Option<(usize, DateTime)>,
}

impl MemberIntervals {
    fn new(checkpoint: DateTime, members: &[IndexMember]) -> Self {
        let step = members.iter().rposition(IndexMember::went_back);
        let mut intervals =
            Self { checkpoint, step, begun_before_step: None, begun_after_step: None, ended: None };
        for (place, member) in members.iter().enumerate() {
            let is_over = |time: &DateTime| intervals.is_over(*time);
            let begun = member.from.filter(is_over).filter(|_| !member.went_back());
            let ended = member.until.filter(is_over).filter(|_| member.from.is_none());
            if let Some(from) = begun {
                intervals.add_beginning(place, from);
            }
            intervals.ended = ended.map(|until| (place, until)).or(intervals.ended);
        }
        intervals
    }

    /// Adds a beginning before the checkpoint. Of equal ones, the last counts.
    fn add_beginning(&mut self, place: usize, from: DateTime) {
        let is_after = self.is_after_step(place);
        let latest = if is_after { &mut self.begun_after_step } else { &mut self.begun_before_step };
        if latest.is_none_or(|(_, latest)| latest.instant() <= from.instant()) {
            *latest = Some((place, from));
        }
    }

    fn is_over(&self, time: DateTime) -> bool {
        time.end() <= self.checkpoint.instant()
    }

    fn is_after_step(&self, place: usize) -> bool {
        self.step.is_none_or(|step| step < place)
    }

    /// Returns `true` if a member cannot list a change since the checkpoint.
    fn ends_before(&self, (place, member): (usize, &IndexMember)) -> bool {
        match member.until {
            Some(_) if member.went_back() => member.from.is_some_and(|from| self.is_over(from)),
            Some(until) => self.is_over(until),
            None => self.is_followed(place, member) || self.precedes_ended(place, member),
        }
    }

    /// Returns `true` if a later member begins before the checkpoint.
    fn is_followed(&self, place: usize, member: &IndexMember) -> bool {
        let is_after = self.is_after_step(place);
        if !is_after && self.begun_after_step.is_some() {
            return true;
        }
        match (member.from, if is_after { self.begun_after_step } else { self.begun_before_step }) {
            (Some(from), Some((_, latest))) => from.end() <= latest.instant(),
            (None, Some((latest, _))) => place < latest,
            (_, None) => false,
        }
    }

    /// Returns `true` if a later member without a stated beginning ends before the checkpoint.
    fn precedes_ended(&self, place: usize, member: &IndexMember) -> bool {
        self.ended.is_some_and(|(last, until)| {
            let begins_earlier = member.from.is_none_or(|from| from.end() <= until.instant());
            place < last && begins_earlier && self.is_after_step(place) == self.is_after_step(last)
        })
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
    fn o967_a_member_is_repeated_only_if_its_times_are_others() {
        let first = member("1", 0, Some(10));
        let count = |second: IndexMember| count_repeated(&[first.clone(), second]);
        assert_eq!(count(first.clone()), 0);
        assert_eq!(count(IndexMember::new(first.uri.clone())), 0, "it states no times");
        let from = DateTime::parse("1970-01-01T01:00:00+01:00").unwrap();
        assert_eq!(count(IndexMember { from: Some(from), ..first.clone() }), 0, "in another zone");
        assert_eq!(count(member("1", 10, None)), 1);
        assert_eq!(count(member("1", 0, Some(20))), 1);
        assert_eq!(count(member("2", 10, None)), 0);
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
    fn o355_a_member_without_an_end_is_not_read_if_a_later_one_without_a_beginning_ended() {
        let mut members = [member("1", 0, None), member("2", 10, Some(20)), member("3", 20, None)];
        (members[1].from, members[2].from) = (None, None);
        assert_eq!(members_to_read(&time(25), &members).0, [&members[2]]);
        assert_eq!(members_to_read(&time(15), &members).0.len(), 3, "the second has not ended");
        members.swap(0, 1);
        assert_eq!(members_to_read(&time(25), &members).0.len(), 2, "the first one listed says nothing");
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
    fn o702_members_that_are_listed_newest_first_are_put_in_order() {
        let oldest_first = [member("1", 0, Some(10)), member("2", 10, Some(20)), member("3", 20, None)];
        let mut members = oldest_first.clone();
        members.reverse();
        assert!(put_oldest_first(&mut members) && members == oldest_first);
        assert!(!put_oldest_first(&mut members) && members == oldest_first, "they are in order");
        let short = [member("3", 20, None), member("2", 20, Some(20)), member("1", 10, Some(20))];
        assert!(put_oldest_first(&mut short.clone()), "an interval may be a single instant");
        // A clock that went back, a hole, and an instant that each of two begins and ends at.
        for [one, other] in [
            [member("1", 10, Some(20)), member("2", 5, None)],
            [member("2", 20, None), member("1", 0, Some(10))],
            [member("1", 10, Some(10)), member("2", 10, Some(10))],
        ] {
            assert!(!put_oldest_first(&mut [one, other]));
        }
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

    #[test]
    fn a_clock_that_was_years_ahead_and_went_back_too_far_hides_nothing() {
        let read = |back: i64| -> (Vec<usize>, Reach) {
            let (ahead, now) = (5_000, 57);
            let mut members = [
                member("1", 0, Some(9)),
                member("2", 9, Some(ahead)),
                member("3", ahead, Some(back)),
                member("4", back, None),
            ];
            let mut begun = None;
            for member in &mut members {
                member.keep_believed(&mut begun, |at| at.filter(|at| at.instant() <= time(now).instant()));
            }
            let (wanted, reach) = members_to_read(&time(now), &members);
            let place = |wanted: &&IndexMember| members.iter().position(|one| one == *wanted).unwrap();
            (wanted.iter().map(place).collect(), reach)
        };
        assert_eq!(read(20), (vec![3], Reach::Covered), "the clock is right again");
        assert_eq!(
            read(3),
            (vec![2, 3], Reach::Unknown),
            "the second is over, and does not follow the fourth"
        );
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

//! Orders and times of Change Lists as Sources write them, and lists of which a former run has read a part.

use resourcesync::{Capability, Change, Dialect, Form, Metadata, Uri, document::TimeSource};

use super::*;
use crate::plan::supersedes;

fn time(second: i64) -> DateTime {
    DateTime::from_unix_seconds(second)
}

fn entry(name: &str, datetime: Option<i64>, lastmod: Option<i64>) -> Entry {
    let mut entry = Entry::new(Uri::parse(&format!("http://example.com/{name}")).unwrap());
    entry.metadata.change = Some(Change::Updated);
    entry.metadata.datetime = datetime.map(time);
    entry.lastmod = lastmod.map(time);
    entry
}

fn header(describe: impl FnOnce(&mut Metadata)) -> Header {
    let mut header = Header::new(Form::List, Capability::ChangeList);
    describe(header.metadata.get_or_insert_default());
    header
}

fn survey(from: i64, entries: &[Entry], mark: Option<&Mark>) -> Shape {
    let header = header(|root| root.from = Some(time(from)));
    let mut survey = Survey::new(&header, mark, None);
    entries.iter().for_each(|entry| survey.observe(entry));
    survey.finish()
}

#[test]
fn an_entry_without_time_inherits_its_position() {
    let entries = [entry("a", Some(10), None), entry("b", None, None), entry("c", Some(12), None)];
    let shape = survey(0, &entries, None);
    let mut inherited = None;
    let places: Vec<_> =
        entries.iter().zip(0..).map(|(entry, at)| shape.place(entry, &mut inherited, at).time).collect();
    assert_eq!(places, [Some(time(10)), Some(time(10)), Some(time(12))]);
}

#[test]
fn o287_an_entry_without_a_time_is_not_older_than_the_bytes_before_it() {
    let earliest = |begins: Option<i64>, until: Option<i64>, entries: &[Entry]| -> Vec<Option<DateTime>> {
        let header = header(|root| root.until = until.map(time));
        let mut survey = Survey::new(&header, None, Some(time(100)));
        entries.iter().for_each(|entry| survey.observe(entry));
        let (shape, begins, mut modified) = (survey.finish(), begins.map(time), None);
        entries.iter().map(|entry| shape.earliest(entry, begins, &mut modified)).collect()
    };
    let times = |times: [Option<i64>; 4]| times.map(|second| second.map(time));
    let entries = [
        entry("a", None, None),
        entry("b", None, Some(20)),
        entry("c", None, Some(15)),
        entry("b", None, None),
    ];
    assert_eq!(earliest(None, None, &entries), times([None, Some(20), Some(20), Some(20)]));
    assert_eq!(earliest(Some(18), None, &entries), times([Some(18), Some(20), Some(20), Some(20)]));
    assert_eq!(earliest(Some(12), Some(17), &entries), times([Some(12), Some(12), Some(15), Some(15)]));
    let ahead = [entry("a", None, None), entry("b", None, Some(200)), entry("c", None, None)];
    assert_eq!(earliest(Some(18), None, &ahead), [Some(time(18)); 3], "no clock has reached that");
    let told = [entry("a", None, None), entry("b", None, Some(20)), entry("c", Some(30), None)];
    assert_eq!(earliest(Some(18), None, &told), [Some(time(18)); 3], "later ones have times to compare with");
}

#[test]
fn o3_an_entry_without_a_time_is_older_only_if_an_older_one_follows() {
    let before = |since: i64, until: Option<i64>, entries: &[Entry]| -> Vec<bool> {
        let header = header(|root| root.until = until.map(time));
        let mut survey = Survey::new(&header, None, None).since(Some(time(since)));
        entries.iter().for_each(|entry| survey.observe(entry));
        let shape = survey.finish();
        entries.iter().zip(1..).map(|(entry, ordinal)| shape.is_before(entry, ordinal)).collect()
    };
    let rising = [
        entry("a", None, None),
        entry("b", Some(10), None),
        entry("c", None, None),
        entry("d", Some(20), None),
        entry("e", None, None),
    ];
    assert_eq!(before(5, None, &rising), [false; 5]);
    assert_eq!(before(15, None, &rising), [true, true, false, false, false]);
    assert_eq!(before(25, None, &rising), [true, true, true, true, false], "the last may be of 26");
    assert_eq!(before(25, Some(22), &rising), [true; 5]);
    let mixed = [entry("a", Some(20), None), entry("b", None, None), entry("c", Some(10), None)];
    assert_eq!(before(15, None, &mixed), [false, false, true], "no order tells of the second");
}

#[test]
fn lastmod_is_a_change_time_only_in_a_document_of_1_0() {
    let of_1_0 = [entry("a", None, Some(10)), entry("b", None, Some(12))];
    assert_eq!(survey(0, &of_1_0, None).times.source, TimeSource::LastMod);
    let before_from = [entry("a", None, Some(10)), entry("b", None, Some(12))];
    assert_eq!(survey(11, &before_from, None).times.source, TimeSource::Unknown);
    let unordered = [entry("a", None, Some(10)), entry("b", None, Some(12)), entry("c", None, Some(11))];
    assert_eq!(survey(0, &unordered, None).times.source, TimeSource::Unknown);
    let one_lacks_it = [entry("a", None, Some(10)), entry("b", None, None)];
    assert_eq!(survey(0, &one_lacks_it, None).times.source, TimeSource::Unknown);
}

#[test]
fn o983_changes_by_a_clock_that_was_ahead_are_not_left_out_for_the_times_of_their_bytes() {
    let header = header(|root| root.from = Some(time(0)));
    let mut survey = Survey::new(&header, None, Some(time(100))).since(Some(time(50)));
    let entries = [entry("a", Some(200), Some(10)), entry("b", Some(201), Some(12))];
    entries.iter().for_each(|entry| survey.observe(entry));
    let shape = survey.finish();
    let before: Vec<_> =
        entries.iter().zip(1..).map(|(entry, ordinal)| shape.is_before(entry, ordinal)).collect();
    assert_eq!(before, [false, false]);
}

#[test]
fn a_list_that_strictly_falls_is_newest_first() {
    let falling = [entry("a", Some(12), None), entry("b", Some(11), None)];
    assert!(survey(0, &falling, None).times.newest_first);
    let level = [entry("a", Some(12), None), entry("b", Some(12), None)];
    assert!(!survey(0, &level, None).times.newest_first);
}

#[test]
fn o10_equal_times_of_a_dialect_that_lists_the_newest_first_are_in_reverse() {
    let entries = [entry("a", None, Some(12)), entry("a", None, Some(12)), entry("b", None, Some(11))];
    let mut header = header(|_| {});
    header.dialect = Dialect::January2013;
    let mut survey = Survey::new(&header, None, None);
    entries.iter().for_each(|entry| survey.observe(entry));
    let shape = survey.finish();
    assert_eq!((shape.times.source, shape.times.newest_first), (TimeSource::LastMod, true));
    let place = |ordinal: u64| shape.place(&entries[ordinal as usize - 1], &mut None, ordinal);
    assert!(supersedes(place(1), place(2)) && !supersedes(place(2), place(1)));
}

#[test]
fn b4_a_time_far_ahead_is_no_time() {
    let entries = [entry("a", Some(10), None), entry("b", Some(9_999), None), entry("c", Some(12), None)];
    let mut survey = Survey::new(&header(|_| {}), None, Some(time(100)));
    entries.iter().for_each(|entry| survey.observe(entry));
    let shape = survey.finish();
    assert_eq!(shape.times.newest, Some(time(12)));
    let mut inherited = None;
    let places: Vec<_> =
        entries.iter().zip(0..).map(|(entry, at)| shape.place(entry, &mut inherited, at).time).collect();
    assert_eq!(places, [Some(time(10)), Some(time(10)), Some(time(12))]);
}

#[test]
fn what_was_read_before_is_known_by_all_leading_entries() {
    let entries = [entry("a", None, None), entry("b", None, None), entry("c", None, None)];
    let leading = Some(survey(0, &entries[..2], None).leading);
    let mark = Mark { from: Some(time(0)), entries: 2, leading, may_lose_entries: false };
    assert_eq!(survey(0, &entries, Some(&mark)).known, 2);
    let rewritten = [entry("x", None, None), entry("y", None, None), entry("c", None, None)];
    assert_eq!(survey(0, &rewritten, Some(&mark)).known, 0);
    assert!(survey(0, &entries[..1], Some(&mark)).went_back);
    assert!(!survey(1, &entries[..1], Some(&mark)).went_back, "a new list of the same name");
}

#[test]
fn o994_a_list_that_has_only_the_last_change_of_each_resource_is_no_older_one_when_entries_leave_it() {
    let entries = [entry("a", Some(10), None), entry("b", Some(11), None), entry("c", Some(12), None)];
    let leading = Some(survey(0, &entries, None).leading);
    let judge = |entries: &[Entry], may_lose_entries| {
        let mark = Mark { from: Some(time(0)), entries: 3, leading, may_lose_entries };
        let header = header(|root| root.from = Some(time(0)));
        let mut survey = Survey::new(&header, Some(&mark), None).since(Some(time(12)));
        entries.iter().for_each(|entry| survey.observe(entry));
        let shape = survey.finish();
        (shape.went_back, shape.lost_changes)
    };
    let [_, b, c] = entries;
    let replaced = [b.clone(), c.clone(), entry("a", Some(20), None)];
    let shorter = [b, c];
    assert_eq!([judge(&shorter, false), judge(&replaced, false)], [(true, false), (false, true)]);
    assert_eq!([judge(&shorter, true), judge(&replaced, true)], [(false, false); 2]);
}

#[test]
fn o5_a_new_entry_in_the_middle_is_new_although_the_place_of_the_last_one_looks_as_before() {
    let read = [entry("a", Some(12), None), entry("b", Some(10), None)];
    let leading = Some(survey(0, &read, None).leading);
    let mark = Mark { from: Some(time(0)), entries: 2, leading, may_lose_entries: false };
    let [a, b] = read;
    assert_eq!(survey(0, &[a.clone(), b.clone(), b.clone()], Some(&mark)).known, 2, "it grew at its end");
    let rewritten = [entry("new", Some(11), None), b, a];
    assert_eq!(survey(0, &rewritten, Some(&mark)).known, 0);
}

#[test]
fn o5_a_mark_without_a_digest_knows_nothing() {
    let mark = Mark { from: Some(time(0)), entries: 1, leading: None, may_lose_entries: false };
    assert_eq!(survey(0, &[entry("a", None, None)], Some(&mark)).known, 0);
}

#[test]
fn o764_a_shorter_list_that_was_closed_since_it_was_read_is_not_an_older_one() {
    let entries = [entry("a", Some(10), None), entry("b", Some(11), None), entry("c", Some(12), None)];
    let leading = Some(survey(0, &entries, None).leading);
    let mark = Mark { from: Some(time(0)), entries: 3, leading, may_lose_entries: false };
    let judge = |until: Option<i64>| {
        let header = header(|root| (root.from, root.until) = (Some(time(0)), until.map(time)));
        let mut survey = Survey::new(&header, Some(&mark), None).since(Some(time(12)));
        entries[..2].iter().for_each(|entry| survey.observe(entry));
        let shape = survey.finish();
        (shape.went_back, shape.lost_changes)
    };
    assert_eq!([judge(None), judge(Some(12))], [(true, false); 2], "a cache may have it from before");
    assert_eq!(judge(Some(20)), (false, true), "its Source was restored from a backup");
}

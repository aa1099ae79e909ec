//! Sets of a Source that are renamed or merged.

use instep_destination::status;
use instep_testkit::{FakeSource, Fault, Layout};
use resourcesync::DateTime;

use crate::{
    sets::{document, list_shared, publish},
    support::{Copy, Run},
};

/// Names these sets in the Source Description.
fn name(source: &FakeSource, sets: &[&str]) {
    let sets: Vec<_> = sets.iter().map(|set| (*set, "<rs:md capability='capabilitylist'/>")).collect();
    source.serve(".well-known/resourcesync", document(source, "description", "", &sets));
}

fn is_complete(run: &Run) -> bool {
    run.exit_code() == 0 && run.report().coverage.is_some_and(|coverage| coverage.is_complete())
}

#[test]
fn o416_a_set_that_another_one_replaced_keeps_nothing_and_comes_back_whole() {
    let mut layout = Layout::new();
    layout.change_list = false;
    let source = FakeSource::start_with(layout).with_resources([("a.txt", "of a"), ("b.txt", "of b")]);
    let copy = Copy::of(source);
    let sync = || copy.sync_with(|options| options.delete = true);
    publish(&copy.source, 0, [&["a.txt", "b.txt"], &[]]);
    name(&copy.source, &["one.xml"]);
    assert!(is_complete(&sync()));
    publish(&copy.source, 1, [&["a.txt", "b.txt"], &["a.txt", "b.txt"]]);
    name(&copy.source, &["two.xml"]);
    assert!(is_complete(&sync()), "its resources are in another set");
    publish(&copy.source, 2, [&["a.txt", "b.txt"], &["a.txt"]]);
    name(&copy.source, &["two.xml"]);
    assert!(is_complete(&sync()));
    assert_eq!((copy.read("a.txt").is_some(), copy.read("b.txt")), (true, None), "the Source deleted it");

    // The first set as it was when it was read: what the copy lacks of it is found all the same.
    publish(&copy.source, 1, [&["a.txt", "b.txt"], &["a.txt"]]);
    publish(&copy.source, 2, [&["a.txt", "b.txt"], &["a.txt"]]);
    name(&copy.source, &["one.xml", "two.xml"]);
    assert!(is_complete(&sync()));
    assert_eq!(copy.read("b.txt").as_deref(), Some("of b"));
}

#[test]
fn o416_what_no_other_set_has_stays_and_is_reported() {
    let mut layout = Layout::new();
    layout.change_list = false;
    let source = FakeSource::start_with(layout).with_resources([("a.txt", "of a"), ("b.txt", "of b")]);
    let copy = Copy::of(source);
    publish(&copy.source, 0, [&["a.txt", "b.txt"], &["a.txt"]]);
    assert_eq!(copy.sync().exit_code(), 0);
    name(&copy.source, &["two.xml"]);
    let run = copy.sync_with(|options| options.delete = true);
    assert!(!is_complete(&run), "nothing tells of the other resource");
    let said = format!("{:?}", run.heard);
    assert!(said.contains("1 resources of it stay as they are"), "{said}");
    assert_eq!(copy.read("b.txt").as_deref(), Some("of b"));
}

/// Names sets of these numbers, which all have the same Resource List.
fn name_numbered(source: &FakeSource, numbers: std::ops::Range<usize>) {
    let names: Vec<_> = numbers.map(|number| format!("set-{number:02}.xml")).collect();
    let list = [("resourcelist.xml", "<rs:md capability='resourcelist'/>")];
    for set in &names {
        source.serve(set, document(source, "capabilitylist", "", &list));
    }
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    name(source, &names);
}

#[test]
fn o654_a_set_beyond_those_that_a_copy_can_follow_does_not_end_the_run_once_another_one_is_renamed() {
    let copy = Copy::of_three();
    name_numbered(&copy.source, 0..63);
    assert_eq!(copy.sync().exit_code(), 0);
    name_numbered(&copy.source, 1..64);
    let run = copy.sync();
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    let said = format!("{:?}", run.heard);
    assert!(said.contains("set-63.xml"), "{said}");
    assert!(said.contains("set-00.xml any more: 3 resources of it are in other sets"), "{said}");
}

#[test]
fn o659_a_source_may_rename_its_sets_more_often_than_a_copy_has_numbers_for_them() {
    let copy = Copy::of_three();
    name_numbered(&copy.source, 0..63);
    assert!(is_complete(&copy.sync()));
    for first in [1, 2] {
        name_numbered(&copy.source, first..first + 63);
        assert_eq!(copy.sync().exit_code(), 3, "the former set still has its number");
        let run = copy.sync();
        assert!(is_complete(&run), "{:?}", run.heard);
    }
    copy.source.put("a.txt", "changed");
    copy.source.snapshot();
    assert!(is_complete(&copy.sync()));
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o792_a_dry_run_and_an_audit_count_on_the_numbers_that_a_run_gives_away() {
    let copy = Copy::of_three();
    name_numbered(&copy.source, 0..63);
    assert!(is_complete(&copy.sync()));
    name_numbered(&copy.source, 1..64);
    assert_eq!(copy.sync().exit_code(), 3, "the former set still has its number");
    let planned = copy.sync_with(|options| options.dry_run = true);
    assert_eq!(planned.exit_code(), 0, "{:?}", planned.heard);
    let (audited, heard) = copy.audit();
    assert_eq!(audited.map(|report| report.exit_code()).unwrap(), 0, "{heard:?}");
    assert!(is_complete(&copy.sync()));
}

#[test]
fn o793_a_copy_does_not_lag_behind_a_set_that_ended_with_its_last_resource() {
    let mut layout = Layout::new();
    layout.change_list = false;
    let source = FakeSource::start_with(layout).with_resources([("a.txt", "of a"), ("b.txt", "of b")]);
    let copy = Copy::of(source);
    let sync = || copy.sync_with(|options| (options.delete, options.allow_empty) = (true, true));
    publish(&copy.source, 1, [&["a.txt"], &["b.txt"]]);
    assert!(is_complete(&sync()));
    publish(&copy.source, 2, [&[], &["b.txt"]]);
    assert!(is_complete(&sync()));
    publish(&copy.source, 3, [&[], &["b.txt"]]);
    name(&copy.source, &["two.xml"]);
    assert!(is_complete(&sync()));
    let reached = status(&copy.dir()).unwrap().checkpoint;
    assert_eq!(reached, DateTime::parse("2026-01-02T00:00:03Z").ok());
}

#[test]
fn o794_what_a_list_of_two_sets_lacks_is_deleted() {
    let copy = Copy::of_three();
    let sync = || copy.sync_with(|options| options.delete = true);
    name_numbered(&copy.source, 0..2);
    assert!(is_complete(&sync()));
    copy.source.delete("b.txt");
    copy.source.snapshot();
    let run = sync();
    assert!(is_complete(&run), "{:?}", run.heard);
    assert_eq!(run.report().deleted, 1);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o356_a_set_that_is_not_named_any_more_waits_for_nothing_that_another_one_described_since() {
    for was_released in [false, true] {
        let mut layout = Layout::new();
        layout.change_list = false;
        let copy = Copy::of(FakeSource::start_with(layout).with_resources([("shared.txt", "first")]));
        let list = |day: u32, length| {
            let at = format!("at='2026-01-{:02}T00:00:00Z'", day + 1);
            for set in ["one", "two"] {
                list_shared(&copy.source, set, &at, day, length);
            }
        };
        publish(&copy.source, 0, [&["shared.txt"], &["shared.txt"]]);
        list(1, "first".len());
        assert!(is_complete(&copy.sync()));
        copy.source.put("shared.txt", "the second");
        list(3, "the second".len());
        copy.source.fail_always("shared.txt", Fault::Status(404));
        let run = copy.sync();
        assert_eq!((run.exit_code(), run.report().owed), (3, 2), "{:?}", run.heard);
        if was_released {
            name(&copy.source, &["two.xml"]);
            assert_eq!(copy.sync().exit_code(), 3, "neither set has it");
        }
        copy.source.heal();
        copy.source.put("shared.txt", "third");
        list(5, "third".len());
        name(&copy.source, &["two.xml"]);
        let run = copy.sync();
        assert!(is_complete(&run), "{:?}", run.heard);
        assert_eq!((copy.read("shared.txt").as_deref(), run.report().owed), (Some("third"), 0));
    }
}

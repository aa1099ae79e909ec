//! Sets of a Source that are renamed or merged.

use instep_testkit::{FakeSource, Layout};

use crate::{
    sets::{document, publish},
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

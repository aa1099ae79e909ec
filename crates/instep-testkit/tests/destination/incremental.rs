//! Incremental synchronization with Change Lists.

use instep_destination::{ProblemKind, Strategy};
use instep_testkit::Fault;

use crate::support::Copy;

#[test]
fn changes_are_applied_from_the_change_list_alone() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "changed");
    copy.source.put("e.txt", "created");
    copy.source.forget_requests();
    let run = copy.sync();
    let report = run.report();
    assert_eq!((report.strategy, report.created, report.updated), (Strategy::Changes, 1, 1));
    assert_eq!(copy.source.requests_for("resourcelist.xml"), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn incremental_does_not_advance_past_a_failed_fetch() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "changed");
    copy.source.put("b.txt", "changed too");
    copy.source.fail_always("a.txt", Fault::Status(500));
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().updated, run.report().owed), (3, 1, 1));
    let again = copy.sync();
    assert_eq!((again.exit_code(), again.report().owed), (3, 1), "what is owed keeps the exit code at 3");
    copy.source.heal();
    let healed = copy.sync();
    assert_eq!((healed.exit_code(), healed.report().updated, healed.report().owed), (0, 1, 0));
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn what_is_owed_is_cleared_by_a_later_deletion() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "changed");
    copy.source.fail_always("a.txt", Fault::Status(404));
    assert_eq!(copy.sync().report().owed, 1);
    copy.source.delete("a.txt");
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().owed), (0, 0));
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn closed_lists_are_followed_to_the_next() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "in the first");
    copy.source.rotate();
    copy.source.put("b.txt", "in the second");
    copy.source.rotate();
    copy.source.put("e.txt", "in the third");
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().strategy), (0, Strategy::Changes));
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn entries_without_any_time_are_followed_by_position() {
    let copy = Copy::laid_out(|layout| layout.lastmod = false);
    copy.source.rewrite("changelist-000001.xml", |text| {
        let mut parts = text.split(" datetime=\"");
        let head = parts.next().unwrap_or_default().to_owned();
        parts.fold(head, |text, part| text + part.split_once('"').map_or("", |(_, rest)| rest))
    });
    copy.sync();
    copy.source.put("a.txt", "first");
    copy.sync();
    copy.source.put("b.txt", "second");
    copy.source.forget_requests();
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.source.requests_for("a.txt"), 0, "it was read before");
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn d17_the_last_of_several_changes_decides() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("e.txt", "created");
    copy.source.delete("e.txt");
    copy.source.delete("a.txt");
    copy.source.put("a.txt", "created again");
    copy.source.put("b.txt", "2");
    copy.source.put("b.txt", "3");
    copy.source.forget_requests();
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().deleted), (0, 0));
    assert_eq!(copy.source.requests_for("e.txt") + copy.source.requests_for("b.txt"), 1);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn d17_an_unknown_change_is_asked_for() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "changed");
    copy.source
        .rewrite("changelist-000001.xml", |text| text.replace("change=\"updated\"", "change=\"moved\""));
    assert_eq!(copy.sync().report().updated, 1);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn d16_nothing_of_a_truncated_change_list_is_applied() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "changed");
    copy.source.rewrite("changelist-000001.xml", |text| text[..text.len() - 12].to_owned());
    let run = copy.sync();
    assert_eq!(run.exit_code(), 3);
    assert_eq!(copy.read("a.txt").as_deref(), Some("one"));
    copy.source.heal();
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn a_missing_resource_of_a_change_list_is_a_problem() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "changed");
    copy.source.fail_always("a.txt", Fault::Status(404));
    let run = copy.sync();
    assert_eq!(run.heard.problems.len(), 1, "{:?}", run.heard.problems);
    assert_eq!(run.heard.problems[0].0, ProblemKind::Missing);
}

/// Changes one resource, of which the list names the earlier state, and creates another one.
pub(crate) fn change_with_memento(copy: &Copy) {
    copy.source.put("a.txt", "too late");
    copy.source.put("e.txt", "too late");
    let earlier = copy.source.url("versions/a.txt");
    copy.source.serve("versions/a.txt", "one");
    copy.source.rewrite("resourcelist.xml", move |text| {
        let end = text.find("</url>").unwrap();
        format!("{}<rs:ln rel=\"memento\" href=\"{earlier}\"/>{}", &text[..end], &text[end..])
    });
}

#[test]
fn a_copy_can_be_had_as_it_was() {
    let copy = Copy::of_three();
    copy.source.put("b.txt", "a second version");
    let then = copy.source.clock().now();
    change_with_memento(&copy);
    let run = copy.sync_with(|options| options.as_of = Some(then));
    assert_eq!((run.exit_code(), run.report().created), (0, 3), "{:?}", run.heard.problems);
    assert_eq!(copy.read("a.txt").as_deref(), Some("one"));
    assert_eq!(copy.read("b.txt").as_deref(), Some("a second version"));
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn d22_a_change_list_on_another_host_is_not_asked_for() {
    let copy = Copy::of_three();
    copy.sync();
    let elsewhere = instep_testkit::FakeSource::start_at("127.0.0.2", instep_testkit::Layout::new());
    let (here, there) = (copy.source.url("changelist-"), elsewhere.url("changelist-"));
    copy.source.put("a.txt", "changed");
    copy.source.rotate();
    copy.source.rewrite("changelist.xml", move |text| text.replace(&here, &there));
    assert_eq!(copy.sync().exit_code(), 3);
    assert_eq!(elsewhere.connections(), 0);
    assert_eq!(copy.read("a.txt").as_deref(), Some("one"));
}

//! Changes that could not be fetched: later documents do not cancel them, and an audit names them.

use instep_destination::{Coverage, SyncOptions};
use instep_testkit::{FakeSource, Fault, Layout};
use resourcesync::Algorithm;

use crate::support::{Copy, in_step, without};

const FAILURES: [Fault; 2] = [Fault::Status(500), Fault::Status(500)];

/// Returns a copy of three resources of a Source whose Resource List does not say its time.
fn of_an_undated_list() -> Copy {
    let copy = Copy::of_three();
    copy.source.rewrite("resourcelist.xml", |text| without(&without(&text, "at"), "completed"));
    assert_eq!(copy.sync().exit_code(), 0);
    copy
}

/// Deletes a resource, serves a Resource List without it from now on, and creates it again with bytes that cannot be
/// fetched.
fn create_again_out_of_reach(copy: &Copy) {
    copy.source.delete("a.txt");
    copy.source.snapshot();
    let list = copy.source.document("resourcelist.xml").unwrap();
    copy.source.serve("resourcelist.xml", list);
    copy.source.put("a.txt", "created again");
    copy.source.fail_always("a.txt", Fault::Status(500));
}

#[test]
fn o23_a_pending_change_outlives_an_inventory_that_does_not_say_its_time() {
    let copy = of_an_undated_list();
    create_again_out_of_reach(&copy);
    let delete = |options: &mut SyncOptions| options.delete = true;
    let run = copy.sync_with(delete);
    assert_eq!((run.exit_code(), run.report().owed), (3, 1), "{:?}", run.heard);
    // The list is read again, and does not name it.
    let run = copy.sync_with(|options| (options.delete, options.repair) = (true, true));
    assert_eq!((run.exit_code(), run.report().owed), (3, 1), "{:?}", run.heard);
    copy.source.heal();
    let run = copy.sync_with(delete);
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o42_an_audit_takes_nothing_for_surplus_that_is_pending_since_after_the_inventory() {
    let copy = of_an_undated_list();
    create_again_out_of_reach(&copy);
    copy.source.put("b.txt", "later, so that the lists since then do not name the other");
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().owed), (3, 1), "{:?}", run.heard);
    let (result, heard) = copy.audit();
    let audited = result.unwrap();
    assert_eq!((audited.surplus, audited.failed, audited.same), (0, 1, 2), "{heard:?}");
}

#[test]
fn o41_an_inventory_that_lists_something_later_ends_the_wait_for_what_it_does_not_name() {
    for is_held in [true, false] {
        let copy = of_an_undated_list();
        let path = if is_held { "a.txt" } else { "new.txt" };
        copy.source.put(path, "never had");
        copy.source.fail_always(path, Fault::Status(404));
        let delete = |options: &mut SyncOptions| options.delete = true;
        let run = copy.sync_with(delete);
        assert_eq!((run.exit_code(), run.report().owed), (3, 1), "{:?}", run.heard);
        copy.source.delete(path);
        copy.source.put("b.txt", "later");
        copy.source.snapshot();
        copy.source.gap();
        let (result, heard) = copy.audit();
        let audited = result.unwrap();
        assert_eq!((audited.differing, audited.surplus), (1, u64::from(is_held)), "{heard:?}");
        let run = copy.sync_with(delete);
        assert_eq!((run.report().owed, run.report().deleted), (0, u64::from(is_held)), "{:?}", run.heard);
        in_step(&copy, &run);
    }
}

#[test]
fn o41_what_an_inventory_names_stays_pending_although_it_lists_something_later() {
    let copy = of_an_undated_list();
    copy.source.put("a.txt", "never had");
    copy.source.fail_always("a.txt", Fault::Status(404));
    assert_eq!(copy.sync().exit_code(), 3);
    copy.source.put("b.txt", "later");
    copy.source.snapshot();
    copy.source.gap();
    for _ in 0..2 {
        let run = copy.sync_with(|options| options.delete = true);
        assert_eq!((run.exit_code(), run.report().owed), (3, 1), "{:?}", run.heard);
    }
    copy.source.heal();
    in_step(&copy, &copy.sync());
}

#[test]
fn o39_what_was_asked_for_stays_of_the_last_known_change() {
    let copy = Copy::laid_out(|layout| (layout.lastmod, layout.change_index) = (false, false));
    copy.source.freeze(&["resourcelist.xml"]);
    copy.source.rewrite("resourcelist.xml", |text| without(&without(&text, "at"), "completed"));
    // The server never answers that the list is unchanged (304).
    copy.source.fail_always("a.txt", Fault::Header("ETag", "\"any\"".to_owned()));
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.lay_out(|layout| layout.algorithms = vec![Algorithm::Md5]);
    copy.source.put("a.txt", "changed");
    in_step(&copy, &copy.sync());
    copy.source.gap();
    for _ in 0..2 {
        in_step(&copy, &copy.sync_with(|options| options.repair = true));
        let (audited, heard) = copy.audit();
        assert_eq!(audited.map(|report| report.exit_code()).unwrap(), 0, "{heard:?}");
    }
}

#[test]
fn o24_a_lost_package_of_a_change_dump_is_made_up_for_by_an_inventory() {
    let copy = Copy::laid_out(|layout| (layout.change_list, layout.change_dump) = (false, true));
    copy.sync();
    copy.source.put("a.txt", "packed");
    copy.source.rotate();
    copy.source.snapshot();
    for path in ["changedump-000001.zip", "changedump-000001-manifest.xml"] {
        copy.source.fail_always(path, Fault::Status(500));
    }
    let run = copy.sync();
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
    assert_eq!(run.heard.problems.len(), 1, "{:?}", run.heard.problems);
}

#[test]
fn o25_an_audit_names_what_is_pending_although_nothing_is_held_of_it() {
    let mut layout = Layout::new();
    (layout.resource_list, layout.change_index) = (false, false);
    let copy = Copy::of(FakeSource::start_with(layout));
    copy.source.put("a.txt", "had");
    copy.source.put("b.txt", "not had");
    copy.source.fail_always("b.txt", Fault::Status(500));
    assert_eq!(copy.sync().exit_code(), 3);
    copy.source.gap();
    let (audited, heard) = copy.audit();
    assert_eq!(audited.map(|report| (report.exit_code(), report.failed)).unwrap(), (3, 1), "{heard:?}");
}

#[test]
fn o26_an_index_that_stays_as_it_is_hides_no_list_that_grew_while_it_was_lost() {
    let copy = Copy::of_three();
    copy.source.put("a.txt", "listed");
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.snapshot();
    copy.source.fail("changelist.xml", [Fault::Status(404), Fault::Status(404)]);
    assert_eq!(copy.sync().exit_code(), 3);
    copy.source.put("b.txt", "listed after the inventory");
    let run = copy.sync();
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o32_a_set_is_the_same_one_once_its_capability_list_can_be_had() {
    let copy = Copy::of_three();
    let from_list = |options: &mut SyncOptions| options.url = copy.source.resource_list_url();
    copy.source.fail_always("capabilitylist.xml", Fault::Status(503));
    copy.sync_with(from_list);
    copy.source.heal();
    copy.source.put("a.txt", "changed");
    let run = copy.sync_with(from_list);
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o27_an_inventory_that_does_not_say_its_time_ends_the_wait_for_bytes_that_are_gone() {
    let copy = of_an_undated_list();
    copy.source.put("a.txt", "second");
    copy.source.fail("a.txt", FAILURES);
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().owed), (3, 1), "{:?}", run.heard);
    copy.source.put("a.txt", "the third, of which no change is listed");
    copy.source.snapshot();
    copy.source.gap();
    let run = copy.sync();
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o30_what_was_deleted_and_is_kept_is_not_asked_for_because_an_inventory_names_it_that_may_be_older() {
    for has_time in [true, false] {
        // Entries without anything to compare are requested.
        let copy = Copy::laid_out(|layout| {
            (layout.lastmod, layout.length, layout.algorithms) = (false, false, Vec::new());
        });
        if !has_time {
            copy.source.rewrite("resourcelist.xml", |text| without(&without(&text, "at"), "completed"));
        }
        assert_eq!(copy.sync().exit_code(), 0);
        copy.source.delete("a.txt");
        let run = copy.sync();
        assert_eq!((run.exit_code(), run.report().kept), (0, 1), "{:?}", run.heard);
        // The second time no document shows the deletion.
        for _ in 0..2 {
            copy.source.forget_requests();
            let run = copy.sync_with(|options| options.repair = true);
            assert_eq!((run.exit_code(), run.report().kept), (0, 1), "{:?}", run.heard);
            let asked = ["a.txt", "b.txt"].map(|path| copy.source.requests_for(path) > 0);
            assert_eq!(asked, [false, true]);
            copy.source.gap();
        }
        copy.source.put("a.txt", "one");
        in_step(&copy, &copy.sync());
        copy.source.put("a.txt", "changed after it came back");
        copy.source.gap();
        copy.source.snapshot();
        in_step(&copy, &copy.sync_with(|options| options.repair = true));
    }
}

#[test]
fn o36_what_came_back_is_asked_for_because_a_new_inventory_lists_other_bytes() {
    for is_served in [true, false] {
        let copy = Copy::laid_out(|layout| layout.lastmod = false);
        copy.source.rewrite("resourcelist.xml", |text| without(&without(&text, "at"), "completed"));
        assert_eq!(copy.sync().exit_code(), 0);
        copy.source.delete("a.txt");
        let run = copy.sync();
        assert_eq!((run.exit_code(), run.report().kept), (0, 1), "{:?}", run.heard);
        // Only the inventory shows that it exists again.
        copy.source.put("a.txt", "came back with other bytes");
        copy.source.gap();
        copy.source.snapshot();
        if is_served {
            in_step(&copy, &copy.sync());
            copy.source.put("a.txt", "changed after it came back");
            copy.source.gap();
            copy.source.snapshot();
            in_step(&copy, &copy.sync());
        } else {
            copy.source.fail_always("a.txt", Fault::Status(404));
            let run = copy.sync();
            assert_eq!((run.exit_code(), run.report().owed), (3, 1), "{:?}", run.heard);
        }
    }
}

#[test]
fn o34_each_inventory_of_a_source_without_changes_is_its_newest_word() {
    let copy = Copy::laid_out(|layout| layout.change_list = false);
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.rewrite("resourcelist.xml", |text| without(&without(&text, "at"), "completed"));
    copy.source.put("new.txt", "never had");
    copy.source.fail_always("new.txt", Fault::Status(404));
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().owed), (3, 1), "{:?}", run.heard);
    copy.source.delete("new.txt");
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().owed), (0, 0), "{:?}", run.heard);
}

#[test]
fn o35_a_set_is_the_same_one_while_its_capability_list_cannot_be_had() {
    let copy = Copy::of_three();
    let from_list = |options: &mut SyncOptions| options.url = copy.source.resource_list_url();
    in_step(&copy, &copy.sync_with(from_list));
    copy.source.put("a.txt", "listed in the next inventory");
    copy.source.snapshot();
    copy.source.put("b.txt", "listed as a change, which nothing leads to for now");
    for path in ["capabilitylist.xml", "a.txt"] {
        copy.source.fail_always(path, Fault::Status(500));
    }
    let run = copy.sync_with(from_list);
    let (code, report) = (run.exit_code(), run.report());
    assert_eq!((code, report.owed, report.coverage), (3, 1, Some(Coverage::Unknown)), "{:?}", run.heard);
    copy.source.heal();
    let run = copy.sync_with(from_list);
    assert_eq!((run.exit_code(), run.report().owed), (0, 0), "{:?}", run.heard);
    in_step(&copy, &run);
    assert!(run.report().coverage.is_some_and(Coverage::is_complete), "{:?}", run.heard);
}

#[test]
fn o35_nothing_is_in_step_although_only_the_capability_list_cannot_be_had() {
    for (status, code) in [(404, 0), (503, 3)] {
        let copy = Copy::of_three();
        let from_list = |options: &mut SyncOptions| options.url = copy.source.resource_list_url();
        in_step(&copy, &copy.sync_with(from_list));
        copy.source.put("a.txt", "listed as a change, which nothing leads to for now");
        copy.source.fail_always("capabilitylist.xml", Fault::Status(status));
        let run = copy.sync_with(from_list);
        assert_eq!((run.exit_code(), run.report().coverage), (code, Some(Coverage::Unknown)), "{status}");
        copy.source.heal();
        in_step(&copy, &copy.sync_with(from_list));
    }
}

//! Guards: runs that are refused, and copies that stay whole.

use std::sync::atomic::{AtomicUsize, Ordering};

use instep_destination::{Guard, MaxDelete};
use instep_testkit::{FakeSource, Fault, Tree};

use crate::support::{Copy, many, refused};

fn of_many(count: usize) -> Copy {
    let copy = Copy::of(FakeSource::start().with_resources(many(count)));
    assert_eq!(copy.sync().exit_code(), 0);
    copy
}

#[test]
fn d35_half_of_a_copy_is_not_deleted() {
    let copy = of_many(100);
    many(50).iter().for_each(|(path, _)| copy.source.delete(path));
    copy.source.gap();
    copy.source.snapshot();
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), refused(&run)), (6, Some(Guard::MaxDelete)));
    assert_eq!(Tree::of(&copy.dir()).names().len(), 100);
    let run = copy.sync_with(|options| {
        options.delete = true;
        options.max_delete = MaxDelete::Percent(50);
    });
    assert_eq!((run.exit_code(), run.report().deleted), (0, 50));
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn d35_named_deletions_are_guarded_too() {
    let copy = of_many(100);
    many(50).iter().for_each(|(path, _)| copy.source.delete(path));
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), refused(&run)), (6, Some(Guard::MaxDelete)));
    assert_eq!(Tree::of(&copy.dir()).names().len(), 100);
}

#[test]
fn d35_what_the_guard_refuses_keeps_nothing_else_from_being_done() {
    let copy = of_many(100);
    many(50).iter().for_each(|(path, _)| copy.source.delete(path));
    copy.source.put("n/00099.txt", "newer");
    copy.source.put("new.txt", "new");
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), refused(&run)), (6, Some(Guard::MaxDelete)));
    assert_eq!(Tree::of(&copy.dir()).names().len(), 101, "none is deleted");
    assert_eq!(copy.read("n/00099.txt").as_deref(), Some("newer"));
    let run = copy.sync_with(|options| {
        options.delete = true;
        options.max_delete = MaxDelete::Count(50);
    });
    assert_eq!((run.exit_code(), run.report().deleted), (0, 50), "they are still known");
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn d35_a_plan_that_would_be_refused_can_be_looked_at() {
    let copy = of_many(100);
    many(50).iter().for_each(|(path, _)| copy.source.delete(path));
    let run = copy.sync_with(|options| (options.delete, options.dry_run) = (true, true));
    assert_eq!((run.exit_code(), refused(&run)), (6, Some(Guard::MaxDelete)));
    assert_eq!(run.heard.itemized.iter().filter(|item| item.starts_with('-')).count(), 50);
}

#[test]
fn d35_an_empty_list_is_nothing_to_do_without_delete_and_refused_with_it() {
    let copy = of_many(5);
    many(5).iter().for_each(|(path, _)| copy.source.delete(path));
    copy.source.gap();
    copy.source.snapshot();
    assert_eq!(copy.sync().exit_code(), 0);
    let all = |options: &mut instep_destination::SyncOptions| {
        options.delete = true;
        options.max_delete = MaxDelete::Percent(100);
    };
    let copy = {
        let fresh = of_many(5);
        many(5).iter().for_each(|(path, _)| fresh.source.delete(path));
        fresh.source.gap();
        fresh.source.snapshot();
        fresh
    };
    assert_eq!(refused(&copy.sync_with(all)), Some(Guard::Empty));
    let run = copy.sync_with(|options| {
        all(options);
        options.allow_empty = true;
    });
    assert_eq!((run.exit_code(), run.report().deleted), (0, 5));
}

#[test]
fn an_incomplete_inventory_deletes_nothing() {
    let copy = Copy::laid_out(|layout| {
        layout.part_entries = Some(1);
        layout.change_list = false;
    });
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.delete("a.txt");
    copy.source.fail_always("resourcelist-0002.xml", Fault::Status(404));
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().deleted), (3, 0));
    copy.source.heal();
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().deleted), (0, 1));
    assert_eq!(copy.differences(), [""; 0]);
}

/// Returns a copy of three resources in parts of one, and one of them gone since.
fn in_parts() -> Copy {
    let copy = Copy::laid_out(|layout| {
        layout.part_entries = Some(1);
        layout.change_list = false;
    });
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.delete("a.txt");
    copy.source.snapshot();
    copy.source.forget_requests();
    copy
}

const PART: &str = "resourcelist-0002.xml";

/// Gives the index another `at` for each of this number of requests.
fn published_anew(copy: &Copy, times: usize) {
    let asked = AtomicUsize::new(0);
    copy.source.rewrite("resourcelist.xml", move |text| {
        let number = asked.fetch_add(1, Ordering::SeqCst).min(times);
        let (head, tail) = text.split_once(" at=\"").unwrap();
        let (_, tail) = tail.split_once('"').unwrap();
        format!("{head} at=\"2027-01-01T00:00:{number:02}Z\"{tail}")
    });
}

#[test]
fn d39_parts_of_two_states_delete_nothing() {
    let copy = in_parts();
    published_anew(&copy, 59);
    let delete = |options: &mut instep_destination::SyncOptions| options.delete = true;
    let run = copy.sync_with(delete);
    assert_eq!((run.exit_code(), run.report().deleted), (3, 0));
    assert_eq!(copy.source.requests_for(PART), 3, "it is read three times and no more");
    let told = run.heard.problems.iter().filter(|(_, _, what)| what.contains("republished"));
    assert_eq!(told.count(), 1);
    copy.source.heal();
    let run = copy.sync_with(delete);
    assert_eq!((run.exit_code(), run.report().deleted), (0, 1));
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn d39_a_list_published_anew_under_the_reading_is_read_again() {
    for delete in [true, false] {
        let copy = in_parts();
        published_anew(&copy, 4);
        let run = copy.sync_with(|options| options.delete = delete);
        assert_eq!((run.exit_code(), run.report().deleted), (0, delete.into()), "{:?}", run.heard.problems);
        assert_eq!(copy.source.requests_for(PART), 3);
    }
}

#[test]
fn d39_a_part_that_is_younger_than_the_index_says_is_of_another_state() {
    let copy = in_parts();
    copy.source.rewrite("resourcelist.xml", |text| {
        text.replace("</loc>", "</loc><rs:md at=\"2026-01-01T00:00:00Z\"/>")
    });
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().deleted), (3, 0));
}

#[test]
fn o732_a_part_that_a_cache_has_from_before_its_index_deletes_nothing() {
    let copy = in_parts();
    copy.source.rewrite("resourcelist.xml", |text| {
        text.replace("</loc>", "</loc><rs:md at=\"2026-01-02T00:00:00Z\"/>")
    });
    let sent = |date: &str| Fault::Header("Date", date.to_owned());
    copy.source.fail_always(PART, sent("Thu, 01 Jan 2026 00:00:30 GMT"));
    copy.source.fail_always("resourcelist.xml", sent("Sat, 03 Jan 2026 00:00:00 GMT"));
    let delete = |options: &mut instep_destination::SyncOptions| options.delete = true;
    let run = copy.sync_with(delete);
    assert_eq!((run.exit_code(), run.report().deleted), (3, 0), "{:?}", run.heard.problems);
    copy.source.heal();
    let run = copy.sync_with(delete);
    assert_eq!((run.exit_code(), run.report().deleted), (0, 1), "{:?}", run.heard.problems);
}

#[test]
fn d39_a_resource_that_moves_between_parts_while_they_are_read_is_not_lost() {
    let copy = in_parts();
    copy.source.fail(PART, [Fault::Hold]);
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| copy.sync_with(|options| options.delete = true));
        copy.source.wait_for(PART, 1);
        copy.source.put("0.txt", "it moves each resource to the next part");
        copy.source.snapshot();
        copy.source.release();
        run.join().unwrap()
    });
    assert_eq!((run.exit_code(), run.report().created, run.report().deleted), (0, 1, 1));
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn d39_a_resource_newer_than_its_list_is_explained_by_the_next_list() {
    let copy = Copy::laid_out(|layout| layout.change_list = false);
    copy.source.fail("resourcelist.xml", [Fault::Hold]);
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| copy.sync());
        copy.source.wait_for("resourcelist.xml", 1);
        copy.source.put("b.txt", "newer than the list that was read");
        copy.source.snapshot();
        copy.source.release();
        run.join().unwrap()
    });
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard.problems);
    assert_eq!(copy.differences(), [""; 0]);
    assert_eq!(copy.sync().report().created, 0);
}

#[test]
fn d39_a_resource_that_no_list_explains_stays_a_problem() {
    let copy = Copy::laid_out(|layout| layout.change_list = false);
    copy.source.misstate("b.txt", |entry| entry.metadata.length = Some(1));
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().failed), (3, 1));
    assert_eq!(copy.read("b.txt"), None);
}

#[test]
fn d36_an_older_list_than_the_one_applied_is_refused() {
    let copy = Copy::laid_out(|layout| layout.change_list = false);
    let yesterday = String::from_utf8(copy.source.document("resourcelist.xml").unwrap()).unwrap();
    copy.source.put("a.txt", "today");
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.rewrite("resourcelist.xml", move |_| yesterday.clone());
    let run = copy.sync();
    assert_eq!((run.exit_code(), refused(&run)), (6, Some(Guard::TimeWentBack)));
    assert_eq!(copy.read("a.txt").as_deref(), Some("today"));
}

#[test]
fn d36_a_change_list_that_lost_its_end_is_refused() {
    let copy = Copy::of_three();
    copy.sync();
    let yesterday = copy.source.document("changelist-000001.xml").unwrap();
    copy.source.put("a.txt", "today");
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.rewrite("changelist-000001.xml", move |_| String::from_utf8(yesterday.clone()).unwrap());
    let run = copy.sync();
    assert_eq!((run.exit_code(), refused(&run)), (6, Some(Guard::TimeWentBack)));
}

#[test]
fn d37_a_frozen_source_is_refused_where_the_operator_says_so() {
    let copy = Copy::of_three();
    let age = std::time::Duration::from_secs(3600);
    let run = copy.sync_with(|options| options.max_age = Some(age));
    assert_eq!(refused(&run), Some(Guard::Frozen), "the fake Source's clock stands at the begin of 2026");
    assert_eq!(copy.sync().exit_code(), 0);
    let run = copy.sync_with(|options| options.max_age = Some(age));
    assert_eq!(refused(&run), Some(Guard::Frozen), "also where only changes would be read");
    let ages = std::time::Duration::from_secs(50 * 365 * 86_400);
    assert_eq!(copy.sync_with(|options| options.max_age = Some(ages)).exit_code(), 0);
}

#[test]
fn d43_a_second_run_on_the_same_copy_is_exit_7() {
    let copy = Copy::of_three();
    copy.source.fail_always("a.txt", Fault::Hold);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| copy.sync());
        copy.source.wait_for("a.txt", 1);
        let second = copy.sync();
        assert_eq!(second.exit_code(), 7, "{:?}", second.result);
        copy.source.release();
        assert_eq!(first.join().unwrap().exit_code(), 0);
    });
}

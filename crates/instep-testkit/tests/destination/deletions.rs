//! Deletions in Change Lists: applied when they are requested, and remembered until then.

use std::sync::Mutex;

use instep_destination::{
    Event, Letter, MaxDelete, Monitor, Outcome, Phase, Shutdown, SyncOptions, Via, sync,
};
use instep_testkit::{FakeSource, Fault, Layout};

use crate::support::{Copy, in_step, many, runtime, with_one_change_list, without};

#[test]
fn deletions_are_kept_unless_they_are_asked_for() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.delete("a.txt");
    assert_eq!(copy.sync().report().deleted, 0);
    assert_eq!(copy.read("a.txt").as_deref(), Some("one"));
}

#[test]
fn named_deletions_are_applied() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.delete("a.txt");
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().deleted), (0, 1));
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn a_deletion_that_was_kept_is_done_when_it_is_asked_for_later() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.delete("a.txt");
    copy.sync();
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), copy.differences()), (0, vec![]));
}

#[test]
fn o56_a_deletion_that_was_kept_is_carried_out_once_deletions_are_wanted_although_no_list_names_it() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.delete("a.txt");
    assert_eq!(copy.sync().report().kept, 1);
    copy.source.gap();
    copy.source.put("b.txt", "changed");
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().deleted), (0, 1), "{:?}", run.heard);
    assert_eq!(run.report().kept, 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o56_a_deletion_that_was_refused_is_carried_out_once_it_is_allowed_although_no_list_names_it() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.delete("a.txt");
    let run = copy.sync_with(|options| (options.delete, options.max_delete) = (true, MaxDelete::Count(0)));
    assert_eq!(run.exit_code(), 6, "{:?}", run.heard);
    copy.source.gap();
    copy.source.put("b.txt", "changed");
    let run = copy.sync_with(|options| (options.delete, options.max_delete) = (true, MaxDelete::Count(0)));
    assert_eq!(run.exit_code(), 6, "still: {:?}", run.heard);
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().deleted), (0, 1), "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

fn deleting(options: &mut SyncOptions) {
    options.delete = true;
}

#[test]
fn o63_what_was_deleted_and_exists_again_is_not_deleted_because_it_was_not_selected_meanwhile() {
    let without_a = |options: &mut SyncOptions| options.selection.exclude = vec!["a.txt".to_owned()];
    let copy = Copy::of_three();
    copy.sync();
    copy.source.delete("a.txt");
    assert_eq!(copy.sync_with(without_a).report().kept, 1);
    copy.source.put("a.txt", "again");
    assert_eq!(copy.sync_with(without_a).report().kept, 0);
    copy.source.put("b.txt", "changed");
    let run = copy.sync_with(|options| {
        without_a(options);
        deleting(options);
    });
    assert_eq!((run.exit_code(), run.report().deleted), (0, 0), "{:?}", run.heard);
    assert_eq!(copy.read("a.txt").as_deref(), Some("one"), "it is not selected, and stays");
    copy.sync_with(deleting);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o64_what_was_deleted_and_exists_again_is_not_counted_as_kept() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.delete("a.txt");
    assert_eq!(copy.sync().report().kept, 1);
    copy.source.put("a.txt", "again");
    assert_eq!(copy.sync().report().kept, 0);
    assert_eq!(copy.differences(), [""; 0]);
    copy.source.put("b.txt", "changed");
    assert_eq!(copy.sync().report().kept, 0);
}

#[test]
fn o63_what_was_deleted_and_exists_again_as_it_was_is_not_deleted_later() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.delete("a.txt");
    copy.sync();
    copy.source.put("a.txt", "one");
    assert_eq!(copy.sync().report().kept, 0);
    copy.source.put("b.txt", "changed");
    let run = copy.sync_with(deleting);
    assert_eq!((run.exit_code(), run.report().deleted), (0, 0), "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o64_what_an_inventory_no_longer_listed_and_exists_again_is_not_counted_as_kept() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.delete("a.txt");
    copy.source.gap();
    copy.source.snapshot();
    assert_eq!(copy.sync().report().kept, 1);
    copy.source.put("a.txt", "again");
    let run = copy.sync();
    assert_eq!((run.report().kept, run.report().is_in_step()), (0, true), "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o68_what_an_undated_list_names_again_and_is_pending_is_not_counted_as_kept_once_it_is_there() {
    let copy = Copy::laid_out(|layout| layout.change_list = false);
    copy.sync();
    copy.source.delete("a.txt");
    copy.source.snapshot();
    assert_eq!(copy.sync().report().kept, 1);
    copy.source.put("a.txt", "again");
    copy.source.snapshot();
    let list = String::from_utf8(copy.source.document("resourcelist.xml").unwrap()).unwrap();
    copy.source.serve("resourcelist.xml", without(&list, "at"));
    copy.source.fail_always("a.txt", Fault::Status(404));
    assert_eq!(copy.sync().exit_code(), 3);
    copy.source.heal();
    let run = copy.sync();
    assert_eq!((run.report().kept, run.report().is_in_step()), (0, true), "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o65_a_damaged_file_of_what_was_deleted_and_is_kept_is_reported_by_each_repair() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.delete("a.txt");
    copy.sync();
    std::fs::write(copy.dir().join("a.txt"), "damaged").unwrap();
    for _ in 0..2 {
        let run = copy.sync_with(|options| options.repair = true);
        assert_eq!((run.exit_code(), run.report().kept), (3, 1), "{:?}", run.heard);
        assert!(run.heard.problems[0].2.contains("no longer has"), "{:?}", run.heard.problems);
    }
    let run = copy.sync_with(|options| (options.repair, options.delete) = (true, true));
    assert_eq!((run.exit_code(), run.report().deleted), (0, 1), "{:?}", run.heard);
    copy.source.put("a.txt", "again");
    assert_eq!(copy.sync_with(|options| options.repair = true).exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o766_a_repair_that_finds_a_deletion_reports_the_damaged_file_of_what_is_kept() {
    for in_inventory in [false, true] {
        let copy = Copy::of_three();
        copy.sync();
        copy.source.delete("a.txt");
        if in_inventory {
            copy.source.snapshot();
        }
        std::fs::write(copy.dir().join("a.txt"), "damaged").unwrap();
        let run = copy.sync_with(|options| options.repair = true);
        assert_eq!((run.exit_code(), run.report().kept), (3, 1), "{:?}", run.heard);
        let is_told = run.heard.problems.iter().any(|(_, _, what)| what.contains("no longer has"));
        assert!(is_told, "{:?}", run.heard.problems);
    }
}

#[test]
fn o64_a_deletion_without_a_time_stays_counted_as_kept() {
    let copy = with_one_change_list();
    copy.source.rewrite("changelist.xml", |text| without(&text, "datetime"));
    copy.sync();
    copy.source.delete("a.txt");
    for _ in 0..2 {
        let run = copy.sync();
        assert_eq!((run.report().kept, run.report().is_in_step()), (1, false), "{:?}", run.heard);
    }
}

/// Records the phases of a run.
#[derive(Default)]
struct PhaseRecorder(Mutex<Vec<Phase>>);

impl Monitor for PhaseRecorder {
    fn event(&self, event: Event<'_>) {
        if let Event::Phase(phase) = event {
            self.0.lock().unwrap().push(phase);
        }
    }
}

#[test]
fn o755_a_run_that_deletes_nothing_is_never_in_the_phase_of_deleting() {
    let copy = Copy::of_three();
    let is_deleting = |delete| {
        let mut options = SyncOptions::new(copy.source.url(""), copy.dir());
        options.delete = delete;
        let recorder = PhaseRecorder::default();
        runtime().block_on(sync(&options, &recorder)).unwrap();
        recorder.0.into_inner().unwrap().contains(&Phase::Deleting)
    };
    assert!(!is_deleting(true), "the first copy");
    copy.source.delete("a.txt");
    assert!(!is_deleting(false));
    assert!(is_deleting(true));
}

/// Ends a run once it reports a deletion.
struct UntilDeleted(Shutdown);

impl Monitor for UntilDeleted {
    fn event(&self, event: Event<'_>) {
        if let Event::Committed(item) = event
            && item.letter == Letter::Gone
        {
            self.0.request();
        }
    }
}

#[test]
fn o404_deletions_are_reported_while_others_are_still_to_be_done() {
    // More than wait to be committed at a time, together with a group.
    const DELETED: usize = 8_000;
    let mut layout = Layout::new();
    layout.dump = true;
    let copy = Copy::of(FakeSource::start_with(layout).with_resources(many(DELETED + 1)));
    in_step(&copy, &copy.sync_with(|options| options.via = Via::Dump));
    many(DELETED).iter().for_each(|(path, _)| copy.source.delete(path));
    let mut options = SyncOptions::new(copy.source.url(""), copy.dir());
    (options.delete, options.max_delete) = (true, MaxDelete::Percent(100));
    let monitor = UntilDeleted(options.shutdown.clone());
    let report = runtime().block_on(sync(&options, &monitor)).unwrap();
    assert_eq!(report.outcome, Outcome::Interrupted);
    assert!((1..DELETED as u64).contains(&report.deleted), "{}", report.deleted);
}

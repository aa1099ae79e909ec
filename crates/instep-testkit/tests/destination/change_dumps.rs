//! Incremental synchronization with Change Dumps.

use instep_destination::{Strategy, Via};
use instep_testkit::Fault;
use resourcesync::{Algorithm, Link, MediaType, Relation, Uri};

use crate::support::{Copy, Run, in_step, many, reversed, without};

/// Returns a Source of three resources that offers changes only in Change Dumps.
fn with_change_dump() -> Copy {
    Copy::laid_out(|layout| {
        layout.change_list = false;
        layout.change_dump = true;
    })
}

/// Changes one resource twice, adds one, deletes one, and packs these changes.
fn change(copy: &Copy) {
    copy.source.put("a.txt", "in between");
    copy.source.put("a.txt", "newest");
    copy.source.put("e.txt", "new");
    copy.source.put("gone.txt", "for a moment");
    copy.source.delete("gone.txt");
    copy.source.delete("b.txt");
    copy.source.rotate();
}

fn requests(copy: &Copy, paths: &[&str]) -> Vec<usize> {
    paths.iter().map(|path| copy.source.requests_for(path)).collect()
}

fn deleting(copy: &Copy) -> Run {
    copy.source.forget_requests();
    copy.sync_with(|options| options.delete = true)
}

#[test]
fn several_states_of_a_resource_are_folded_and_the_newest_is_unpacked() {
    let copy = with_change_dump();
    deleting(&copy);
    change(&copy);
    let run = deleting(&copy);
    let report = run.report();
    assert_eq!((run.exit_code(), report.strategy), (0, Strategy::ChangeDump), "{}", report.reason);
    assert_eq!((report.created, report.updated, report.deleted), (1, 1, 1));
    assert_eq!(requests(&copy, &["a.txt", "e.txt", "gone.txt", "b.txt"]), [0; 4]);
    assert_eq!(copy.differences(), [""; 0]);
    let again = deleting(&copy);
    assert_eq!((again.exit_code(), again.report().strategy), (0, Strategy::Nothing));
    assert_eq!(copy.source.requests_for("changedump-000001.zip"), 0);
}

#[test]
fn change_dumps_under_an_index_are_followed_to_the_next() {
    let copy = with_change_dump();
    copy.source.lay_out(|layout| layout.change_dump_index = true);
    deleting(&copy);
    change(&copy);
    assert_eq!((deleting(&copy).exit_code(), copy.differences()), (0, vec![]));
    copy.source.put("a.txt", "newer still");
    copy.source.rotate();
    let run = deleting(&copy);
    assert_eq!((run.exit_code(), run.report().updated, copy.differences()), (0, 1, vec![]));
    assert_eq!(requests(&copy, &["changedump-000001.zip", "a.txt"]), [0; 2]);
}

#[test]
fn a_package_is_fetched_only_if_it_holds_something_wanted() {
    let copy = with_change_dump();
    deleting(&copy);
    copy.source.delete("b.txt");
    copy.source.rotate();
    copy.source.put("a.txt", "first");
    copy.source.rotate();
    copy.source.put("a.txt", "second");
    copy.source.rotate();
    let run = deleting(&copy);
    assert_eq!((run.exit_code(), copy.differences()), (0, vec![]));
    assert_eq!(requests(&copy, &["changedump-000001.zip", "changedump-000002.zip"]), [0, 0]);
    assert_eq!(requests(&copy, &["changedump-000001-manifest.xml", "changedump-000003.zip"]), [1, 1]);
}

#[test]
fn without_copies_of_the_manifests_the_packages_tell() {
    let copy = with_change_dump();
    copy.source.lay_out(|layout| layout.contents = false);
    deleting(&copy);
    change(&copy);
    let run = deleting(&copy);
    assert_eq!(
        (run.exit_code(), run.report().strategy, copy.differences()),
        (0, Strategy::ChangeDump, vec![])
    );
    assert_eq!(requests(&copy, &["a.txt", "changedump-000001.zip"]), [0, 1]);
}

#[test]
fn a_source_of_change_dumps_only_is_followed_from_its_first_change() {
    let copy = with_change_dump();
    copy.source.lay_out(|layout| layout.resource_list = false);
    change(&copy);
    let run = deleting(&copy);
    let report = run.report();
    assert_eq!((run.exit_code(), report.strategy, report.created), (0, Strategy::ChangeDump, 2));
    assert!(report.reason.contains("no inventory"), "{}", report.reason);
    assert_eq!((copy.read("a.txt").as_deref(), copy.read("gone.txt")), (Some("newest"), None));
    copy.source.delete("e.txt");
    copy.source.rotate();
    let run = deleting(&copy);
    assert_eq!((run.exit_code(), run.report().deleted, copy.read("e.txt")), (0, 1, None));
}

#[test]
fn a_resource_dump_is_followed_by_change_dumps() {
    let copy = with_change_dump();
    copy.source.lay_out(|layout| {
        layout.resource_list = false;
        layout.dump = true;
    });
    // Without a Change List, each change also renews the dump, so the later ones are written by hand.
    copy.source.lay_out(|layout| layout.change_list = true);
    change(&copy);
    copy.source.lay_out(|layout| layout.change_list = false);
    let run = deleting(&copy);
    assert_eq!((run.exit_code(), run.report().strategy, copy.differences()), (0, Strategy::Dump, vec![]));
    assert_eq!(requests(&copy, &["a.txt", "b.txt", "d/c.txt", "e.txt"]), [0; 4]);
    let (audit, _) = copy.audit();
    let audit = audit.unwrap();
    assert_eq!((audit.exit_code(), audit.same, audit.unauditable), (0, 3, 0));
}

#[test]
fn what_only_changes_tell_of_cannot_be_audited_as_a_whole_and_that_is_said() {
    let copy = with_change_dump();
    deleting(&copy);
    copy.source.lay_out(|layout| layout.resource_list = false);
    copy.source.put("a.txt", "unseen");
    copy.source.rotate();
    let (audit, heard) = copy.audit();
    let audit = audit.unwrap();
    assert_eq!((audit.differing, audit.unauditable), (1, 2));
    assert!(heard.notes.iter().any(|note| note.contains("no inventory")), "{:?}", heard.notes);
}

#[test]
fn d33_a_damaged_package_costs_requests_and_no_resource() {
    let copy = with_change_dump();
    deleting(&copy);
    change(&copy);
    copy.source.fail_always("changedump-000001.zip", Fault::Body(b"no package".to_vec()));
    let run = deleting(&copy);
    assert_eq!((run.exit_code(), copy.differences()), (0, vec![]));
    assert_eq!(requests(&copy, &["a.txt", "e.txt"]), [1, 1]);
}

#[test]
fn incremental_does_not_advance_past_a_lost_package() {
    let copy = with_change_dump();
    copy.source.lay_out(|layout| layout.contents = false);
    deleting(&copy);
    // No inventory could replace the package.
    copy.source.freeze(&["resourcelist.xml"]);
    copy.source.put("a.txt", "lost at first");
    copy.source.rotate();
    copy.source.put("b.txt", "changed too");
    copy.source.rotate();
    copy.source.fail_always("changedump-000001.zip", Fault::Status(404));
    let run = deleting(&copy);
    assert_eq!(run.exit_code(), 3);
    assert_eq!(
        (copy.read("a.txt").as_deref(), copy.read("b.txt").as_deref()),
        (Some("one"), Some("changed too"))
    );
    copy.source.heal();
    assert_eq!((deleting(&copy).exit_code(), copy.differences()), (0, vec![]));
}

#[test]
fn o1081_a_package_of_changes_with_the_loc_of_another_one_is_lost() {
    let copy = with_change_dump();
    copy.source.lay_out(|layout| layout.contents = false);
    deleting(&copy);
    copy.source.freeze(&["resourcelist.xml"]);
    copy.source.put("a.txt", "of the first package");
    copy.source.rotate();
    copy.source.put("b.txt", "of the second one");
    copy.source.rotate();
    copy.source.rewrite("changedump.xml", |text| {
        let text = without(&without(&text, "length"), "hash");
        text.replace("changedump-000002.zip", "changedump-000001.zip")
    });
    for _ in 0..2 {
        let run = deleting(&copy);
        assert_eq!((run.exit_code(), run.report().is_in_step()), (3, false), "{:?}", run.heard);
        assert_eq!(copy.read("a.txt").as_deref(), Some("of the first package"));
    }
    copy.source.heal();
    let run = deleting(&copy);
    assert_eq!((run.exit_code(), copy.differences()), (0, vec![]), "{:?}", run.heard);
}

#[test]
fn o1078_beside_a_lost_package_the_changes_of_the_change_lists_are_applied() {
    let copy = Copy::laid_out(|layout| (layout.change_dump, layout.contents) = (true, false));
    deleting(&copy);
    copy.source.put("a.txt", "packed");
    copy.source.rotate();
    copy.source.freeze(&["changedump.xml", "changedump-000001.zip"]);
    copy.source.gap();
    copy.source.put("b.txt", "listed");
    copy.source.fail_always("changedump-000001.zip", Fault::Body(b"cut off".to_vec()));
    for requested in [1, 0] {
        let run = deleting(&copy);
        let held = ["a.txt", "b.txt"].map(|path| copy.read(path).unwrap_or_default());
        assert_eq!((run.exit_code(), held), (3, ["one", "listed"].map(str::to_owned)), "{:?}", run.heard);
        assert_eq!(requests(&copy, &["b.txt"]), [requested]);
    }
    copy.source.heal();
    let run = deleting(&copy);
    assert_eq!((run.exit_code(), copy.differences()), (0, vec![]), "{:?}", run.heard);
}

#[test]
fn d40_change_dumps_that_begin_too_late_are_a_gap() {
    let copy = with_change_dump();
    deleting(&copy);
    copy.source.lay_out(|layout| layout.change_list = true);
    copy.source.put("a.txt", "forgotten");
    copy.source.gap();
    copy.source.lay_out(|layout| layout.change_list = false);
    copy.source.put("b.txt", "told");
    copy.source.rotate();
    copy.source.snapshot();
    let run = deleting(&copy);
    assert_eq!((run.exit_code(), run.report().strategy, copy.differences()), (0, Strategy::List, vec![]));
    assert!(run.report().reason.contains("gap"), "{}", run.report().reason);
    let refused = copy.sync_with(|options| options.via = Via::Changes);
    assert_eq!(refused.exit_code(), 0);
}

#[test]
fn many_changes_of_a_list_come_by_the_change_dump() {
    let copy = Copy::laid_out(|layout| layout.change_dump = true);
    deleting(&copy);
    for (path, text) in many(1_500) {
        copy.source.put(&path, text);
    }
    copy.source.rotate();
    copy.source.put("late.txt", "not packed yet");
    let run = deleting(&copy);
    let report = run.report();
    assert_eq!((run.exit_code(), report.strategy), (0, Strategy::ChangeDump), "{}", report.reason);
    assert!(report.reason.contains("saves requests"), "{}", report.reason);
    assert_eq!(requests(&copy, &["n/00000.txt", "n/01499.txt", "late.txt"]), [0, 0, 1]);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn a_patch_in_the_package_is_applied_to_the_held_version() {
    let copy = with_change_dump();
    copy.source.put("a.json", "{\"a\": 1}");
    copy.source.snapshot();
    copy.source.rotate();
    deleting(&copy);
    let newest = "{\"a\":2}";
    copy.source.put("a.json", newest);
    copy.source.rotate();
    copy.source.misstate("a.json", |entry| {
        if entry.metadata.change.is_some() {
            let href = Uri::parse("http://127.0.0.1:9/elsewhere.json").unwrap();
            let mut patch = Link::new(Relation::Patch, href);
            patch.path = entry.metadata.path.take();
            patch.media_type = Some(MediaType::new("application/json-patch+json"));
            entry.links.push(patch);
        }
    });
    let patch = br#"[{"op": "replace", "path": "/a", "value": 2}]"#;
    copy.source.pack_instead("a.json", newest, patch);
    let run = deleting(&copy);
    assert_eq!((run.exit_code(), run.report().updated), (0, 1), "{:?}", run.heard);
    assert_eq!((copy.source.requests_for("a.json"), copy.read("a.json").as_deref()), (0, Some(newest)));
}

#[test]
fn d36_an_older_change_dump_is_not_applied_again() {
    let copy = with_change_dump();
    deleting(&copy);
    copy.source.put("a.txt", "old");
    copy.source.rotate();
    let old = copy.source.document("changedump.xml").unwrap();
    copy.source.put("a.txt", "new");
    copy.source.rotate();
    deleting(&copy);
    copy.source.serve("changedump.xml", old);
    let run = deleting(&copy);
    assert_eq!((run.exit_code(), copy.read("a.txt").as_deref()), (0, Some("new")), "{:?}", run.result);
}

#[test]
fn a_state_without_digest_is_told_from_others_by_its_time() {
    let copy = with_change_dump();
    copy.source.lay_out(|layout| {
        layout.algorithms = Vec::<Algorithm>::new();
        layout.lastmod = false;
    });
    deleting(&copy);
    copy.source.put("a.txt", "first");
    copy.source.put("a.txt", "other");
    copy.source.rotate();
    let run = deleting(&copy);
    assert_eq!((run.exit_code(), copy.read("a.txt").as_deref()), (0, Some("other")));
    assert_eq!(copy.source.requests_for("a.txt"), 0);
}

#[test]
fn o378_after_a_change_dump_an_index_of_change_lists_that_stays_as_it_is_is_read() {
    let copy = Copy::laid_out(|layout| layout.change_dump = true);
    deleting(&copy);
    change(&copy);
    assert_eq!((deleting(&copy).exit_code(), copy.differences()), (0, vec![]));
    copy.source.fail_always("changelist.xml", Fault::Status(500));
    let run = deleting(&copy);
    assert_eq!(run.report().reason, "the inventory is the one that was applied; changes are listed");
    assert_ne!(requests(&copy, &["changedump.xml"]), [0]);
    copy.source.heal();
    copy.source.put("a.txt", "in a list of an index that was read before");
    let run = deleting(&copy);
    assert_eq!((run.exit_code(), copy.differences()), (0, vec![]), "{:?}", run.heard);
}

#[test]
fn o702_packages_that_are_listed_newest_first_are_all_read() {
    let copy = with_change_dump();
    copy.source.rewrite("changedump.xml", |text| reversed(&text, "url"));
    deleting(&copy);
    for texts in [&["first", "second"] as &[&str], &["third"], &["fourth", "fifth"]] {
        for text in texts {
            copy.source.put("a.txt", *text);
            copy.source.rotate();
        }
        let run = deleting(&copy);
        in_step(&copy, &run);
        assert!(run.report().is_in_step(), "{texts:?}: {:?}", run.heard);
    }
}

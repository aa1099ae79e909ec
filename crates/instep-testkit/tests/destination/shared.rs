//! Resources that several sets of a Source share: the statements of one set about them, and later ones of another
//! set.

use instep_destination::SyncOptions;
use instep_testkit::{FakeSource, Fault, Layout, Tree};

use super::sets::{list_shared, of_lists_and, publish, two_sets};
use crate::support::{Copy, SPACES, in_step, many};

#[test]
fn a_shared_resource_stays_until_no_set_holds_it() {
    let copy = of_lists_and(("shared.txt", "of both"));
    let delete = |options: &mut SyncOptions| (options.delete, options.allow_empty) = (true, true);
    let in_step = |second, sets: [&[&str]; 2], left: &[&str]| {
        publish(&copy.source, second, sets);
        let run = copy.sync_with(delete);
        assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
        assert_eq!(Tree::of(&copy.dir()).names(), left);
    };
    in_step(
        0,
        [&["own-1.txt", "shared.txt"], &["own-2.txt", "shared.txt"]],
        &["own-1.txt", "own-2.txt", "shared.txt"],
    );
    assert_eq!(copy.source.requests_for("shared.txt"), 1, "it is fetched once");
    in_step(1, [&["own-1.txt"], &["own-2.txt", "shared.txt"]], &["own-1.txt", "own-2.txt", "shared.txt"]);
    in_step(2, [&["own-1.txt"], &["own-2.txt"]], &["own-1.txt", "own-2.txt"]);
}

#[test]
fn o795_an_audit_and_a_dry_run_find_what_all_sets_have_given_up() {
    let copy = of_lists_and(("shared.txt", "of both"));
    publish(&copy.source, 0, [&["own-1.txt", "shared.txt"], &["own-2.txt", "shared.txt"]]);
    in_step(&copy, &copy.sync());
    copy.source.delete("shared.txt");
    publish(&copy.source, 1, [&["own-1.txt"], &["own-2.txt"]]);
    let (audited, heard) = copy.audit();
    assert_eq!(audited.map(|report| (report.surplus, report.exit_code())).unwrap(), (1, 20), "{heard:?}");
    for dry_run in [true, false] {
        let run = copy.sync_with(|options| (options.delete, options.dry_run) = (true, dry_run));
        assert_eq!((run.exit_code(), run.report().deleted), (0, 1), "{:?}", run.heard);
    }
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o37_an_inventory_that_was_applied_takes_back_nothing_that_came_by_another_set_since() {
    for [at, later] in [["at='2026-01-02T00:00:00Z'", "at='2026-01-06T00:00:00Z'"], ["", ""]] {
        for (newer, repair) in [("one", false), ("two", false), ("one", true), ("two", true)] {
            let mut layout = Layout::new();
            layout.change_list = false;
            let copy = Copy::of(FakeSource::start_with(layout).with_resources([("shared.txt", "first")]));
            publish(&copy.source, 0, [&["shared.txt"], &["shared.txt"]]);
            for name in ["one", "two"] {
                list_shared(&copy.source, name, at, 1, "first".len());
            }
            in_step(&copy, &copy.sync());
            copy.source.put("shared.txt", "the second");
            list_shared(&copy.source, newer, later, 5, "the second".len());
            in_step(&copy, &copy.sync());
            in_step(&copy, &copy.sync_with(|options| options.repair = repair));
            let (audited, heard) = copy.audit();
            assert_eq!(audited.map(|report| report.exit_code()).unwrap(), 0, "{heard:?}");
        }
    }
}

#[test]
fn o37_what_the_inventory_of_a_set_lists_and_could_not_be_had_stays_pending() {
    let mut layout = Layout::new();
    layout.change_list = false;
    let copy = Copy::of(FakeSource::start_with(layout).with_resources([("shared.txt", "first")]));
    publish(&copy.source, 0, [&["shared.txt"], &["shared.txt"]]);
    for name in ["one", "two"] {
        list_shared(&copy.source, name, "", 1, "first".len());
    }
    in_step(&copy, &copy.sync());
    copy.source.put("shared.txt", "the second");
    list_shared(&copy.source, "one", "", 5, "the second".len());
    copy.source.fail_always("shared.txt", Fault::Status(500));
    for repair in [false, true] {
        let run = copy.sync_with(|options| options.repair = repair);
        assert_eq!((run.exit_code(), run.report().owed), (3, 1), "{:?}", run.heard);
    }
    copy.source.heal();
    in_step(&copy, &copy.sync());
}

#[test]
fn o44_an_older_inventory_takes_back_nothing_that_another_set_told_of_later() {
    for fails_first in [false, true] {
        let mut layout = Layout::new();
        layout.change_list = false;
        let copy = Copy::of(FakeSource::start_with(layout).with_resources([("shared.txt", "first")]));
        publish(&copy.source, 0, [&["shared.txt"], &["shared.txt"]]);
        for name in ["one", "two"] {
            list_shared(&copy.source, name, "at='2026-01-02T00:00:00Z'", 1, "first".len());
        }
        if fails_first {
            copy.source.fail_always("shared.txt", Fault::Status(500));
        }
        assert_eq!(copy.sync().exit_code(), if fails_first { 3 } else { 0 });
        copy.source.heal();
        copy.source.put("shared.txt", "the second");
        list_shared(&copy.source, "one", "at='2026-01-06T00:00:00Z'", 5, "the second".len());
        // Published again, with a time before the change.
        list_shared(&copy.source, "two", "at='2026-01-04T00:00:00Z'", 1, "first".len());
        let (audited, heard) = copy.audit();
        assert!(audited.is_ok_and(|report| report.missing + report.differing > 0), "{heard:?}");
        for repair in [false, true] {
            in_step(&copy, &copy.sync_with(|options| options.repair = repair));
            let (audited, heard) = copy.audit();
            assert_eq!(audited.map(|report| report.exit_code()).unwrap(), 0, "{heard:?}");
        }
    }
}

#[test]
fn b16_what_one_set_drops_and_another_holds_is_no_deletion() {
    let copy = Copy::of(FakeSource::start().with_resources(many(40)));
    let list = |name: &str, second: u32, count: usize| {
        let resource = |(path, _): (String, String)| {
            format!("<url><loc>{}</loc><lastmod>2026-01-01T00:00:00Z</lastmod></url>", copy.source.url(&path))
        };
        let resources: String = many(count).into_iter().map(resource).collect();
        let root = format!("<rs:md capability='resourcelist' at='2026-01-02T00:00:{second:02}Z'/>");
        copy.source.serve(name, format!("<urlset {SPACES}>{root}{resources}</urlset>"));
    };
    two_sets(&copy.source);
    list("one-list.xml", 0, 40);
    list("two-list.xml", 0, 40);
    assert_eq!(copy.sync().exit_code(), 0);
    list("one-list.xml", 1, 1);
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().deleted), (0, 0), "{:?}", run.heard);
    assert_eq!(Tree::of(&copy.dir()).names().len(), 40);
}

//! Sources that were restored from a backup: their lists lack changes that a copy applied.

use std::fmt::Display;

use instep_destination::{Coverage, Guard};
use instep_testkit::{FakeSource, Fault};
use resourcesync::DateTime;

use crate::{
    sets::document,
    support::{Copy, Run, SPACES, in_step, refused},
};

const DAY: i64 = 86_400;

/// Takes the changes of a resource out of the Change List.
fn lose(source: &FakeSource, path: &'static str) {
    source.rewrite("changelist-000001.xml", move |text| {
        let mut entries = text.split("<url>");
        let head = entries.next().unwrap_or_default().to_owned();
        let kept: String = entries
            .filter(|entry| !entry.contains(path) || !entry.contains("<loc>"))
            .map(|entry| format!("<url>{entry}"))
            .collect();
        let end = if kept.contains("</urlset>") { "" } else { "</urlset>" };
        head + &kept + end
    });
}

/// Returns a second of the day on which these Sources publish.
fn time(second: u32) -> String {
    format!("2026-01-02T00:00:{second:02}Z")
}

/// Serves an inventory of two resources, of which the first has a length, beside an index of Change Lists.
fn serve_inventory(source: &FakeSource, second: u32, length: u32) {
    let offers = [
        ("list.xml", "<rs:md capability='resourcelist'/>"),
        ("changes.xml", "<rs:md capability='changelist'/>"),
    ];
    source.serve("capabilitylist.xml", document(source, "capabilitylist", "", &offers));
    let (at, a) = (format!("at='{}'", time(second)), format!("<rs:md length='{length}'/>"));
    let entries = [("a.txt", a.as_str()), ("b.txt", "<rs:md length='3'/>")];
    source.serve("list.xml", document(source, "resourcelist", &at, &entries));
}

/// Serves the index of the Change Lists, each with its times.
fn serve_index(source: &FakeSource, lists: &[(&str, impl Display)]) {
    let members: String = lists
        .iter()
        .map(|(path, times)| format!("<sitemap><loc>{}</loc><rs:md {times}/></sitemap>", source.url(path)))
        .collect();
    let root = format!("<rs:md capability='changelist' from='{}'/>", time(1));
    source.serve("changes.xml", format!("<sitemapindex {SPACES}>{root}{members}</sitemapindex>"));
}

fn coverage(run: &Run) -> Option<Coverage> {
    run.report().coverage
}

#[test]
fn o411_a_copy_is_in_step_only_with_an_inventory_after_its_source_was_restored() {
    let copy = Copy::of_three();
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.put("a.txt", "after the backup");
    copy.source.put("b.txt", "as well");
    assert!(coverage(&copy.sync()).unwrap().is_complete());
    copy.source.put("a.txt", "as in the backup");
    copy.source.put("d/c.txt", "after the restoration");
    lose(&copy.source, "/a.txt");
    for run in [copy.sync(), copy.sync()] {
        assert_eq!((run.exit_code(), coverage(&run)), (0, Some(Coverage::Unknown)));
        assert_eq!(copy.read("d/c.txt").as_deref(), Some("after the restoration"));
        assert_eq!(copy.read("a.txt").as_deref(), Some("after the backup"), "no list tells of it");
    }
    copy.source.snapshot();
    let run = copy.sync();
    assert!(run.exit_code() == 0 && coverage(&run).unwrap().is_complete(), "{:?}", run.result);
    assert_eq!(copy.differences(), [""; 0]);
}

/// Returns a copy of a Source that was then restored from a backup, and changed.
fn of_a_restored_source() -> Copy {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "after the backup");
    copy.source.put("b.txt", "as well");
    assert!(coverage(&copy.sync()).unwrap().is_complete());
    copy.source.put("d/c.txt", "after the restoration");
    lose(&copy.source, "/a.txt");
    copy
}

/// Returns a copy of a Source whose Change Lists then begin earlier, because its clock went back and was put right.
fn whose_lists_begin_earlier() -> Copy {
    let copy = Copy::of_three();
    copy.source.rewrite("changelist.xml", |text| text.replace("from=\"2026-01-01", "from=\"2026-01-02"));
    copy.source.clock().advance(2 * DAY);
    copy.source.snapshot();
    assert!(coverage(&copy.sync()).unwrap().is_complete());
    copy.source.clock().advance(-DAY);
    copy.source.put("b.txt", "by a clock that went back");
    copy.source.clock().advance(2 * DAY);
    copy.source.put("d/c.txt", "by the right clock again");
    copy.source.rewrite("changelist.xml", |text| text);
    copy
}

#[test]
fn o703_a_dry_run_reports_the_coverage_that_the_run_has() {
    for copy in [of_a_restored_source(), whose_lists_begin_earlier()] {
        // A dry run records nothing, so that the next one finds the same.
        for _ in 0..2 {
            let run = copy.sync_with(|options| options.dry_run = true);
            assert_eq!((run.exit_code(), coverage(&run)), (0, Some(Coverage::Unknown)), "{:?}", run.heard);
        }
        assert_eq!(coverage(&copy.sync()), Some(Coverage::Unknown));
    }
}

#[test]
fn o704_an_audit_reports_the_coverage_that_the_next_run_has() {
    for copy in [of_a_restored_source(), whose_lists_begin_earlier()] {
        let audited = || {
            let (result, heard) = copy.audit();
            (result.unwrap().coverage, heard.notes)
        };
        let (covered, notes) = audited();
        assert_eq!(covered, Some(Coverage::Unknown), "{notes:?}");
        assert!(notes.iter().any(|note| note.contains("only a later inventory")), "{notes:?}");
        assert_eq!(coverage(&copy.sync()), Some(Coverage::Unknown));
        assert_eq!(audited().0, Some(Coverage::Unknown), "the run has recorded it");

        copy.source.snapshot();
        assert!(audited().0.is_some_and(Coverage::is_complete), "by the new inventory");
        assert!(coverage(&copy.sync()).is_some_and(Coverage::is_complete));
        assert!(audited().0.is_some_and(Coverage::is_complete), "by the inventory that was applied");
    }
}

#[test]
fn o705_changes_that_are_no_longer_listed_are_noticed_also_beside_an_inventory() {
    let copy = of_a_restored_source();
    // Deletions are allowed now, so that the complete copy is compared.
    let sync = || copy.sync_with(|options| options.delete = true);
    for run in [sync(), sync()] {
        assert_eq!((run.exit_code(), coverage(&run)), (0, Some(Coverage::Unknown)), "{:?}", run.heard);
    }
    copy.source.snapshot();
    assert!(coverage(&sync()).is_some_and(Coverage::is_complete));
}

/// Checks that changes of a right clock are applied, and that only a later inventory ends the doubt about the others.
fn doubts_until_an_inventory(copy: &Copy) {
    for run in [copy.sync(), copy.sync()] {
        assert_eq!((run.exit_code(), coverage(&run)), (0, Some(Coverage::Unknown)), "{:?}", run.heard);
        assert_eq!(copy.read("d/c.txt").as_deref(), Some("by the right clock again"));
    }
    copy.source.snapshot();
    let run = copy.sync();
    assert!(run.exit_code() == 0 && coverage(&run).unwrap().is_complete(), "{:?}", run.result);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o706_a_change_list_of_a_clock_that_went_back_is_recognized_although_it_begins_later() {
    for change_index in [false, true] {
        let copy = Copy::laid_out(|layout| layout.change_index = change_index);
        copy.source.clock().advance(10 * DAY);
        copy.source.put("a.txt", "by the right clock");
        assert!(coverage(&copy.sync()).unwrap().is_complete());
        // The clock goes back, a list begins, and the clock is right again before the next run.
        copy.source.clock().advance(-3 * DAY);
        copy.source.rotate();
        copy.source.put("b.txt", "by a clock that went back");
        copy.source.clock().advance(4 * DAY);
        copy.source.put("d/c.txt", "by the right clock again");
        doubts_until_an_inventory(&copy);
    }
}

#[test]
fn o864_a_list_that_states_its_end_before_its_last_change_shows_no_step_of_the_clock() {
    let copy = Copy::of_three();
    // The Source lists closed intervals only, and changes that came later than their ends.
    copy.source.rewrite("changelist.xml", |text| match text.rfind("<sitemap>") {
        Some(open) => format!("{}</sitemapindex>", &text[..open]),
        None => text,
    });
    for (path, late) in [("a.txt", "2026-01-01T06:00:00Z"), ("b.txt", "2026-01-01T14:00:00Z")] {
        let late = DateTime::parse(late).unwrap();
        copy.source.misstate(path, move |entry| {
            entry.metadata.datetime = entry.metadata.datetime.map(|_| late);
        });
        copy.source.put(path, "changed");
        copy.source.rotate();
        let run = copy.sync();
        in_step(&copy, &run);
        assert!(run.report().is_in_step(), "{path}: {:?}", run.heard);
        copy.source.clock().advance(8 * 3_600);
    }
}

#[test]
fn o864_a_list_whose_last_changes_moved_to_the_next_one_shows_no_step_of_the_clock() {
    let copy = Copy::of_three();
    copy.source.put("a.txt", "in the first list");
    let end = copy.source.clock().advance(3_600).to_string();
    copy.source.clock().advance(3_600);
    copy.source.put("b.txt", "in the first list, and then in the second");
    assert!(copy.sync().report().is_in_step());

    let open = String::from_utf8(copy.source.document("changelist-000001.xml").unwrap()).unwrap();
    let (_, last) = open.rsplit_once("<url>").unwrap();
    let moved = format!("<url>{}", last.split_once("</urlset>").unwrap().0);
    copy.source.rotate();
    let now = copy.source.clock().now().to_string();
    let ended = move |text: String| text.replace(&now, &end);
    copy.source.rewrite("changelist.xml", ended.clone());
    let first = ended.clone();
    copy.source.rewrite("changelist-000001.xml", move |text| {
        let text = first(text);
        let (others, _) = text.rsplit_once("<url>").unwrap();
        format!("{others}</urlset>")
    });
    copy.source.rewrite("changelist-000002.xml", move |text| {
        let mut text = ended(text);
        let place = text.find("<url>").or_else(|| text.find("</urlset>")).unwrap();
        text.insert_str(place, &moved);
        text
    });
    for text in ["in the second list", "in the second list, later"] {
        copy.source.put("d/c.txt", text);
        let run = copy.sync();
        in_step(&copy, &run);
        assert!(run.report().is_in_step(), "{:?}", run.heard);
    }
}

#[test]
fn o864_a_list_of_the_last_change_of_each_resource_shows_no_step_of_the_clock() {
    let copy = Copy::laid_out(|layout| layout.change_index = false);
    let before = copy.source.clock().now().to_string();
    let begins = copy.source.clock().advance(60).to_string();
    copy.source.put("a.txt", "changed once");
    copy.source.clock().advance(3_600);
    copy.source.put("b.txt", "changed first");
    assert!(copy.sync().report().is_in_step());
    copy.source.put("b.txt", "changed again");
    // It begins later now, and has the later one of the two changes only.
    copy.source.rewrite("changelist.xml", move |text| {
        let mut parts: Vec<&str> = text.split_inclusive("</url>").collect();
        parts.remove(1);
        parts.concat().replacen(&before, &begins, 1)
    });
    let run = copy.sync();
    in_step(&copy, &run);
    assert!(run.report().is_in_step(), "{:?}", run.heard);
}

#[test]
fn o658_changes_that_are_lost_while_resources_are_fetched_are_noticed_by_the_next_run() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "after the backup");
    copy.source.put("b.txt", "as well");
    assert!(coverage(&copy.sync()).unwrap().is_complete());
    // No list explains its length, so the changes are read again.
    copy.source.misstate("d/c.txt", |entry| entry.metadata.length = Some(1));
    copy.source.put("d/c.txt", "changed");
    copy.source.fail("d/c.txt", [Fault::Hold]);
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| copy.sync());
        copy.source.wait_for("d/c.txt", 2);
        copy.source.put("b.txt", "after the restoration");
        lose(&copy.source, "/a.txt");
        copy.source.release();
        run.join().unwrap()
    });
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    assert_eq!(copy.read("b.txt").as_deref(), Some("after the restoration"));
    let run = copy.sync();
    assert_eq!(coverage(&run), Some(Coverage::Unknown), "{:?}", run.heard);
}

#[test]
fn o966_lists_that_begin_earlier_while_resources_are_fetched_are_noticed_by_the_next_run() {
    let copy = Copy::of_three();
    copy.source.rewrite("changelist.xml", |text| text.replace("from=\"2026-01-01", "from=\"2026-01-02"));
    copy.source.clock().advance(2 * DAY);
    copy.source.snapshot();
    assert!(coverage(&copy.sync()).unwrap().is_complete());
    // No list explains its length, so the changes are read again.
    copy.source.misstate("d/c.txt", |entry| entry.metadata.length = Some(1));
    copy.source.put("d/c.txt", "changed");
    copy.source.fail("d/c.txt", [Fault::Hold]);
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| copy.sync());
        copy.source.wait_for("d/c.txt", 2);
        copy.source.put("b.txt", "later");
        copy.source.rewrite("changelist.xml", |text| text);
        copy.source.release();
        run.join().unwrap()
    });
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    let run = copy.sync();
    assert_eq!(coverage(&run), Some(Coverage::Unknown), "{:?}", run.heard);
}

#[test]
fn o965_a_list_of_the_last_changes_whose_beginning_moves_shows_no_clock_that_went_back() {
    let copy = Copy::of_three();
    copy.source.clock().advance(10 * DAY);
    let publish = |from: u32, changes: [(&str, u32); 2]| {
        let changes = changes.map(|(path, day)| {
            (path, format!("<rs:md change='updated' datetime='2026-01-{day:02}T00:00:00Z'/>"))
        });
        let changes: Vec<_> = changes.iter().map(|(path, metadata)| (*path, metadata.as_str())).collect();
        let from = format!("from='2026-01-{from:02}T00:00:00Z'");
        copy.source.serve("changelist.xml", document(&copy.source, "changelist", &from, &changes));
    };
    publish(1, [("b.txt", 3), ("a.txt", 4)]);
    assert!(coverage(&copy.sync()).unwrap().is_complete());
    // Each list has the last change of each resource: `a.txt` changed again.
    publish(2, [("b.txt", 3), ("a.txt", 5)]);
    for run in [copy.sync(), copy.sync()] {
        assert!(run.exit_code() == 0 && coverage(&run).unwrap().is_complete(), "{:?}", run.heard);
    }
    // No later change replaces the one of `a.txt`.
    publish(3, [("b.txt", 6), ("d/c.txt", 7)]);
    assert_eq!(coverage(&copy.sync()), Some(Coverage::Unknown));
}

#[test]
fn o411_a_list_without_later_changes_may_be_a_replayed_one() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "after the backup");
    copy.source.put("b.txt", "as well");
    copy.sync();
    lose(&copy.source, "/a.txt");
    let run = copy.sync();
    let error = run.result.unwrap_err();
    let is_refused = matches!(error, instep_destination::Error::Refused { guard: Guard::TimeWentBack, .. });
    assert!(is_refused, "{error}");
}

#[test]
fn o1082_a_later_inventory_makes_up_for_an_older_change_list() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "after the backup");
    copy.source.put("b.txt", "as well");
    copy.sync();
    copy.source.put("b.txt", "two");
    lose(&copy.source, "/b.txt");
    for run in [copy.sync(), copy.sync()] {
        assert_eq!(refused(&run), Some(Guard::TimeWentBack), "{:?}", run.heard);
    }
    copy.source.snapshot();
    assert_eq!(copy.audit().0.unwrap().differing, 1);
    for run in [copy.sync(), copy.sync()] {
        in_step(&copy, &run);
        assert!(run.report().is_in_step(), "{:?}", run.heard);
    }
}

#[test]
fn o945_changes_of_lists_that_begin_earlier_than_before_are_not_taken_for_known() {
    for change_index in [false, true] {
        let copy = Copy::laid_out(|layout| layout.change_index = change_index);
        copy.source.rewrite("changelist.xml", |text| text.replace("from=\"2026-01-01", "from=\"2026-01-02"));
        copy.source.clock().advance(2 * DAY);
        copy.source.snapshot();
        let run = copy.sync();
        assert!(run.exit_code() == 0 && coverage(&run).unwrap().is_complete(), "{:?}", run.result);

        // The clock goes back, and is right again before the next run. The lists begin where they did not before.
        copy.source.clock().advance(-DAY);
        copy.source.put("b.txt", "by a clock that went back");
        copy.source.clock().advance(2 * DAY);
        copy.source.put("d/c.txt", "by the right clock again");
        copy.source.rewrite("changelist.xml", |text| text);
        doubts_until_an_inventory(&copy);
    }
}

#[test]
fn o707_a_run_that_reads_changes_after_an_older_inventory_was_refused_looks_at_it_again() {
    let copy = Copy::of_three();
    let older = copy.source.document("resourcelist.xml").unwrap();
    copy.source.put("a.txt", "changed");
    copy.source.snapshot();
    assert!(copy.sync().report().is_in_step());
    let applied = copy.source.document("resourcelist.xml").unwrap();
    copy.source.serve("resourcelist.xml", older);
    let run = copy.sync_with(|options| options.repair = true);
    assert_eq!((run.exit_code(), refused(&run)), (6, Some(Guard::TimeWentBack)), "{:?}", run.heard);

    copy.source.put("b.txt", "in the Change List");
    for run in [copy.sync(), copy.sync()] {
        assert_eq!((run.exit_code(), coverage(&run)), (3, Some(Coverage::Unknown)), "{:?}", run.heard);
        assert_eq!(copy.read("b.txt").as_deref(), Some("in the Change List"));
    }
    copy.source.serve("resourcelist.xml", applied);
    for run in [copy.sync(), copy.sync()] {
        assert!(run.report().is_in_step(), "{:?}", run.heard);
    }
}

#[test]
fn o799_a_source_that_names_its_list_of_before_again_is_refused() {
    let copy = Copy::of_three();
    let publish = |list: &str, second: u32, paths: &[&str]| {
        let offers = [(list, "<rs:md capability='resourcelist'/>")];
        copy.source.serve("capabilitylist.xml", document(&copy.source, "capabilitylist", "", &offers));
        let at = format!("at='2026-01-02T00:00:{second:02}Z'");
        let entries: Vec<_> = paths.iter().map(|path| (*path, "")).collect();
        copy.source.serve(list, document(&copy.source, "resourcelist", &at, &entries));
    };
    let sync = || copy.sync_with(|options| options.delete = true);
    publish("list-1.xml", 1, &["a.txt", "b.txt"]);
    assert_eq!(sync().exit_code(), 0);
    publish("list-2.xml", 2, &["a.txt"]);
    assert_eq!((sync().exit_code(), copy.read("b.txt")), (0, None));
    publish("list-1.xml", 1, &["a.txt", "b.txt"]);
    let run = sync();
    assert_eq!((run.exit_code(), refused(&run)), (6, Some(Guard::TimeWentBack)), "{:?}", run.heard);
    publish("list-3.xml", 3, &["a.txt", "b.txt"]);
    assert_eq!((sync().exit_code(), copy.read("b.txt").as_deref()), (0, Some("two")));
}

#[test]
fn o768_an_index_that_lacks_the_list_that_was_read_last_is_that_of_a_restored_source() {
    let copy = Copy::of_three();
    let source = &copy.source;
    let inventory = |second: u32, length: u32| serve_inventory(source, second, length);
    let index = |lists: &[(&str, String)]| serve_index(source, lists);
    let list = |path: &str, times: &str, changes: &[(&str, u32, u32)]| {
        let metadata = |(_, length, second): &(&str, u32, u32)| {
            format!("<rs:md change='updated' datetime='{}' length='{length}'/>", time(*second))
        };
        let metadata: Vec<_> = changes.iter().map(metadata).collect();
        let paths = changes.iter().map(|(path, ..)| *path);
        let entries: Vec<_> = paths.zip(metadata.iter().map(String::as_str)).collect();
        source.serve(path, document(source, "changelist", times, &entries));
    };
    let from = |second: u32| format!("from='{}'", time(second));
    inventory(1, 3);
    list("1.xml", &from(1), &[]);
    index(&[("1.xml", from(1))]);
    assert!(coverage(&copy.sync()).unwrap().is_complete());

    // The next list begins and is read, then everything is as before it, and goes on.
    source.put("a.txt", "after the backup");
    let closed = format!("{} until='{}'", from(1), time(4));
    list("1.xml", &closed, &[]);
    list("2.xml", &from(4), &[("a.txt", 16, 5)]);
    index(&[("1.xml", closed), ("2.xml", from(4))]);
    assert!(coverage(&copy.sync()).unwrap().is_complete());
    assert_eq!(copy.read("a.txt").as_deref(), Some("after the backup"));
    source.put("a.txt", "one");
    index(&[("1.xml", from(1))]);
    list("1.xml", &from(1), &[]);
    copy.sync();
    source.put("b.txt", "after the restoration");
    list("1.xml", &from(1), &[("b.txt", 21, 9)]);
    for run in [copy.sync(), copy.sync()] {
        assert_eq!((run.exit_code(), coverage(&run)), (0, Some(Coverage::Unknown)), "{:?}", run.heard);
        assert_eq!(copy.read("b.txt").as_deref(), Some("after the restoration"));
    }
    let b = [("a.txt", "<rs:md length='3'/>"), ("b.txt", "<rs:md length='21'/>")];
    source.serve("list.xml", document(source, "resourcelist", &format!("at='{}'", time(12)), &b));
    let run = copy.sync();
    assert!(run.exit_code() == 0 && coverage(&run).unwrap().is_complete(), "{:?}", run.heard);
    assert_eq!(copy.read("a.txt").as_deref(), Some("one"));
}

#[test]
fn o665_an_unchanged_index_of_a_restored_source_leads_to_the_lists_that_it_names() {
    let copy = Copy::of_three();
    let source = &copy.source;
    serve_inventory(source, 1, 3);
    let (open, second) = ("from='2026-01-02T00:00:01Z'", "from='2026-01-02T00:00:04Z'");
    let closed = "from='2026-01-02T00:00:01Z' until='2026-01-02T00:00:04Z'";
    let index = |lists: &[(&str, &str)]| serve_index(source, lists);
    let list = |path: &str, times: &str, changes: &[(&str, &str)]| {
        source.serve(path, document(source, "changelist", times, changes));
    };
    let first = ("a.txt", "<rs:md change='updated' datetime='2026-01-02T00:00:02Z' length='3'/>");
    let after = ("a.txt", "<rs:md change='updated' datetime='2026-01-02T00:00:05Z' length='16'/>");
    let later = ("b.txt", "<rs:md change='updated' datetime='2026-01-02T00:00:09Z' length='21'/>");
    list("1.xml", open, &[first]);
    index(&[("1.xml", open)]);
    assert_eq!(copy.sync().exit_code(), 0);
    source.put("a.txt", "after the backup");
    list("1.xml", closed, &[first]);
    list("2.xml", second, &[after]);
    index(&[("1.xml", closed), ("2.xml", second)]);
    assert_eq!(copy.sync().exit_code(), 0);

    // As before the second list; only the first one grows then, and the index stays as it is.
    source.put("a.txt", "one");
    list("1.xml", open, &[first]);
    index(&[("1.xml", open)]);
    for run in [copy.sync(), copy.sync()] {
        assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    }
    source.put("b.txt", "after the restoration");
    list("1.xml", open, &[first, later]);
    let run = copy.sync();
    assert_eq!((run.exit_code(), coverage(&run)), (0, Some(Coverage::Unknown)), "{:?}", run.heard);
    assert_eq!(copy.read("b.txt").as_deref(), Some("after the restoration"));
}

#[test]
fn o1079_a_source_that_merges_its_change_lists_does_not_count_as_restored() {
    let copy = Copy::of_three();
    let source = &copy.source;
    serve_inventory(source, 1, 3);
    let open = "from='2026-01-02T00:00:01Z'";
    let index = |lists: &[(&str, &str)]| serve_index(source, lists);
    let list = |path: &str, times: &str, changes: &[(&str, &str)]| {
        source.serve(path, document(source, "changelist", times, changes));
    };
    let first = ("b.txt", "<rs:md change='updated' datetime='2026-01-02T00:00:02Z' length='3'/>");
    let second = ("a.txt", "<rs:md change='updated' datetime='2026-01-02T00:00:05Z' length='7'/>");
    let third = ("b.txt", "<rs:md change='updated' datetime='2026-01-02T00:00:09Z' length='5'/>");
    source.put("a.txt", "changed");
    let (closed, next) =
        ("from='2026-01-02T00:00:01Z' until='2026-01-02T00:00:04Z'", "from='2026-01-02T00:00:04Z'");
    list("1.xml", closed, &[first]);
    list("2.xml", next, &[second]);
    index(&[("1.xml", closed), ("2.xml", next)]);
    assert!(copy.sync().report().is_in_step());

    list("merged.xml", open, &[first, second]);
    index(&[("merged.xml", open)]);
    let run = copy.sync();
    assert!(run.report().is_in_step(), "{:?}", run.heard);
    source.put("b.txt", "later");
    list("merged.xml", open, &[first, second, third]);
    for run in [copy.sync(), copy.sync()] {
        assert!(run.report().is_in_step(), "{:?}", run.heard);
        assert_eq!(copy.read("b.txt").as_deref(), Some("later"));
    }
}

//! Protection of the owner of a copy: files of others are not overwritten, no other Source is accepted, and
//! everything left undone is reported.

use std::fs;

use instep_destination::{AuditOptions, Guard, StreamOptions, VoidMonitor, audit, changes, resources};
use instep_testkit::{FakeSource, Fault, Layout, Tree};

use crate::support::{Copy, many, refused, runtime, zipped};

fn with_a_file(name: &str, text: &str) -> Copy {
    let copy = Copy::of_three();
    fs::create_dir_all(copy.dir()).unwrap();
    fs::write(copy.dir().join(name), text).unwrap();
    copy
}

#[test]
fn b25_a_first_run_into_a_folder_with_files_is_refused_and_changes_nothing() {
    let copy = with_a_file("letter.txt", "mine");
    let run = copy.sync();
    assert_eq!((run.exit_code(), refused(&run)), (6, Some(Guard::UnknownFiles)));
    assert_eq!(Tree::of(&copy.dir()).names(), ["letter.txt"]);
    assert!(!copy.dir().join(".instep").exists());
}

#[test]
fn b25_a_copy_between_files_leaves_them_as_they_are() {
    let copy = with_a_file("a.txt", "mine");
    let run = copy.sync_with(|options| options.into_existing = true);
    assert_eq!((run.exit_code(), run.report().created), (3, 2), "{:?}", run.heard);
    assert_eq!(copy.read("a.txt").as_deref(), Some("mine"));
    // Once the file is moved away, the pending resource is fetched.
    fs::remove_file(copy.dir().join("a.txt")).unwrap();
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn b25_a_file_that_came_between_two_runs_is_not_overwritten() {
    let copy = Copy::of_three();
    copy.sync();
    fs::write(copy.dir().join("new.txt"), "mine").unwrap();
    copy.source.put("new.txt", "theirs");
    let run = copy.sync();
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    assert_eq!(copy.read("new.txt").as_deref(), Some("mine"));
}

#[test]
fn b25_another_source_into_a_copy_is_refused_unless_it_is_added() {
    let copy = Copy::of_three();
    copy.sync();
    let other = FakeSource::start().with_resources([("other.txt", "of another")]);
    let url = other.url("");
    let run = copy.sync_with(|options| options.url.clone_from(&url));
    assert_eq!(refused(&run), Some(Guard::OtherSource), "{:?}", run.heard);
    assert_eq!(Tree::of(&copy.dir()).names(), ["a.txt", "b.txt", "d/c.txt"]);
    let run = copy.sync_with(|options| {
        options.url.clone_from(&url);
        options.add_source = true;
    });
    assert_eq!((run.exit_code(), run.report().created), (0, 1), "{:?}", run.heard);
}

#[test]
fn o866_another_source_is_refused_also_while_the_documents_of_the_first_one_lack_something() {
    let copy = Copy::laid_out(|layout| (layout.part_entries, layout.change_list) = (Some(1), false));
    copy.source.fail_always("resourcelist-0002.xml", Fault::Status(404));
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().created), (3, 2), "{:?}", run.heard);
    let other = FakeSource::start().with_resources([("other.txt", "of another")]);
    let run = copy.sync_with(|options| options.url = other.url(""));
    assert_eq!(refused(&run), Some(Guard::OtherSource), "{:?}", run.heard);
    assert_eq!(copy.sync().exit_code(), 3, "the Source itself is still followed");
}

#[test]
fn b25_deletions_that_are_kept_are_not_in_step() {
    let copy = Copy::of(FakeSource::start().with_resources(many(50)));
    assert!(copy.sync().report().is_in_step());
    many(40).iter().for_each(|(path, _)| copy.source.delete(path));
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().kept), (0, 40), "{:?}", run.report());
    assert!(!run.report().is_in_step());
    let run = copy.sync();
    assert_eq!(run.report().kept, 40, "they are still there");
    copy.source.snapshot();
    copy.source.gap();
    assert_eq!(copy.sync().report().kept, 40, "an inventory that does not name them says the same");
}

#[test]
fn b11_a_change_list_that_is_lost_does_not_cost_the_inventory() {
    for fault in [Fault::Status(500), Fault::Body(b"<urlset".to_vec())] {
        let copy = Copy::of_three();
        copy.source.fail_always("changelist.xml", fault);
        let run = copy.sync();
        assert_eq!((run.exit_code(), run.report().created), (3, 3), "{:?}", run.heard);
        assert!(!run.report().is_in_step());
        assert_eq!(copy.differences(), [""; 0]);
        copy.source.heal();
        copy.source.put("a.txt", "changed");
        assert_eq!(copy.sync().exit_code(), 0);
        assert_eq!(copy.differences(), [""; 0]);
    }
}

#[test]
fn b11_a_change_list_that_stays_broken_is_made_up_for_by_the_next_inventory() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "changed");
    copy.source.fail_always("changelist-000001.xml", Fault::Body(b"<urlset".to_vec()));
    assert_eq!(copy.sync().exit_code(), 3);
    copy.source.snapshot();
    let run = copy.sync();
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn b11_an_inventory_that_is_lost_does_not_cost_the_changes() {
    for fault in [Fault::Status(500), Fault::Body(b"<urlset".to_vec())] {
        let copy = Copy::of_three();
        copy.sync();
        copy.source.put("never-listed.txt", "new");
        copy.source.gap();
        copy.source.put("a.txt", "listed");
        copy.source.snapshot();
        copy.source.fail_always("resourcelist.xml", fault);
        let run = copy.sync();
        assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
        assert_eq!(copy.read("a.txt").as_deref(), Some("listed"));
        assert!(!run.report().is_in_step());
        let (audited, heard) = copy.audit();
        assert_eq!(audited.unwrap().exit_code(), 3, "{heard:?}");
        copy.source.heal();
        assert_eq!(copy.sync().exit_code(), 0);
        assert_eq!(copy.differences(), [""; 0]);
    }
}

#[test]
fn b13_a_repair_says_what_it_could_neither_read_nor_replace() {
    let copy = Copy::of_three();
    copy.sync();
    let theirs = copy.dir().join("a.txt");
    fs::remove_file(&theirs).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(&theirs).unwrap();
    for _ in 0..2 {
        let run = copy.sync_with(|options| options.repair = true);
        assert_eq!((run.exit_code(), run.report().failed), (3, 1), "{:?}", run.heard);
        assert!(!fs::symlink_metadata(&theirs).unwrap().is_file(), "it is not ours to replace");
    }
    fs::remove_file(&theirs).unwrap();
    assert_eq!(copy.sync_with(|options| options.repair = true).exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o1_a_document_that_the_capability_list_names_and_that_is_not_there_is_a_problem() {
    let copy = Copy::of_three();
    copy.source.fail_always("changelist.xml", Fault::Status(404));
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().created), (3, 3), "{:?}", run.heard);
    assert_eq!(run.report().skipped, 1, "it is reported once");
    let run = copy.sync();
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    copy.source.heal();
    assert_eq!(copy.sync().exit_code(), 0);
}

#[test]
fn o2_a_gap_below_the_changes_is_closed_by_the_next_inventory() {
    let copy = Copy::of_three();
    copy.source.put("never-listed.txt", "new");
    copy.source.gap();
    copy.source.put("a.txt", "listed");
    let run = copy.sync();
    assert_eq!(copy.read("never-listed.txt"), None, "{:?}", run.heard);
    assert!(!run.report().is_in_step());
    assert!(!copy.sync().report().is_in_step(), "nothing new was published");
    // The changes reach back to the checkpoint and show nothing before it.
    copy.source.snapshot();
    let run = copy.sync();
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
    assert!(run.report().is_in_step(), "{:?}", run.report());
}

#[test]
fn a10_a_limit_holds_for_lists_and_changes_together() {
    let copy = Copy::of(FakeSource::start().with_resources(many(10)));
    copy.source.put("one-more.txt", "new");
    copy.source.put("another.txt", "new");
    for _ in 0..2 {
        let run = copy.sync_with(|options| options.selection.limit = Some(2));
        assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
        assert_eq!(Tree::of(&copy.dir()).names().len(), 2);
        copy.source.put("yet-another.txt", "new");
    }
}

#[test]
fn a10_what_is_deleted_is_not_counted_as_unchanged() {
    let copy = Copy::of(FakeSource::start().with_resources(many(100)));
    copy.sync();
    many(10).iter().for_each(|(path, _)| copy.source.delete(path));
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.report().deleted, run.report().unchanged), (10, 90), "{:?}", run.report());
}

#[test]
fn o954_neither_what_a_limit_leaves_out_nor_what_was_deleted_since_is_counted_as_unchanged() {
    let copy = Copy::of(FakeSource::start().with_resources(many(10)));
    let sync = |repair: bool| {
        copy.sync_with(|options| (options.selection.limit, options.repair) = (Some(3), repair))
    };
    assert_eq!(sync(false).report().created, 3);
    many(10).iter().skip(5).for_each(|(path, _)| copy.source.put(path, "changed"));
    let run = sync(false);
    assert_eq!((run.report().unchanged, run.report().entries.excluded), (0, 5), "{:?}", run.report());
    assert_eq!(sync(true).report().unchanged, 3);

    let copy = Copy::of_three();
    let sync = |repair: bool| copy.sync_with(|options| (options.delete, options.repair) = (true, repair));
    sync(false);
    copy.source.delete("b.txt");
    assert_eq!(sync(false).report().deleted, 1);
    let run = sync(true);
    assert_eq!((run.exit_code(), run.report().unchanged), (0, 2), "{:?}", run.report());
}

#[test]
fn every_entry_that_is_read_is_accounted_for() {
    let copy = Copy::of(FakeSource::start().with_resources(many(20)));
    let run = copy.sync_with(|options| options.selection.exclude = vec!["**/00001.txt".to_owned()]);
    let entries = run.report().entries;
    assert!(entries.is_balanced(), "{entries:?}");
    assert_eq!((entries.read, entries.planned, entries.excluded), (20, 19, 1), "{entries:?}");
}

#[test]
fn a_source_is_listed_without_a_copy() {
    use futures_util::StreamExt as _;

    let mut layout = Layout::new();
    (layout.part_entries, layout.change_index) = (Some(7), true);
    let source = FakeSource::start_with(layout).with_resources(many(20));
    source.put("n/00003.txt", "changed");
    source.rotate();
    source.delete("n/00004.txt");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let listed: Vec<_> = resources(source.url(""), StreamOptions::new()).collect().await;
        assert_eq!(listed.len(), 20, "{listed:?}");
        assert!(listed.iter().all(Result::is_ok));
        let changed: Vec<_> = changes(source.url(""), None, StreamOptions::new()).collect().await;
        let changed: Vec<_> = changed.into_iter().map(Result::unwrap).collect();
        let names: Vec<_> =
            changed.iter().map(|change| change.loc.as_str().rsplit('/').next().unwrap()).collect();
        assert_eq!(names, ["00003.txt", "00004.txt"]);
        let since = changed[1].metadata.datetime;
        let later: Vec<_> = changes(source.url(""), since, StreamOptions::new()).collect().await;
        assert_eq!(later.len(), 1);
    });
}

#[test]
fn a8_a_manifest_in_several_parts_is_read_whole() {
    let spaces = "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:rs='http://www.openarchives.org/rs/terms/'";
    let copy = Copy::laid_out(|layout| {
        (layout.resource_list, layout.change_list, layout.dump) = (false, false, true);
    });
    let root = "<rs:md capability='resourcedump-manifest' at='2026-01-01T00:00:09Z'/>";
    let part = |name: &str| format!("<sitemap><loc>{}</loc></sitemap>", copy.source.url(name));
    let index = format!("<sitemapindex {spaces}>{root}{}{}</sitemapindex>", part("one.xml"), part("two.xml"));
    let manifest = |resource: &str, path: &str| {
        let loc = copy.source.url(resource);
        format!("<urlset {spaces}>{root}<url><loc>{loc}</loc><rs:md path='/{path}'/></url></urlset>")
    };
    let members = [
        ("manifest.xml", index),
        ("one.xml", manifest("a.txt", "r/1")),
        ("two.xml", manifest("b.txt", "r/2")),
        ("r/1", "one".to_owned()),
        ("r/2", "two".to_owned()),
    ];
    copy.source.serve("parts.zip", zipped(members));
    let package = format!("<url><loc>{}</loc></url>", copy.source.url("parts.zip"));
    let dump_root = "<rs:md capability='resourcedump' at='2026-01-01T00:00:09Z'/>";
    copy.source.serve("resourcedump.xml", format!("<urlset {spaces}>{dump_root}{package}</urlset>"));
    let run = copy.sync();
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(Tree::of(&copy.dir()).names(), ["a.txt", "b.txt"]);
    assert_eq!(copy.read("b.txt").as_deref(), Some("two"));
    assert_eq!(copy.source.requests_for("a.txt"), 0, "it came in the package");
}

#[test]
fn o4_an_audit_reports_what_is_pending_although_the_lists_give_nothing_to_compare() {
    let copy = Copy::laid_out(|layout| {
        (layout.algorithms, layout.length, layout.lastmod) = (Vec::new(), false, false);
    });
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.audit().0.unwrap().exit_code(), 0);
    // The change is known but could not be fetched: the held file is whole, but not the present version.
    copy.source.put("b.txt", "changed");
    copy.source.fail_always("b.txt", Fault::Status(500));
    assert_eq!(copy.sync().exit_code(), 3);
    let (report, heard) = copy.audit();
    let report = report.unwrap();
    assert_eq!((report.exit_code(), report.failed), (3, 1), "{heard:?}");
    assert_eq!(heard.itemized, [format!("! {}", copy.source.url("b.txt"))]);
    // Without the Source only the files are checked.
    let offline = AuditOptions::new(None, copy.dir());
    let report = runtime().block_on(audit(&offline, &VoidMonitor)).unwrap();
    assert_eq!((report.exit_code(), report.same), (0, 3));
    copy.source.heal();
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.audit().0.unwrap().exit_code(), 0);
}

//! Sources whose times are days: documents and changes of one day.

use resourcesync::DateTime;

use crate::support::{Copy, audited, in_step, three, with_one_change_list, without};
use instep_testkit::{FakeSource, Layout};

const DAY: i64 = 86_400;

/// Cuts every time in a document to its day.
fn by_days(text: &str) -> String {
    let mut parts = text.split('T');
    let head = parts.next().unwrap_or_default().to_owned();
    parts.fold(head, |text, part| match part.split_once('Z') {
        Some((time, rest)) if DateTime::parse(&format!("2026-01-01T{time}Z")).is_ok() => text + rest,
        _ => text + "T" + part,
    })
}

fn write_days(copy: &Copy, documents: &[&str]) {
    for document in documents {
        copy.source.rewrite(document, |text| by_days(&text));
    }
}

/// Returns a copy of a Source with an archive that names a list from the first to the third day, which does not exist yet.
fn with_an_archive() -> Copy {
    let copy = with_one_change_list();
    copy.source.serve("archive.xml", archive(&copy));
    let offer = format!(
        "<url><loc>{}</loc><rs:md capability=\"changelist-archive\"/></url></urlset>",
        copy.source.url("archive.xml")
    );
    copy.source.rewrite("capabilitylist.xml", move |text| text.replace("</urlset>", &offer));
    copy
}

#[test]
fn o13_an_archived_list_of_the_day_on_which_the_current_lists_begin_is_read() {
    let copy = with_an_archive();
    write_days(&copy, &["resourcelist.xml", "changelist.xml", "archived.xml"]);
    copy.sync();
    copy.source.clock().advance(2 * DAY);
    copy.source.put("a.txt", "in the archived list");
    let closed = copy.source.document("changelist.xml").unwrap();
    copy.source.serve("archived.xml", closed);
    // The current list begins later, and on the same day.
    copy.source.gap();
    copy.source.put("b.txt", "in the current list");
    let run = copy.sync();
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
    assert_eq!(copy.source.requests_for("resourcelist.xml"), 1, "the first run only");
}

#[test]
fn o40_an_audit_reads_the_changes_that_the_next_run_reads() {
    let copy = with_an_archive();
    copy.source.rewrite("resourcelist.xml", |text| without(&without(&text, "at"), "completed"));
    copy.sync();
    copy.source.clock().advance(2 * DAY);
    copy.source.delete("b.txt");
    let closed = copy.source.document("changelist.xml").unwrap();
    copy.source.serve("archived.xml", closed);
    copy.source.gap();
    copy.source.put("a.txt", "in the current list");
    let (result, heard) = copy.audit();
    let audited = result.unwrap();
    assert_eq!((audited.missing, audited.differing, audited.surplus), (0, 1, 1), "{heard:?}");
    let run = copy.sync_with(|options| options.delete = true);
    let report = run.report();
    assert_eq!((report.created, report.updated, report.deleted), (0, 1, 1), "{:?}", run.heard);
    in_step(&copy, &run);
}

/// Returns an archive with a list from the first to the third day.
fn archive(copy: &Copy) -> String {
    format!(
        "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
         xmlns:rs=\"http://www.openarchives.org/rs/terms/\"><rs:md capability=\"changelist-archive\"/>\
         <url><loc>{}</loc><rs:md capability=\"changelist\" from=\"2026-01-01\" until=\"2026-01-03\"/></url></urlset>",
        copy.source.url("archived.xml")
    )
}

/// The inventory stays, a change on its day is no longer listed, and the lists begin on a later day than the state of
/// the copy.
fn loses_no_change_of_the_day(copy: &Copy) {
    let delete = |options: &mut instep_destination::SyncOptions| options.delete = true;
    copy.sync_with(delete);
    copy.source.put("new.txt", "later on the day of the inventory");
    copy.source.put("a.txt", "later on the day of the inventory");
    copy.source.delete("b.txt");
    assert_eq!(copy.sync_with(delete).exit_code(), 0);
    copy.source.gap();
    assert_eq!(audited(copy), (0, 3), "an audit does not read a list that nobody needs any more");
    copy.source.clock().advance(2 * DAY);
    copy.source.gap();
    copy.source.put("d/c.txt", "on another day");
    let run = copy.sync_with(delete);
    assert_eq!((run.exit_code(), run.report().deleted), (0, 0), "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
    let run = copy.sync_with(|options| (options.delete, options.repair) = (true, true));
    assert_eq!((run.exit_code(), run.report().deleted), (0, 0), "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
    assert_eq!(audited(copy), (0, 3));
}

#[test]
fn o15_an_inventory_that_was_applied_takes_back_no_change_of_its_day() {
    let copy = with_one_change_list();
    write_days(&copy, &["resourcelist.xml", "changelist.xml"]);
    loses_no_change_of_the_day(&copy);
}

#[test]
fn o15_an_index_that_was_applied_takes_back_no_change_of_its_day() {
    let mut layout = Layout::new();
    (layout.change_index, layout.part_entries) = (false, Some(2));
    let copy = Copy::of(FakeSource::start_with(layout).with_resources(three()));
    write_days(
        &copy,
        &["resourcelist.xml", "resourcelist-0001.xml", "resourcelist-0002.xml", "changelist.xml"],
    );
    loses_no_change_of_the_day(&copy);
}

#[test]
fn o15_a_dump_that_was_applied_takes_back_no_change_of_its_day() {
    let mut layout = Layout::new();
    (layout.change_index, layout.resource_list, layout.dump) = (false, false, true);
    let copy = Copy::of(FakeSource::start_with(layout).with_resources(three()));
    write_days(&copy, &["resourcedump.xml", "resourcedump-manifest.xml", "changelist.xml"]);
    copy.source.freeze(&["resourcedump.xml", "resourcedump-manifest.xml", "resourcedump.zip"]);
    loses_no_change_of_the_day(&copy);
}

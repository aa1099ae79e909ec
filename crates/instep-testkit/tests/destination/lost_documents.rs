//! Documents that cannot be fetched or read: only their own entries are missed, and a later run makes up for that.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use instep_destination::SyncOptions;
use instep_testkit::{FakeSource, Fault, Layout};

use crate::{
    sets,
    support::{Copy, three, with_one_change_list, without},
};

const SECOND_LIST: &str = "changelist-000002.xml";

/// Changes one resource in each of three Change Lists.
fn change_in_three_lists(copy: &Copy) {
    copy.source.put("a.txt", "in the first list");
    copy.source.rotate();
    copy.source.put("b.txt", "in the second list");
    copy.source.rotate();
    copy.source.put("d/c.txt", "in the third list");
}

/// Returns a copy of three resources, after a change in each of three Change Lists.
fn after_three_lists() -> Copy {
    let copy = Copy::of_three();
    copy.sync();
    change_in_three_lists(&copy);
    copy
}

#[test]
fn o16_a_lost_list_costs_what_it_lists_until_it_can_be_read() {
    for fault in [Fault::Status(500), Fault::Status(404), Fault::Body(b"<urlset".to_vec())] {
        let copy = after_three_lists();
        copy.source.fail_always(SECOND_LIST, fault.clone());
        for _ in 0..2 {
            let run = copy.sync();
            assert_eq!(run.exit_code(), 3, "{fault:?}: {:?}", run.heard);
            assert_eq!(copy.differences(), ["~ b.txt"], "{fault:?}");
            assert_eq!(run.heard.problems.len(), 1, "{:?}", run.heard.problems);
        }
        copy.source.heal();
        let run = copy.sync();
        assert_eq!(run.exit_code(), 0, "{fault:?}: {:?}", run.heard);
        assert_eq!(copy.differences(), [""; 0], "{fault:?}");
    }
}

#[test]
fn o655_a_list_that_cannot_be_read_again_costs_only_what_it_might_have_explained() {
    let copy = Copy::laid_out(|layout| layout.change_list = false);
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.put("a.txt", "changed");
    copy.source.delete("b.txt");
    copy.source.put("new.txt", "created");
    copy.source.snapshot();
    copy.source.fail_always("a.txt", Fault::Status(404));
    // The first request has the list, and the second one, after the resource was not there, does not.
    let first = Fault::Header("x-shown", "as it is".to_owned());
    copy.source.fail("resourcelist.xml", [first, Fault::Status(404)]);
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().owed), (3, 1), "{:?}", run.heard);
    assert_eq!((copy.read("b.txt"), copy.read("new.txt").as_deref()), (None, Some("created")));
    let said = format!("{:?}", run.heard.problems);
    assert!(said.contains("resourcelist.xml") && said.contains("a.txt"), "{said}");
}

#[test]
fn o16_a_list_that_comes_back_undoes_nothing_that_came_after_it() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.rotate();
    copy.source.put("a.txt", "first");
    copy.source.delete("b.txt");
    copy.source.put("new.txt", "created");
    copy.source.rotate();
    copy.source.put("a.txt", "second");
    copy.source.put("b.txt", "again");
    copy.source.delete("new.txt");
    let delete = |options: &mut SyncOptions| options.delete = true;
    copy.source.fail_always(SECOND_LIST, Fault::Status(500));
    assert_eq!(copy.sync_with(delete).exit_code(), 3);
    assert_eq!(copy.differences(), [""; 0]);
    // Now the later one cannot be fetched.
    loses_the_later_list(&copy);
}

/// Checks that nothing changes in a copy while the lost list is there again and the later one is lost, nor when both are
/// there.
fn loses_the_later_list(copy: &Copy) {
    let delete = |options: &mut SyncOptions| options.delete = true;
    copy.source.heal();
    copy.source.fail_always("changelist-000003.xml", Fault::Status(500));
    let run = copy.sync_with(delete);
    assert_eq!((run.exit_code(), run.report().failed), (3, 0), "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
    copy.source.heal();
    assert_eq!(copy.sync_with(delete).exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o946_a_list_that_grew_while_it_was_lost_undoes_nothing_that_came_after_it() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.rotate();
    copy.source.put("a.txt", "first");
    let delete = |options: &mut SyncOptions| options.delete = true;
    assert_eq!(copy.sync_with(delete).exit_code(), 0);
    copy.source.delete("b.txt");
    copy.source.put("new.txt", "created");
    copy.source.rotate();
    copy.source.put("a.txt", "second");
    copy.source.put("b.txt", "again");
    copy.source.delete("new.txt");
    copy.source.fail_always(SECOND_LIST, Fault::Status(500));
    assert_eq!(copy.sync_with(delete).exit_code(), 3);
    assert_eq!(copy.differences(), [""; 0]);
    // Its first entry is known, so that the others are new by their place.
    loses_the_later_list(&copy);
}

#[test]
fn o16_changes_of_a_lost_list_come_by_a_change_dump() {
    let mut layout = Layout::new();
    layout.change_dump = true;
    let copy = Copy::of(FakeSource::start_with(layout).with_resources(three()));
    copy.sync();
    copy.source.put("a.txt", "in the first list");
    copy.source.rotate();
    for (path, told) in [("changelist.xml", "two"), ("changelist-000001.xml", "three")] {
        copy.source.fail_always(path, Fault::Status(500));
        let run = copy.sync();
        assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
        assert_eq!(copy.differences(), [""; 0]);
        copy.source.heal();
        assert_eq!(copy.sync().exit_code(), 0);
        copy.source.put("a.txt", told);
        copy.source.rotate();
    }
}

#[test]
fn o17_a_lost_resource_list_is_made_up_for_by_a_resource_dump() {
    let mut layout = Layout::new();
    layout.dump = true;
    let copy = Copy::of(FakeSource::start_with(layout).with_resources(three()));
    copy.source.fail_always("resourcelist.xml", Fault::Status(404));
    let run = copy.sync();
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
    let (audited, heard) = copy.audit();
    assert_eq!(audited.map(|report| (report.exit_code(), report.same)).unwrap(), (3, 3), "{heard:?}");
    copy.source.heal();
    assert_eq!(copy.sync().exit_code(), 0);
}

#[test]
fn o17_a_dump_that_is_older_than_the_copy_makes_up_for_nothing() {
    let mut layout = Layout::new();
    (layout.dump, layout.change_list) = (true, false);
    let copy = Copy::of(FakeSource::start_with(layout).with_resources(three()));
    copy.source.freeze(&["resourcedump.xml", "resourcedump-manifest.xml", "resourcedump.zip"]);
    copy.source.put("new.txt", "later than the dump");
    let delete = |options: &mut SyncOptions| options.delete = true;
    assert_eq!(copy.sync_with(delete).exit_code(), 0);
    copy.source.fail_always("resourcelist.xml", Fault::Status(500));
    let run = copy.sync_with(delete);
    assert_ne!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o18_a_set_that_cannot_be_read_costs_the_audit_of_the_others_nothing() {
    let mut layout = Layout::new();
    layout.change_list = false;
    let source =
        FakeSource::start_with(layout).with_resources([("own-1.txt", "of one"), ("own-2.txt", "of two")]);
    let copy = Copy::of(source);
    sets::publish(&copy.source, 0, [&["own-1.txt"], &["own-2.txt"]]);
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.fail_always("one-list.xml", Fault::Status(500));
    std::fs::remove_file(copy.dir().join("own-2.txt")).unwrap();
    let (audited, heard) = copy.audit();
    let audited = audited.unwrap();
    assert_eq!((audited.failed, audited.missing), (1, 1), "{heard:?}");
}

#[test]
fn o16_a_broken_list_of_an_index_without_times_costs_what_it_lists() {
    let copy = Copy::of_three();
    copy.source.rewrite("changelist.xml", |text| without(&without(&text, "from"), "until"));
    copy.source.rewrite(SECOND_LIST, |text| {
        without(&text, "from").trim_end().trim_end_matches("</urlset>").to_owned()
    });
    copy.sync();
    change_in_three_lists(&copy);
    let run = copy.sync();
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    assert_eq!(copy.differences(), ["~ b.txt"]);
    copy.source.heal();
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn b11_a_part_of_a_sitemap_whose_gzip_is_cut_off_costs_what_it_lists() {
    let copy = Copy::of_three();
    let part = |path: &str| {
        let list = format!(
            "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"><url><loc>{}</loc></url></urlset>",
            copy.source.url(path)
        );
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(list.as_bytes()).unwrap();
        gzip.finish().unwrap()
    };
    let torn = part("b.txt");
    copy.source.serve("one.xml.gz", part("a.txt"));
    copy.source.serve("two.xml.gz", &torn[..torn.len() - 20]);
    let members = ["one", "two"]
        .map(|name| format!("<sitemap><loc>{}</loc></sitemap>", copy.source.url(&format!("{name}.xml.gz"))));
    let index = members.concat();
    let index =
        format!("<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{index}</sitemapindex>");
    copy.source.serve("parts.xml", index);
    let run = copy.sync_with(|options| options.url = copy.source.url("parts.xml"));
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    assert_eq!((copy.read("a.txt").as_deref(), copy.read("b.txt")), (Some("one"), None));
    let heard = format!("{:?}", run.heard);
    assert!(heard.contains("two.xml.gz") && heard.contains("deflate"), "{heard}");
}

#[test]
fn o19_what_is_pending_is_tried_although_no_document_can_be_read() {
    let mut layout = Layout::new();
    (layout.resource_list, layout.change_index) = (false, false);
    let copy = Copy::of(FakeSource::start_with(layout));
    copy.source.put("a.txt", "first");
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.put("a.txt", "second");
    copy.source.fail("a.txt", [Fault::Status(500), Fault::Status(500)]);
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().owed), (3, 1), "{:?}", run.heard);
    copy.source.fail_always("changelist.xml", Fault::Status(500));
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().owed), (3, 0), "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
    assert_eq!(copy.sync().exit_code(), 4, "nothing is pending, and nothing can be read");
}

#[test]
fn o21_a_broken_copy_of_a_manifest_is_made_up_for_by_its_package() {
    let mut layout = Layout::new();
    (layout.resource_list, layout.dump) = (false, true);
    let copy = Copy::of(FakeSource::start_with(layout).with_resources(three()));
    let cut = |text: String| text.trim_end().trim_end_matches("</urlset>").to_owned();
    copy.source.rewrite("resourcedump-manifest.xml", cut);
    let run = copy.sync();
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
    let mut layout = Layout::new();
    (layout.change_list, layout.change_dump) = (false, true);
    let copy = Copy::of(FakeSource::start_with(layout).with_resources(three()));
    copy.source.rewrite("changedump-000001-manifest.xml", cut);
    copy.sync();
    copy.source.put("a.txt", "changed");
    copy.source.rotate();
    let run = copy.sync();
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o484_what_neither_of_two_new_inventories_without_a_time_names_goes_although_a_change_brought_it() {
    let copy = with_one_change_list();
    let undated = |text: &str| without(&without(text, "at"), "completed");
    copy.source.rewrite("resourcelist.xml", move |text| undated(&text));
    copy.source.rewrite("changelist.xml", |text| without(&text, "from"));
    let delete = |options: &mut SyncOptions| options.delete = true;
    copy.sync_with(delete);
    copy.source.put("new.txt", "changed later than all that the next inventories list");
    copy.source.delete("b.txt");
    assert_eq!(copy.sync_with(delete).exit_code(), 0);
    copy.source.delete("new.txt");
    copy.source.snapshot();
    copy.source.gap();
    // The first one may be from before the change. The second one is not, because it was made after the first one.
    for (end, deleted) in [("", 0), ("\n", 1)] {
        copy.source.rewrite("resourcelist.xml", move |text| undated(&text) + end);
        let run = copy.sync_with(delete);
        assert_eq!((run.exit_code(), run.report().deleted), (0, deleted), "{:?}", run.heard);
        let (audited, heard) = copy.audit();
        assert_eq!(audited.unwrap().exit_code(), 0, "{heard:?}");
    }
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o52_what_was_changed_before_a_gap_goes_if_a_new_inventory_without_a_time_does_not_name_it() {
    let copy = Copy::of_three();
    copy.source.rewrite("resourcelist.xml", |text| without(&without(&text, "at"), "completed"));
    let delete = |options: &mut SyncOptions| options.delete = true;
    copy.sync_with(delete);
    copy.source.put("b.txt", "changed");
    copy.source.put("new.txt", "changed later than all that the next inventory lists");
    assert_eq!(copy.sync_with(delete).exit_code(), 0);
    copy.source.delete("new.txt");
    copy.source.snapshot();
    copy.source.gap();
    let run = copy.sync_with(delete);
    assert_eq!((run.exit_code(), run.report().deleted), (0, 1), "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
    let (audited, heard) = copy.audit();
    assert_eq!(audited.unwrap().exit_code(), 0, "{heard:?}");
}

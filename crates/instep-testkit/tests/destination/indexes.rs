//! Inventories in several parts, behind an index.

use instep_testkit::{FakeSource, Fault, Layout};

use crate::{
    sets::{document, list_shared, publish, serve_behind_index},
    support::{Copy, SPACES, in_step, without, zipped},
};

#[test]
fn o48_an_index_of_which_no_part_can_be_had_is_a_lost_inventory() {
    let copy = Copy::laid_out(|layout| (layout.part_entries, layout.change_index) = (Some(2), false));
    copy.source.rewrite("changelist.xml", |text| without(&text, "from"));
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.put("a.txt", "changed before the new inventory");
    copy.source.snapshot();
    for part in ["resourcelist-0001.xml", "resourcelist-0002.xml"] {
        copy.source.fail_always(part, Fault::Status(500));
    }
    let run = copy.sync();
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    assert!(run.report().reason.contains("the inventory is lost"), "{}", run.report().reason);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o988_an_index_within_an_index_is_reported_with_the_way_to_copy_it() {
    let copy = Copy::laid_out(|layout| layout.part_entries = Some(2));
    copy.source.rewrite("resourcelist-0001.xml", |text| {
        let text = text.replace("urlset", "sitemapindex");
        text.replace("<url>", "<sitemap>").replace("</url>", "</sitemap>")
    });
    let run = copy.sync();
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    assert!(format!("{:?}", run.heard.problems).contains("from its own URL"), "{:?}", run.heard);
}

#[test]
fn o49_an_index_without_a_time_that_was_applied_takes_back_nothing_that_came_by_another_set_since() {
    let mut layout = Layout::new();
    layout.change_list = false;
    let copy = Copy::of(FakeSource::start_with(layout).with_resources([("shared.txt", "first")]));
    publish(&copy.source, 0, [&["shared.txt"], &["shared.txt"]]);
    for name in ["one", "two"] {
        list_shared(&copy.source, name, "", 1, "first".len());
        serve_behind_index(&copy.source, name);
    }
    in_step(&copy, &copy.sync());
    copy.source.put("shared.txt", "the second");
    list_shared(&copy.source, "two", "", 5, "the second".len());
    in_step(&copy, &copy.sync());
    let (audited, heard) = copy.audit();
    assert_eq!(audited.map(|report| report.exit_code()).unwrap(), 0, "{heard:?}");
}

/// Returns a copy of a Source of one resource, whose Capability List names this document.
fn of_one_offering(capability: &str, path: &str) -> Copy {
    let copy = Copy::of(FakeSource::start().with_resources([("a.txt", "new")]));
    let source = &copy.source;
    let description = [("one.xml", "<rs:md capability='capabilitylist'/>")];
    source.serve(".well-known/resourcesync", document(source, "description", "", &description));
    let metadata = format!("<rs:md capability='{capability}'/>");
    source.serve("one.xml", document(source, "capabilitylist", "", &[(path, &metadata)]));
    copy
}

const OLD: &str = "hash='md5:149603e6c03516362a8da23f624db945'";
const NEW: &str = "hash='md5:22af645d1859cb5ca6da0c484f1f37ea'";
const AT: &str = "at='2026-01-02T00:00:00Z'";

#[test]
fn o1013_a_resource_that_two_lists_of_an_index_have_unlike_is_requested_once_and_reported() {
    let copy = of_one_offering("resourcelist", "list.xml");
    let source = &copy.source;
    let parts = [("list-1.xml", OLD), ("list-2.xml", NEW)].map(|(path, digest)| {
        let metadata = format!("<rs:md {digest}/>");
        source.serve(path, document(source, "resourcelist", AT, &[("a.txt", &metadata)]));
        format!("<sitemap><loc>{}</loc></sitemap>", source.url(path))
    });
    let parts = parts.concat();
    let root = format!("<rs:md capability='resourcelist' {AT}/>");
    source.serve("list.xml", format!("<sitemapindex {SPACES}>{root}{parts}</sitemapindex>"));
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().created, run.report().owed), (3, 1, 0), "{:?}", run.heard);
    assert!(format!("{:?}", run.heard.problems).contains("listed twice"), "{:?}", run.heard.problems);
    assert_eq!((copy.source.requests_for("a.txt"), copy.differences()), (1, vec![]));
    in_step(&copy, &copy.sync());
}

#[test]
fn o1013_of_unlike_states_in_two_packages_the_last_one_is_placed_reported_and_stays() {
    let copy = of_one_offering("resourcedump", "dump.xml");
    let source = &copy.source;
    for (path, digest, text) in [("1.zip", OLD, "old"), ("2.zip", NEW, "new")] {
        let metadata = format!("<rs:md path='/a.txt' {digest}/>");
        let manifest = document(source, "resourcedump-manifest", AT, &[("a.txt", &metadata)]);
        source.serve(path, zipped([("manifest.xml", manifest), ("a.txt", text.to_owned())]));
    }
    source.serve("dump.xml", document(source, "resourcedump", AT, &[("1.zip", ""), ("2.zip", "")]));
    let run = copy.sync();
    assert_eq!((run.exit_code(), copy.read("a.txt").as_deref()), (3, Some("new")), "{:?}", run.heard);
    assert!(format!("{:?}", run.heard.problems).contains("listed twice"), "{:?}", run.heard.problems);
    let run = copy.sync_with(|options| options.repair = true);
    assert_eq!((run.exit_code(), copy.read("a.txt").as_deref()), (0, Some("new")), "{:?}", run.heard);
    let (audited, heard) = copy.audit();
    assert_eq!(audited.map(|report| report.exit_code()).unwrap(), 0, "{heard:?}");
}

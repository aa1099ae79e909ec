//! Several sets of one Source in one copy.

use std::thread;

use instep_destination::{Coverage, Outcome, SyncOptions, TestMonitor, sync};
use instep_testkit::{FakeSource, Fault, Layout, Tree};

use crate::support::{Copy, SPACES, in_step, runtime};

/// Returns a document of this capability with these entries.
pub(crate) fn document(
    source: &FakeSource,
    capability: &str,
    time: &str,
    entries: &[(&str, &str)],
) -> String {
    let url =
        |(path, metadata): &(&str, &str)| format!("<url><loc>{}</loc>{metadata}</url>", source.url(path));
    let entries: String = entries.iter().map(url).collect();
    format!("<urlset {SPACES}><rs:md capability='{capability}' {time}/>{entries}</urlset>")
}

/// Publishes the resources of the two sets, at a second of a day.
pub(crate) fn publish(source: &FakeSource, second: u32, sets: [&[&str]; 2]) {
    let at = format!("at='2026-01-02T00:00:{second:02}Z'");
    let description = [
        ("one.xml", "<rs:md capability='capabilitylist'/>"),
        ("two.xml", "<rs:md capability='capabilitylist'/>"),
    ];
    source.serve(".well-known/resourcesync", document(source, "description", "", &description));
    for (name, resources) in ["one", "two"].iter().zip(sets) {
        let list = format!("{name}-list.xml");
        let entry = [(list.as_str(), "<rs:md capability='resourcelist'/>")];
        source.serve(&format!("{name}.xml"), document(source, "capabilitylist", "", &entry));
        let resources: Vec<_> =
            resources.iter().map(|path| (*path, "<lastmod>2026-01-01T00:00:00Z</lastmod>")).collect();
        source.serve(&list, document(source, "resourcelist", &at, &resources));
    }
}

/// Makes a set name an index over its Resource List, which does not state its time.
pub(crate) fn serve_behind_index(source: &FakeSource, name: &str) {
    let member = format!("<sitemap><loc>{}</loc></sitemap>", source.url(&format!("{name}-list.xml")));
    let index = format!("<sitemapindex {SPACES}><rs:md capability='resourcelist'/>{member}</sitemapindex>");
    source.serve(&format!("{name}-index.xml"), index);
    let list = format!("{name}-index.xml");
    let entry = [(list.as_str(), "<rs:md capability='resourcelist'/>")];
    source.serve(&format!("{name}.xml"), document(source, "capabilitylist", "", &entry));
}

/// Serves the Resource List of one of the sets, with its only resource as it was modified on a day.
pub(crate) fn list_shared(source: &FakeSource, name: &str, at: &str, day: u32, length: usize) {
    let entry = format!("<lastmod>2026-01-{day:02}T00:00:00Z</lastmod><rs:md length='{length}'/>");
    let list = document(source, "resourcelist", at, &[("shared.txt", &entry)]);
    source.serve(&format!("{name}-list.xml"), list);
}

/// Returns a copy of a Source of two sets with a resource of each.
/// Returns a copy of a Source without Change Lists that has a resource for each of two sets, and another one.
pub(crate) fn of_lists_and(other: (&str, &str)) -> Copy {
    let mut layout = Layout::new();
    layout.change_list = false;
    let resources = [("own-1.txt", "of one"), ("own-2.txt", "of two"), other];
    Copy::of(FakeSource::start_with(layout).with_resources(resources))
}

fn of_two_sets() -> Copy {
    let mut layout = Layout::new();
    layout.change_list = false;
    let source =
        FakeSource::start_with(layout).with_resources([("own-1.txt", "of one"), ("own-2.txt", "of two")]);
    let copy = Copy::of(source);
    publish(&copy.source, 0, [&["own-1.txt"], &["own-2.txt"]]);
    copy
}

/// Serves a Source Description that names the first set alone.
fn name_only_one(source: &FakeSource) {
    let one = [("one.xml", "<rs:md capability='capabilitylist'/>")];
    source.serve(".well-known/resourcesync", document(source, "description", "", &one));
}

#[test]
fn o29_a_set_that_is_not_named_any_more_stays_and_is_said() {
    let copy = of_two_sets();
    let run = copy.sync();
    assert!(run.report().coverage.is_some_and(Coverage::is_complete), "{:?}", run.heard);
    name_only_one(&copy.source);
    for _ in 0..2 {
        let run = copy.sync_with(|options| options.delete = true);
        assert_eq!((run.exit_code(), run.report().coverage), (0, Some(Coverage::Unknown)));
        assert!(run.heard.notes.iter().any(|note| note.contains("two.xml any more")), "{:?}", run.heard);
    }
    assert_eq!(copy.differences(), [""; 0]);
    let (audited, heard) = copy.audit();
    assert_eq!(audited.map(|report| (report.same, report.unauditable)).unwrap(), (2, 1), "{heard:?}");
}

#[test]
fn o66_a_set_that_an_index_of_capability_lists_does_not_name_any_more_is_said() {
    let index = |copy: &Copy, names: &[&str]| {
        let entries: Vec<_> =
            names.iter().map(|name| (*name, "<rs:md capability='capabilitylist'/>")).collect();
        let text = document(&copy.source, "capabilitylist", "", &entries);
        let text = text.replace("urlset", "sitemapindex").replace("<url>", "<sitemap>");
        copy.source.serve(".well-known/resourcesync", text.replace("</url>", "</sitemap>"));
    };
    let copy = of_two_sets();
    index(&copy, &["one.xml", "two.xml"]);
    let run = copy.sync();
    assert!(run.report().is_in_step(), "{:?}", run.heard);
    index(&copy, &["one.xml"]);
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().is_in_step()), (0, false), "{:?}", run.heard);
    assert!(run.heard.notes.iter().any(|note| note.contains("two.xml any more")), "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o43_what_is_pending_of_a_set_that_is_not_named_any_more_is_tried_again() {
    let copy = of_two_sets();
    copy.source.fail_always("own-2.txt", Fault::Status(404));
    assert_eq!(copy.sync().exit_code(), 3);
    name_only_one(&copy.source);
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().owed), (3, 1), "{:?}", run.heard);
    copy.source.heal();
    let planned = copy.sync_with(|options| options.dry_run = true);
    assert_eq!(planned.report().created, 1, "{:?}", planned.heard);
    let run = copy.sync();
    in_step(&copy, &run);
    assert_eq!((run.report().created, run.report().coverage), (1, Some(Coverage::Unknown)));
}

#[test]
fn d35_a_set_that_was_always_empty_refuses_nothing() {
    let mut layout = Layout::new();
    layout.change_list = false;
    let source = FakeSource::start_with(layout).with_resources([("own-1.txt", "of one")]);
    let copy = Copy::of(source);
    for second in 0..2 {
        publish(&copy.source, second, [&["own-1.txt"], &[]]);
        let run = copy.sync_with(|options| options.delete = true);
        assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    }
}

/// Publishes a Source Description over two sets of one resource each.
pub(crate) fn two_sets(source: &FakeSource) {
    let document = |capability: &str, entries: String| {
        format!(
            "<urlset {SPACES}><rs:md capability='{capability}' at='2026-01-02T00:00:00Z'/>{entries}</urlset>"
        )
    };
    let entry = |path: &str, capability: &str| {
        format!("<url><loc>{}</loc><rs:md capability='{capability}'/></url>", source.url(path))
    };
    let description = entry("one.xml", "capabilitylist") + &entry("two.xml", "capabilitylist");
    source.serve(".well-known/resourcesync", document("description", description));
    for (name, resource) in [("one", "a.txt"), ("two", "b.txt")] {
        let list = format!("{name}-list.xml");
        source.serve(&format!("{name}.xml"), document("capabilitylist", entry(&list, "resourcelist")));
        let resource = format!("<url><loc>{}</loc></url>", source.url(resource));
        source.serve(&list, document("resourcelist", resource));
    }
}

#[test]
fn a9_an_index_over_capability_lists_leads_to_all_of_them() {
    let copy = Copy::of_three();
    two_sets(&copy.source);
    let member = |name: &str| format!("<sitemap><loc>{}</loc></sitemap>", copy.source.url(name));
    let members = member("one.xml") + &member("two.xml");
    let index =
        format!("<sitemapindex {SPACES}><rs:md capability='capabilitylist'/>{members}</sitemapindex>");
    copy.source.serve("capabilities.xml", index);
    let url = copy.source.url("capabilities.xml");
    let run = copy.sync_with(|options| options.url = url);
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(Tree::of(&copy.dir()).names(), ["a.txt", "b.txt"]);
}

#[test]
fn b10_a_set_that_is_lost_is_a_problem() {
    for fault in [Fault::Status(404), Fault::Status(500)] {
        let copy = Copy::of_three();
        two_sets(&copy.source);
        copy.source.fail_always("two.xml", fault);
        let run = copy.sync();
        assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
        assert_eq!(Tree::of(&copy.dir()).names(), ["a.txt"]);
    }
}

#[test]
fn b15_a_list_that_moves_with_each_edition_is_one_set() {
    let copy = Copy::laid_out(|layout| layout.change_list = false);
    let latest = |edition: &str| {
        let list = String::from_utf8(copy.source.document("resourcelist.xml").unwrap()).unwrap();
        let up = list.find("<rs:ln").map_or(list.clone(), |from| {
            let end = from + list[from..].find("/>").unwrap() + 2;
            format!("{}{}", &list[..from], &list[end..])
        });
        copy.source.serve(edition, up);
        copy.source.fail_always("latest.xml", Fault::Redirect(copy.source.url(edition)));
    };
    let url = copy.source.url("latest.xml");
    let sync = || {
        copy.sync_with(|options: &mut SyncOptions| {
            options.url = url.clone();
            options.delete = true;
        })
    };
    latest("first.xml");
    assert_eq!(sync().exit_code(), 0);
    copy.source.delete("a.txt");
    copy.source.snapshot();
    latest("second.xml");
    let run = sync();
    in_step(&copy, &run);
    assert_eq!(run.report().deleted, 1);
}

#[test]
fn o790_a_resource_that_is_not_selected_and_moves_to_another_set_is_not_deleted() {
    let own_1: &[&str] = &["own-1.txt"];
    let own_2: &[&str] = &["own-2.txt"];
    let with_1: &[&str] = &["own-1.txt", "moved.txt"];
    let with_2: &[&str] = &["own-2.txt", "moved.txt"];
    for [before, after] in [[[with_1, own_2], [own_1, with_2]], [[own_1, with_2], [with_1, own_2]]] {
        let copy = of_lists_and(("moved.txt", "of either"));
        publish(&copy.source, 0, before);
        in_step(&copy, &copy.sync());
        let narrow = |options: &mut SyncOptions| {
            options.delete = true;
            options.selection.exclude = vec!["moved.txt".to_owned()];
        };
        publish(&copy.source, 1, after);
        let planned = copy.sync_with(|options| {
            narrow(options);
            options.dry_run = true;
        });
        assert_eq!((planned.exit_code(), planned.report().deleted), (0, 0), "{:?}", planned.heard);
        let (audited, heard) = copy.audit();
        assert_eq!(audited.map(|report| report.surplus).unwrap(), 0, "{heard:?}");
        let run = copy.sync_with(narrow);
        assert_eq!(run.report().deleted, 0, "{:?}", run.heard);
        in_step(&copy, &run);

        publish(&copy.source, 2, [own_1, own_2]);
        let run = copy.sync_with(narrow);
        assert_eq!((run.exit_code(), run.report().deleted), (0, 1), "{:?}", run.heard);
        assert_eq!(copy.read("moved.txt"), None, "the Source deleted it");
    }
}

#[test]
fn o790_a_resource_that_moves_to_another_set_is_not_fetched_again() {
    let copy = of_lists_and(("moved.txt", "of either"));
    publish(&copy.source, 0, [&["own-1.txt", "moved.txt"], &["own-2.txt"]]);
    in_step(&copy, &copy.sync());
    publish(&copy.source, 1, [&["own-1.txt"], &["own-2.txt", "moved.txt"]]);
    let run = copy.sync_with(|options| options.delete = true);
    in_step(&copy, &run);
    assert_eq!((run.report().created, run.report().deleted), (0, 0), "{:?}", run.heard);
    assert_eq!(copy.source.requests_for("moved.txt"), 1);
}

#[test]
fn o949_a_run_that_ends_before_it_knows_what_later_sets_list_says_so() {
    let copy = of_lists_and(("gone.txt", "of the first"));
    publish(&copy.source, 0, [&["own-1.txt", "gone.txt"], &["own-2.txt"]]);
    in_step(&copy, &copy.sync());
    publish(&copy.source, 1, [&["own-1.txt"], &["own-2.txt"]]);
    copy.source.fail_always("two-list.xml", Fault::Hold);
    copy.source.forget_requests();
    let mut options = SyncOptions::new(copy.source.url(""), copy.dir());
    options.delete = true;
    let (end, monitor) = (options.shutdown.clone(), TestMonitor::new());
    let report = thread::scope(|scope| {
        let running = scope.spawn(|| runtime().block_on(sync(&options, &monitor)));
        copy.source.wait_for("two-list.xml", 1);
        end.request();
        running.join().unwrap().unwrap()
    });
    let notes = monitor.recorded().notes;
    assert_eq!((report.outcome, report.deleted), (Outcome::Interrupted, 0), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("the sets after")), "{notes:?}");
    copy.source.heal();
    copy.source.release();
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().deleted), (0, 1), "{:?}", run.heard);
}

/// Serves the Capability List and the Change List of a set, with the changes of one resource at these seconds.
fn list_changes(source: &FakeSource, name: &str, changes: &[(&str, u32)]) {
    let (list, change_list) = (format!("{name}-list.xml"), format!("{name}-changes.xml"));
    let entries = [
        (list.as_str(), "<rs:md capability='resourcelist'/>"),
        (change_list.as_str(), "<rs:md capability='changelist'/>"),
    ];
    source.serve(&format!("{name}.xml"), document(source, "capabilitylist", "", &entries));
    let metadata = |(change, second): &(&str, u32)| {
        format!("<rs:md change='{change}' datetime='2026-01-02T00:00:{second:02}Z'/>")
    };
    let metadata: Vec<_> = changes.iter().map(metadata).collect();
    let entries: Vec<_> = metadata.iter().map(|metadata| ("moved.txt", metadata.as_str())).collect();
    source.serve(&change_list, document(source, "changelist", "from='2026-01-02T00:00:00Z'", &entries));
}

#[test]
fn o791_a_resource_that_a_set_only_deletes_does_not_belong_to_it() {
    let source = FakeSource::start().with_resources([("own-1.txt", "of one"), ("own-2.txt", "of two")]);
    let copy = Copy::of(source);
    let sync = || copy.sync_with(|options| options.delete = true);
    publish(&copy.source, 0, [&["own-1.txt"], &["own-2.txt"]]);
    list_changes(&copy.source, "one", &[]);
    list_changes(&copy.source, "two", &[]);
    assert_eq!(sync().exit_code(), 0);
    copy.source.put("moved.txt", "it moved");
    list_changes(&copy.source, "one", &[("created", 30)]);
    list_changes(&copy.source, "two", &[("created", 10), ("deleted", 20)]);
    in_step(&copy, &sync());
    copy.source.delete("moved.txt");
    list_changes(&copy.source, "one", &[("created", 30), ("deleted", 40)]);
    let run = sync();
    assert_eq!((run.exit_code(), run.report().deleted), (0, 1), "{:?}", run.heard);
    assert_eq!(copy.read("moved.txt"), None);
}

#[test]
fn o794_a_change_that_two_sets_list_in_one_document_is_a_change_of_both() {
    let source = FakeSource::start().with_resources([("own-1.txt", "of one"), ("moved.txt", "of both")]);
    let copy = Copy::of(source);
    let sync = || copy.sync_with(|options| options.delete = true);
    publish(&copy.source, 0, [&["own-1.txt", "moved.txt"], &[]]);
    list_changes(&copy.source, "one", &[]);
    let entries = [
        ("one-list.xml", "<rs:md capability='resourcelist'/>"),
        ("one-changes.xml", "<rs:md capability='changelist'/>"),
    ];
    copy.source.serve("two.xml", document(&copy.source, "capabilitylist", "", &entries));
    in_step(&copy, &sync());
    copy.source.delete("moved.txt");
    list_changes(&copy.source, "one", &[("deleted", 10)]);
    let run = sync();
    in_step(&copy, &run);
    assert_eq!(run.report().deleted, 1);
}

/// Returns a copy of two sets, after a resource has moved from the second to the first.
fn moved_to_another_set() -> Copy {
    let source = FakeSource::start().with_resources([
        ("own-1.txt", "of one"),
        ("own-2.txt", "of two"),
        ("moved.txt", "it moved"),
    ]);
    let copy = Copy::of(source);
    let sync = || copy.sync_with(|options| options.delete = true);
    publish(&copy.source, 0, [&["own-1.txt"], &["own-2.txt", "moved.txt"]]);
    list_changes(&copy.source, "one", &[]);
    list_changes(&copy.source, "two", &[]);
    in_step(&copy, &sync());
    list_changes(&copy.source, "one", &[("created", 30)]);
    list_changes(&copy.source, "two", &[("deleted", 20)]);
    in_step(&copy, &sync());
    copy
}

/// Deletes the resource from the set that has it now, and expects that a run removes it.
fn is_given_up(copy: &Copy) {
    copy.source.delete("moved.txt");
    list_changes(&copy.source, "one", &[("created", 30), ("deleted", 40)]);
    let run = copy.sync_with(|options| options.delete = true);
    in_step(copy, &run);
    assert_eq!(run.report().deleted, 1);
}

#[test]
fn o796_a_set_gives_up_a_resource_that_another_one_has_changed_since() {
    let copy = moved_to_another_set();
    is_given_up(&copy);
}

#[test]
fn o765_a_set_does_not_get_back_what_it_deleted_when_the_complete_copy_is_compared() {
    let copy = moved_to_another_set();
    in_step(&copy, &copy.sync_with(|options| (options.delete, options.repair) = (true, true)));
    is_given_up(&copy);
}

#[test]
fn o1083_a_set_gives_up_what_another_one_holds_also_if_nothing_is_deleted() {
    let source = FakeSource::start().with_resources([
        ("own-1.txt", "of one"),
        ("own-2.txt", "of two"),
        ("moved.txt", "of both"),
    ]);
    let copy = Copy::of(source);
    publish(&copy.source, 0, [&["own-1.txt", "moved.txt"], &["own-2.txt", "moved.txt"]]);
    list_changes(&copy.source, "one", &[]);
    list_changes(&copy.source, "two", &[]);
    in_step(&copy, &copy.sync());
    list_changes(&copy.source, "one", &[("deleted", 10)]);
    let run = copy.sync();
    assert!(run.report().is_in_step(), "the other set has it: {:?}", run.heard);

    copy.source.put("moved.txt", "changed in the other set");
    list_changes(&copy.source, "two", &[("updated", 20)]);
    let run = copy.sync();
    in_step(&copy, &run);
    assert!(run.report().is_in_step(), "{:?}", run.heard);
    copy.source.delete("moved.txt");
    list_changes(&copy.source, "two", &[("updated", 20), ("deleted", 30)]);
    assert_eq!(copy.sync().report().kept, 1);
    let run = copy.sync_with(|options| options.delete = true);
    in_step(&copy, &run);
    assert_eq!((run.report().deleted, run.report().is_in_step()), (1, true), "{:?}", run.heard);
}

//! Baseline synchronization with Resource Dumps.

use instep_destination::{Strategy, Via};
use instep_testkit::{FakeSource, Fault, Layout, wait_until};

use crate::{
    sets::document,
    support::{Copy, SPACES, many, three, without, zipped},
};

fn with_dump(list: bool) -> Copy {
    Copy::laid_out(|layout| {
        layout.dump = true;
        layout.resource_list = list;
    })
}

fn requests_for_resources(copy: &Copy) -> usize {
    three().iter().map(|(path, _)| copy.source.requests_for(path)).sum()
}

#[test]
fn a_dump_and_a_list_give_the_same_copy() {
    let copy = with_dump(true);
    let run = copy.sync_with(|options| options.via = Via::Dump);
    assert_eq!((run.exit_code(), run.report().strategy, run.report().created), (0, Strategy::Dump, 3));
    assert_eq!(requests_for_resources(&copy), 0);
    assert_eq!(copy.differences(), [""; 0]);
    let again = copy.sync();
    assert_eq!((again.exit_code(), again.report().strategy), (0, Strategy::Nothing));
}

#[test]
fn a_dump_alone_is_an_inventory_too() {
    let copy = with_dump(false);
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().strategy, run.report().created), (0, Strategy::Dump, 3));
    assert_eq!(requests_for_resources(&copy), 0);
    assert_eq!(copy.differences(), [""; 0]);
    copy.source.put("a.txt", "changed");
    copy.source.delete("b.txt");
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), copy.differences()), (0, vec![]));
}

#[test]
fn what_changed_since_the_dump_is_fetched_by_its_uri() {
    let copy = with_dump(true);
    copy.source.put("a.txt", "changed since");
    let run = copy.sync_with(|options| options.via = Via::Dump);
    assert_eq!((run.exit_code(), run.report().created), (0, 3));
    assert_eq!(copy.source.requests_for("a.txt"), 1);
    assert_eq!(copy.source.requests_for("b.txt"), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn a_package_that_cannot_be_used_costs_nothing_but_requests() {
    let copy = with_dump(true);
    copy.source.fail_always("resourcedump.zip", Fault::Body(b"no package".to_vec()));
    let run = copy.sync_with(|options| options.via = Via::Dump);
    assert_eq!((run.exit_code(), run.report().created), (0, 3));
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o656_a_manifest_that_breaks_off_costs_nothing_but_requests() {
    // The copy beside the package breaks off in its first entry, and the package has all of it.
    let copy = with_dump(true);
    let cut = |text: String| text.split_once("</loc>").unwrap().0.to_owned();
    copy.source.rewrite("resourcedump-manifest.xml", cut);
    let run = copy.sync_with(|options| options.via = Via::Dump);
    assert_eq!((run.exit_code(), run.report().created), (0, 3), "{:?}", run.heard);
    assert_eq!((requests_for_resources(&copy), copy.differences()), (0, vec![]));

    // That of the package breaks off in its second entry.
    let copy = Copy::laid_out(|layout| (layout.dump, layout.contents) = (true, false));
    let manifest = String::from_utf8(copy.source.document("resourcedump-manifest.xml").unwrap()).unwrap();
    let broken = format!("{}</url><url><loc>", manifest.split_once("</url>").unwrap().0);
    copy.source.serve("resourcedump.zip", zipped([("manifest.xml", broken)]));
    copy.source.rewrite("resourcedump.xml", |text| without(&text, "length"));
    let run = copy.sync_with(|options| options.via = Via::Dump);
    assert_eq!((run.exit_code(), run.report().created), (0, 3), "{:?}", run.heard);
    assert_eq!((requests_for_resources(&copy), copy.differences()), (3, vec![]));
    let told = format!("{:?}", run.heard);
    assert!(told.contains("resourcedump.zip"), "{told}");
}

#[test]
fn o802_a_damaged_manifest_in_a_package_is_not_called_a_fault_of_the_disk() {
    let copy = Copy::laid_out(|layout| (layout.dump, layout.contents) = (true, false));
    let mut package = copy.source.document("resourcedump.zip").unwrap();
    let name = package.windows(12).position(|bytes| bytes == b"manifest.xml").unwrap();
    package[name + 60] ^= 0xff;
    copy.source.serve("resourcedump.zip", package);
    let run = copy.sync_with(|options| options.via = Via::Dump);
    assert_eq!((run.exit_code(), run.report().created), (0, 3), "{:?}", run.heard);
    assert_eq!((requests_for_resources(&copy), copy.differences()), (3, vec![]));
    let told = format!("{:?}", run.heard);
    assert!(told.contains("it cannot be read as a document") && !told.contains("stored"), "{told}");
}

fn staged(copy: &Copy) -> usize {
    std::fs::read_dir(copy.dir().join(".instep/staging")).map_or(0, Iterator::count)
}

#[test]
fn a_package_is_read_while_it_arrives() {
    let mut layout = Layout::new();
    layout.dump = true;
    let copy = Copy::of(FakeSource::start_with(layout).with_resources(many(100)));
    let most = copy.source.document("resourcedump.zip").unwrap().len() / 2;
    copy.source.fail("resourcedump.zip", [Fault::Stall(most)]);
    std::thread::scope(|scope| {
        let syncing = scope.spawn(|| copy.sync_with(|options| options.via = Via::Dump));
        // The package itself is one of them.
        wait_until("20 files are staged", || {
            assert!(!syncing.is_finished(), "nothing was staged before the end");
            staged(&copy) >= 20
        });
        assert_eq!(copy.read("n/00000.txt"), None, "nothing counts before the directory is there");
        copy.source.release();
        let run = syncing.join().unwrap();
        assert_eq!((run.exit_code(), run.report().created), (0, 100), "{:?}", run.heard);
    });
    assert_eq!(copy.source.requests_for("n/00000.txt"), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn d20_nothing_of_a_package_with_two_truths_is_used_though_it_was_read() {
    let copy = with_dump(true);
    let mut package = copy.source.document("resourcedump.zip").unwrap();
    let directory = package.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    package[directory + 16] ^= 1;
    copy.source.serve("resourcedump.zip", package);
    let run = copy.sync_with(|options| options.via = Via::Dump);
    assert_eq!((run.exit_code(), run.report().created), (3, 3), "{:?}", run.heard);
    assert_eq!((requests_for_resources(&copy), copy.differences()), (3, vec![]));
    assert_eq!(copy.source.requests_for("resourcedump.zip"), 1);
}

#[test]
fn a_package_that_breaks_off_is_brought_by_later_attempts() {
    let copy = with_dump(true);
    copy.source.fail("resourcedump.zip", [Fault::Truncate(300)]);
    let run = copy.sync_with(|options| options.via = Via::Dump);
    assert_eq!((run.exit_code(), run.report().created), (0, 3), "{:?}", run.heard);
    assert_eq!((requests_for_resources(&copy), copy.differences()), (0, vec![]));
}

/// A Source whose documents do not distinguish one state of a resource from another.
fn bare(layout: &mut Layout) {
    layout.dump = true;
    layout.algorithms.clear();
    (layout.lastmod, layout.length) = (false, false);
}

#[test]
fn o38_what_a_change_wants_is_not_taken_from_a_dump_of_before_it() {
    let copy = Copy::laid_out(|layout| {
        bare(layout);
        layout.resource_list = false;
    });
    copy.source.put("a.txt", "changed since");
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().strategy), (0, Strategy::Dump), "{:?}", run.heard);
    assert_eq!((copy.source.requests_for("a.txt"), copy.source.requests_for("b.txt")), (1, 0));
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o38_what_a_list_names_is_not_taken_from_a_dump_of_before_it() {
    for is_dated in [true, false] {
        let copy = Copy::laid_out(bare);
        copy.source.freeze(&["resourcedump.xml", "resourcedump.zip", "resourcedump-manifest.xml"]);
        if !is_dated {
            copy.source.rewrite("resourcedump.xml", |text| without(&text, "at"));
        }
        copy.source.put("a.txt", "changed since");
        copy.source.snapshot();
        copy.source.gap();
        let run = copy.sync_with(|options| options.via = Via::Dump);
        assert_eq!((run.exit_code(), run.report().created), (0, 3), "{:?}", run.heard);
        assert_eq!(copy.differences(), [""; 0]);
    }
}

#[test]
fn o275_the_reason_for_a_way_is_told_once() {
    let run = with_dump(false).sync();
    let reason = "the first copy; the Source offers no Resource List";
    assert_eq!((run.exit_code(), &*run.report().reason), (0, reason));
}

#[test]
fn o279_a_package_that_lacks_resources_of_its_manifest_is_named() {
    let copy = with_dump(false);
    let mut package = copy.source.document("resourcedump.zip").unwrap();
    // Before the member and in the directory; the manifest is compressed.
    let name = b"resources/000000";
    let places: Vec<usize> =
        (0..package.len() - name.len()).filter(|&at| package[at..].starts_with(name)).collect();
    assert_eq!(places.len(), 2);
    for at in places {
        package[at + name.len() - 1] = b'x';
    }
    copy.source.serve("resourcedump.zip", package);
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().created), (0, 3), "{:?}", run.heard);
    assert_eq!((requests_for_resources(&copy), copy.differences()), (1, vec![]));
    let told = format!("{:?}", run.heard);
    assert!(told.contains("the package lacks 1 of its resources, which are requested"), "{told}");
    assert!(told.contains("resourcedump.zip"), "{told}");
}

#[test]
fn o348_a_package_with_other_bytes_than_its_manifest_promises_is_named() {
    let copy = with_dump(false);
    copy.source.pack_instead("a.txt", "one", "two");
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().created), (0, 3), "{:?}", run.heard);
    let told = format!("{:?}", run.heard);
    assert!(told.contains("the package lacks 1 of its resources, which are requested"), "{told}");
    assert!(told.contains("It has the digest"), "{told}");
    assert_eq!(copy.differences(), [""; 0]);
}

/// Returns a copy of a Source that offers these documents, with a package of a former state of its resource.
fn with_former_package(offers: [(&str, &str); 2]) -> Copy {
    let copy = Copy::of(FakeSource::start().with_resources([("a.txt", "the second")]));
    let source = &copy.source;
    let description = [("one.xml", "<rs:md capability='capabilitylist'/>")];
    source.serve(".well-known/resourcesync", document(source, "description", "", &description));
    source.serve("one.xml", document(source, "capabilitylist", "", &offers));
    let manifest = document(source, "resourcedump-manifest", "", &[("a.txt", "<rs:md path='/a.txt'/>")]);
    source.serve("part.zip", zipped([("manifest.xml", manifest), ("a.txt", "first".to_owned())]));
    copy
}

/// Serves a dump of one second, with a package of these resources.
fn serve_dump_of(source: &FakeSource, resources: &[(&str, &str)]) {
    let paths: Vec<String> = resources.iter().map(|(path, _)| format!("<rs:md path='/{path}'/>")).collect();
    let entries: Vec<(&str, &str)> =
        resources.iter().zip(&paths).map(|((path, _), metadata)| (*path, metadata.as_str())).collect();
    let manifest = document(source, "resourcedump-manifest", "", &entries);
    let members = resources.iter().map(|(path, text)| (*path, (*text).to_owned()));
    let package = zipped([("manifest.xml", manifest)].into_iter().chain(members));
    let listed = format!("<rs:md length='{}'/>", package.len());
    source.serve("part.zip", package);
    let at = "at='2026-01-02T00:00:00Z'";
    source.serve("dump.xml", document(source, "resourcedump", at, &[("part.zip", &listed)]));
}

/// Returns a copy of a Source of two resources that offers nothing but a dump, which is still to be served.
fn of_a_dump_alone() -> Copy {
    let copy = Copy::of(FakeSource::start().with_resources([("a.txt", "one"), ("d/b.txt", "two")]));
    let source = &copy.source;
    let description = [("one.xml", "<rs:md capability='capabilitylist'/>")];
    source.serve(".well-known/resourcesync", document(source, "description", "", &description));
    let offer = [("dump.xml", "<rs:md capability='resourcedump'/>")];
    source.serve("one.xml", document(source, "capabilitylist", "", &offer));
    copy
}

#[test]
fn o1011_a_dump_that_is_written_again_within_its_second_is_read() {
    let copy = of_a_dump_alone();
    serve_dump_of(&copy.source, &[("a.txt", "one")]);
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().created), (0, 1), "{:?}", run.heard);
    serve_dump_of(&copy.source, &[("a.txt", "one"), ("d/b.txt", "two")]);
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().created), (0, 1), "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().strategy), (0, Strategy::Nothing), "{:?}", run.heard);
}

#[test]
fn o1012_what_could_not_be_placed_is_taken_from_a_dump_that_alone_has_it() {
    let copy = of_a_dump_alone();
    copy.source.fail_always("d/b.txt", Fault::Status(404));
    serve_dump_of(&copy.source, &[("a.txt", "one"), ("d/b.txt", "two")]);
    std::fs::create_dir(copy.dir()).unwrap();
    std::fs::write(copy.dir().join("d"), "in the way").unwrap();
    let sync = || copy.sync_with(|options| options.into_existing = true);
    for _ in 0..2 {
        let run = sync();
        assert_eq!((run.exit_code(), run.report().owed), (3, 1), "{:?}", run.heard);
    }
    std::fs::remove_file(copy.dir().join("d")).unwrap();
    let run = sync();
    assert_eq!((run.exit_code(), copy.differences()), (0, vec![]), "{:?}", run.heard);
    let run = sync();
    assert_eq!((run.exit_code(), run.report().strategy), (0, Strategy::Nothing), "{:?}", run.heard);
}

#[test]
fn o1123_a_blocked_deletion_is_no_reason_to_read_a_dump_again() {
    let copy = of_a_dump_alone();
    let sync = || copy.sync_with(|options| options.delete = true);
    serve_dump_of(&copy.source, &[("a.txt", "one"), ("d/b.txt", "two")]);
    assert_eq!(sync().exit_code(), 0);
    serve_dump_of(&copy.source, &[("a.txt", "one")]);
    let held = copy.dir().join("d/b.txt");
    std::fs::remove_file(&held).unwrap();
    std::fs::create_dir_all(held.join("theirs")).unwrap();
    let mut requested = Vec::new();
    for _ in 0..2 {
        let run = sync();
        assert_eq!((run.exit_code(), run.report().owed), (3, 1), "{:?}", run.heard);
        requested.push(copy.source.requests_for("part.zip"));
    }
    assert_eq!(requested[0], requested[1], "the package is not fetched again");
}

/// Serves an index of dumps that was made at this second.
fn serve_dump_index(source: &FakeSource, second: u32, parts: &[&str]) {
    let root = format!("<rs:md capability='resourcedump' at='2026-01-02T00:00:{second:02}Z'/>");
    let part = |part: &&str| format!("<sitemap><loc>{}</loc></sitemap>", source.url(part));
    let parts: String = parts.iter().map(part).collect();
    source.serve("dump.xml", format!("<sitemapindex {SPACES}>{root}{parts}</sitemapindex>"));
}

#[test]
fn o1124_a_part_that_is_lost_for_now_is_no_reason_to_read_a_dump_again() {
    let copy = of_a_dump_alone();
    let source = &copy.source;
    let at = "at='2026-01-02T00:00:20Z'";
    for (name, path, text) in [("first", "a.txt", "one"), ("second", "d/b.txt", "two")] {
        let metadata = format!("<rs:md path='/{path}'/>");
        let manifest = document(source, "resourcedump-manifest", "", &[(path, &metadata)]);
        let package = format!("{name}.zip");
        source.serve(&package, zipped([("manifest.xml", manifest), (path, text.to_owned())]));
        source.serve(&format!("{name}.xml"), document(source, "resourcedump", at, &[(&package, "")]));
    }
    serve_dump_index(source, 20, &["first.xml", "second.xml"]);
    let run = copy.sync();
    assert_eq!((run.exit_code(), copy.differences()), (0, vec![]), "{:?}", run.heard);
    let requested = source.requests_for("first.zip");
    source.fail_always("second.xml", Fault::Body(b"cut off".to_vec()));
    let run = copy.sync();
    assert_eq!((run.exit_code(), source.requests_for("first.zip")), (3, requested), "{:?}", run.heard);
    source.heal();
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().strategy), (0, Strategy::Nothing), "{:?}", run.heard);
}

#[test]
fn o797_changes_since_the_oldest_part_of_a_dump_are_applied() {
    let copy = with_former_package([
        ("dump.xml", "<rs:md capability='resourcedump'/>"),
        ("changes.xml", "<rs:md capability='changelist'/>"),
    ]);
    let source = &copy.source;
    serve_dump_index(source, 20, &["part.xml"]);
    let at = "at='2026-01-02T00:00:00Z'";
    source.serve("part.xml", document(source, "resourcedump", at, &[("part.zip", "")]));
    let change = [("a.txt", "<rs:md change='updated' datetime='2026-01-02T00:00:10Z'/>")];
    source.serve("changes.xml", document(source, "changelist", "from='2026-01-02T00:00:00Z'", &change));
    let run = copy.sync();
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.read("a.txt").as_deref(), Some("the second"));
}

#[test]
fn o798_what_a_list_names_is_not_taken_from_a_package_of_before_it_in_a_newer_dump() {
    let copy = with_former_package([
        ("list.xml", "<rs:md capability='resourcelist'/>"),
        ("dump.xml", "<rs:md capability='resourcedump'/>"),
    ]);
    let source = &copy.source;
    let at = "at='2026-01-02T00:00:10Z'";
    source.serve("list.xml", document(source, "resourcelist", at, &[("a.txt", "")]));
    let package = [("part.zip", "<rs:md at='2026-01-02T00:00:00Z'/>")];
    let at = "at='2026-01-02T00:00:20Z'";
    source.serve("dump.xml", document(source, "resourcedump", at, &package));
    let run = copy.sync_with(|options| options.via = Via::Dump);
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.read("a.txt").as_deref(), Some("the second"));
}

#[test]
fn o926_a_later_dump_that_keeps_an_old_part_makes_up_for_a_list_that_stays_lost() {
    let copy = with_former_package([
        ("list.xml", "<rs:md capability='resourcelist'/>"),
        ("dump.xml", "<rs:md capability='resourcedump'/>"),
    ]);
    let source = &copy.source;
    let at = "at='2026-01-02T00:00:00Z'";
    source.serve("part.xml", document(source, "resourcedump", at, &[("part.zip", "")]));
    serve_dump_index(source, 20, &["part.xml"]);
    let run = copy.sync();
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    source.put("b.txt", "later");
    let manifest = document(source, "resourcedump-manifest", "", &[("b.txt", "<rs:md path='/b.txt'/>")]);
    source.serve("later.zip", zipped([("manifest.xml", manifest), ("b.txt", "later".to_owned())]));
    let at = "at='2026-01-02T00:00:30Z'";
    source.serve("later.xml", document(source, "resourcedump", at, &[("later.zip", "")]));
    serve_dump_index(source, 30, &["part.xml", "later.xml"]);
    let run = copy.sync();
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    assert_eq!(copy.read("b.txt").as_deref(), Some("later"));
}

//! Several sets of one Source in one copy.

use instep_destination::SyncOptions;
use instep_testkit::{FakeSource, Layout, Tree};

use crate::support::Copy;

const SPACES: &str =
    "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:rs='http://www.openarchives.org/rs/terms/'";

/// A document of this capability with these entries.
fn document(source: &FakeSource, capability: &str, time: &str, entries: &[(&str, &str)]) -> String {
    let url =
        |(path, metadata): &(&str, &str)| format!("<url><loc>{}</loc>{metadata}</url>", source.url(path));
    let entries: String = entries.iter().map(url).collect();
    format!("<urlset {SPACES}><rs:md capability='{capability}' {time}/>{entries}</urlset>")
}

/// Publishes what the two sets hold, at a second of a day.
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

#[test]
fn a_shared_resource_stays_until_no_set_holds_it() {
    let mut layout = Layout::new();
    layout.change_list = false;
    let source = FakeSource::start_with(layout).with_resources([
        ("own-1.txt", "of one"),
        ("own-2.txt", "of two"),
        ("shared.txt", "of both"),
    ]);
    let copy = Copy::of(source);
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

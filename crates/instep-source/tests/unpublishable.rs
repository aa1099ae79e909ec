//! Resources that no document can carry: they are left out and reported, and everything else is published.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

use std::{fs, path::Path};

use instep_source::{
    Content, PublishOptions, PublishReport, Publisher, RecordingMonitor, ReportedChange, ResourceState,
    publish,
};
use resourcesync::{Link, MediaType, Relation, Uri};

const BASE: &str = "http://example.org/";

fn list(folder: &Path) -> String {
    fs::read_to_string(folder.join("resourcesync/resourcelist.xml")).unwrap()
}

fn changes(folder: &Path) -> String {
    fs::read_to_string(folder.join("resourcesync/changelist-000001.xml")).unwrap()
}

fn published(options: &PublishOptions) -> (PublishReport, RecordingMonitor) {
    let monitor = RecordingMonitor::new();
    (publish(options, &monitor).unwrap(), monitor)
}

fn skipped(monitor: &RecordingMonitor) -> usize {
    monitor.seen().problems.iter().filter(|problem| problem.skipped).count()
}

#[test]
fn c3_a_path_of_long_names_is_left_out_in_every_run_and_the_rest_is_published() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join(vec!["n".repeat(250); 9].join("/"));
    fs::create_dir_all(deep.parent().unwrap()).unwrap();
    fs::write(&deep, "deep").unwrap();
    fs::write(folder.path().join("a.txt"), "a").unwrap();
    let mut options = PublishOptions::new(folder.path(), BASE);
    options.sitemap_twin = true;
    for _ in 0..2 {
        let (report, monitor) = published(&options);
        assert_eq!((report.resources, report.skipped, skipped(&monitor)), (1, 1, 1));
        assert!(list(folder.path()).contains("a.txt") && !list(folder.path()).contains("nnn"));
    }
    fs::remove_dir_all(folder.path().join("n".repeat(250))).unwrap();
    fs::write(folder.path().join("a.txt"), "changed").unwrap();
    let (report, _) = published(&options);
    assert_eq!((report.updated, report.deleted, report.skipped), (1, 0, 0));
    assert!(!changes(folder.path()).contains("deleted"));
}

#[test]
fn c3_c4_lines_of_a_manifest_that_cannot_be_published_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = folder.path().join("list.jsonl");
    let lines = [
        format!(r#"{{"uri":"{BASE}a","length":1}}"#),
        format!(r#"{{"uri":"{BASE}{}","length":1}}"#, "b".repeat(2_048)),
        format!(r#"{{"uri":"{BASE}c","length":1,"type":"text/\u0001plain"}}"#),
        format!(r#"{{"uri":"{BASE}d","length":1,"encoding":"g\ufffezip"}}"#),
        format!(r#"{{"uri":"{BASE}e","length":9223372036854775807}}"#),
    ];
    fs::write(&manifest, lines.join("\n")).unwrap();
    let mut options = PublishOptions::new(folder.path(), BASE);
    options.sets[0].content = vec![Content::Manifest { path: manifest, root: folder.path().into() }];
    let (report, monitor) = published(&options);
    assert_eq!((report.resources, report.skipped, skipped(&monitor)), (1, 4, 4));
}

/// Returns a Source with a resource, to which an application has added others that only a catalogue can hold.
fn with_reported(
    added: Vec<(String, ResourceState)>,
) -> (tempfile::TempDir, PublishReport, RecordingMonitor) {
    let folder = tempfile::tempdir().unwrap();
    let manifest = folder.path().join("list.csv");
    fs::write(&manifest, format!("uri,length\n{BASE}a,1\n")).unwrap();
    let mut options = PublishOptions::new(folder.path(), BASE);
    options.sets[0].content = vec![Content::Manifest { path: manifest, root: folder.path().into() }];
    options.lists.snapshot = true;
    let monitor = RecordingMonitor::new();
    publish(&options, &monitor).unwrap();
    let mut publisher = Publisher::open(options.clone()).unwrap();
    let change =
        |(uri, state): (String, ResourceState)| ReportedChange::Add { uri: Uri::parse(&uri).unwrap(), state };
    let reported = added.into_iter().map(change).collect();
    publisher.record(reported, &monitor).unwrap();
    let report = publisher.publish_recorded(&monitor).unwrap();
    (folder, report, monitor)
}

#[test]
fn c3_a_catalogue_that_holds_a_uri_that_is_too_long_heals() {
    let long = format!("{BASE}{}", "l".repeat(2_048));
    let (folder, report, monitor) =
        with_reported(vec![(long.clone(), ResourceState::new()), (format!("{BASE}b"), ResourceState::new())]);
    assert_eq!((report.skipped, skipped(&monitor)), (1, 1), "once, although it is in two documents");
    for document in [list(folder.path()), changes(folder.path())] {
        assert!(document.contains(&format!("{BASE}b")) && !document.contains("lll"), "{document}");
    }
}

#[test]
fn c4_c5_links_and_values_from_elsewhere_that_break_a_rule_are_left_out_and_the_resource_stays() {
    let link = |rel: &str| Link::new(Relation::parse(rel), Uri::parse("http://elsewhere.org/x").unwrap());
    let mut unknown = link("describedby");
    unknown.other.push(resourcesync::document::Attribute::new("", "unknown", "1"));
    let mut state = ResourceState::new();
    state.links = vec![link("profile"), unknown, link("a b")];
    state.media_type = Some(MediaType::new("text/\u{fffe}plain"));
    let (folder, report, monitor) = with_reported(vec![(format!("{BASE}b"), state)]);
    assert_eq!((report.skipped, skipped(&monitor)), (1, 1));
    for document in [list(folder.path()), changes(folder.path())] {
        assert!(document.contains(&format!("{BASE}b")) && document.contains("profile"), "{document}");
        assert!(!document.contains("describedby") || !document.contains("unknown"), "{document}");
        assert!(!document.contains("a b") && !document.contains('\u{fffe}'), "{document}");
    }
}

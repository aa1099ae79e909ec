//! Copies that are published again: metadata that a document cannot express is left out, and the rest is published.

use std::{fs, path::Path};

use instep_testkit::{FakeSource, Layout, Run, instep};
use resourcesync::{Algorithm, Document, ReadOptions, Relation};

/// Links that another Source may publish, and that break a rule here: an attribute of no namespace, a relation that is
/// none.
const LINKS: &str = "<rs:ln rel=\"describedby\" href=\"http://elsewhere.org/d\" unknown=\"1\"/>\
                     <rs:ln rel=\"a b\" href=\"http://elsewhere.org/b\"/>\
                     <rs:ln rel=\"alternate\" href=\"http://elsewhere.org/long\" length=\"9223372036854775807\"/>\
                     <rs:ln rel=\"profile\" href=\"http://elsewhere.org/right\"/>";

fn files(folder: &Path) -> String {
    let mut text = String::new();
    for file in ["resourcelist.xml", "changelist-000001.xml"] {
        text += &fs::read_to_string(folder.join("resourcesync").join(file)).unwrap_or_default();
    }
    text
}

#[test]
fn c5_what_no_document_can_say_of_a_resource_is_dropped_and_reported_and_the_rest_is_published() {
    let long = vec!["l".repeat(190); 10].join("/");
    let resources = [("a.txt", "one"), ("b.txt", "two"), (&*long, "far")];
    let source = FakeSource::start().with_resources(resources);
    source.rewrite("resourcelist.xml", |text| {
        let (before, after) = text.split_once("/a.txt</loc>").unwrap();
        let (entry, rest) = after.split_once("</url>").unwrap();
        format!("{before}/a.txt</loc>{entry}{LINKS}</url>{rest}")
    });
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    let _ = Run::of(instep(["sync"]).arg(source.url("")).arg(&copy)).with_code(0);

    let base = format!("https://mirror.example.org/{}/", "b".repeat(120));
    let run = Run::of(instep(["republish", "--base-url", &base]).arg(&copy)).with_code(3);
    let documents = files(&copy);
    for there in ["/a.txt", "/b.txt", "http://elsewhere.org/right"] {
        assert!(documents.contains(there), "{there} is missing in {documents}");
    }
    for dropped in ["unknown", "\"a b\"", "lll"] {
        assert!(!documents.contains(dropped), "{dropped} is in {documents}");
    }
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(said.contains("/a.txt") && said.contains("2,047"), "{said}");
    let list = copy.join("resourcesync/resourcelist.xml");
    let _ = Run::of(instep(["validate", "--strict"]).arg(list)).with_code(0);
    let again = Run::of(instep(["republish", "--base-url", &base]).arg(&copy)).with_code(3);
    assert!(format!("{}{}", again.stdout, again.stderr).contains("2,047"), "it is reported again");
}

#[test]
fn a14_what_is_published_again_repeats_all_that_its_first_source_says_of_it() {
    let mut layout = Layout::new();
    layout.algorithms = vec![Algorithm::Md5, Algorithm::Sha256];
    let source = FakeSource::start_with(layout).with_resources([("a.txt", "one")]);
    source.misstate("a.txt", |entry| entry.metadata.encoding = Some("gzip".into()));
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    let _ = Run::of(instep(["sync"]).arg(source.url("")).arg(&copy)).with_code(0);
    let _ =
        Run::of(instep(["republish", "--base-url", "https://mirror.example.org/"]).arg(&copy)).with_code(0);

    let entries = |bytes: &[u8]| match Document::read(bytes, ReadOptions::new()).unwrap() {
        Document::ResourceList(list) => list.entries,
        other => panic!("{other:?}"),
    };
    let first = entries(&source.document("resourcelist.xml").unwrap()).remove(0);
    let again = entries(&fs::read(copy.join("resourcesync/resourcelist.xml")).unwrap()).remove(0);
    let via: Vec<_> = again.links_for(&Relation::Via).collect();
    let [via] = via.as_slice() else { panic!("{again:?}") };
    assert_eq!((&via.href, &via.hash), (&first.loc, &first.metadata.hash));
    assert_eq!((via.modified, via.length), (first.lastmod, first.metadata.length));
    assert_eq!((&via.encoding, &via.media_type), (&first.metadata.encoding, &first.metadata.media_type));
    assert_eq!(via.hash.iter().count(), 2);
}

//! Listings whose stream was dropped, and of Sources of which one list cannot be read.

use futures_util::StreamExt as _;
use instep_testkit::{FakeSource, Fault, Layout};

use super::*;

fn listing(source: &FakeSource) -> EntryListing {
    let mut options = StreamOptions::new();
    options.access.retries = 0;
    EntryListing { url: source.url(""), options, capability: Capability::ResourceList, since: None }
}

/// Returns a document of this capability with these entries.
fn document(source: &FakeSource, capability: &str, entries: &[(&str, &str)]) -> String {
    let entry = |(path, what): &(&str, &str)| format!("<url><loc>{}</loc>{what}</url>", source.url(path));
    let entries: String = entries.iter().map(entry).collect();
    format!(
        "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:rs='http://www.openarchives.org/rs/terms/'>\
         <rs:md capability='{capability}'/>{entries}</urlset>"
    )
}

#[tokio::test]
async fn o911_a_listing_that_a_fault_in_the_program_ends_does_not_look_complete() {
    let entry = Entry::new("http://h/a".parse().unwrap());
    let broken = stream(|entries| async move {
        entries.send(Ok(entry)).await.unwrap();
        panic!("a fault in the program");
    });
    let listed: Vec<_> = broken.collect().await;
    assert!(matches!(&*listed, [Ok(_), Err(Error::Task { .. })]), "{listed:?}");
}

#[tokio::test]
async fn o405_nothing_more_is_requested_for_a_stream_that_was_dropped() {
    let mut layout = Layout::new();
    layout.part_entries = Some(1);
    let source = FakeSource::start_with(layout).with_resources([("a", "one"), ("b", "two"), ("c", "three")]);
    let (sender, receiver) = mpsc::channel(AHEAD);
    drop(receiver);
    listing(&source).run(sender).await;
    let parts = source.requests().into_iter().filter(|request| request.path.starts_with("resourcelist-"));
    assert_eq!((source.requests_for("resourcelist.xml"), parts.count()), (1, 0));
}

#[tokio::test]
async fn o998_entries_that_cannot_be_used_come_as_an_error() {
    let mut parts = Layout::new();
    parts.part_entries = Some(2);
    for (layout, spoiled) in [
        (Layout::new(), "resourcelist.xml"),
        (Layout::new(), "capabilitylist.xml"),
        (Layout::new(), ".well-known/resourcesync"),
        (parts.clone(), "resourcelist.xml"),
        (parts, "resourcelist-0001.xml"),
    ] {
        let source =
            FakeSource::start_with(layout).with_resources([("a", "one"), ("b", "two"), ("c", "three")]);
        let list = async || {
            let (sender, mut receiver) = mpsc::channel(AHEAD);
            listing(&source).run(sender).await;
            let (mut listed, mut lost) = (0, 0);
            while let Some(entry) = receiver.recv().await {
                *(if entry.is_ok() { &mut listed } else { &mut lost }) += 1;
            }
            (listed, lost)
        };
        assert_eq!(list().await, (3, 0), "{spoiled}");
        source.rewrite(spoiled, |text| {
            text.replacen("<sitemap>", "<sitemap/><sitemap>", 1).replacen("<url>", "<url/><url>", 1)
        });
        assert_eq!(list().await, (3, 1), "{spoiled}");
    }
}

#[tokio::test]
async fn o405_a_list_that_cannot_be_read_does_not_end_the_listing_of_the_other_sets() {
    for lost in ["one", "two"] {
        let source = FakeSource::start();
        let is_set = "<rs:md capability='capabilitylist'/>";
        let sets = [("one.xml", is_set), ("two.xml", is_set)];
        source.serve(".well-known/resourcesync", document(&source, "description", &sets));
        for name in ["one", "two"] {
            let (list, resource) = (format!("{name}-list.xml"), format!("{name}.txt"));
            let lists = [(&*list, "<rs:md capability='resourcelist'/>")];
            source.serve(&format!("{name}.xml"), document(&source, "capabilitylist", &lists));
            source.serve(&list, document(&source, "resourcelist", &[(&*resource, "")]));
        }
        source.fail_always(&format!("{lost}-list.xml"), Fault::Status(404));
        let (sender, mut receiver) = mpsc::channel(AHEAD);
        listing(&source).run(sender).await;
        let mut listed = Vec::new();
        while let Some(entry) = receiver.recv().await {
            listed.push(entry.map(|entry| entry.loc.into_string()).map_err(|error| error.to_string()));
        }
        let other = if lost == "one" { "two.txt" } else { "one.txt" };
        assert_eq!(listed.iter().filter(|listed| listed.is_err()).count(), 1, "{listed:?}");
        assert!(listed.contains(&Ok(source.url(other))) && listed.len() == 2, "{listed:?}");
    }
}

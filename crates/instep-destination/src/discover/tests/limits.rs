//! Documents without end, in circles, on other hosts or cut off: the walk stays within its limits.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use instep_net::HttpError;
use instep_testkit::{FakeSource, Fault};
use resourcesync::{Capability, Limits, Uri};

use super::*;
use crate::documents::DocumentError;

#[tokio::test]
async fn d15_links_upwards_in_a_circle_are_a_trouble_and_no_endless_walk() {
    let source = hidden();
    let up =
        |to: &str| format!("<rs:ln rel='up' href='{}'/><rs:md capability='changelist'/>", source.url(to));
    source.serve("one.xml", list("urlset", &up("two.xml"), ""));
    source.serve("two.xml", list("urlset", &up("one.xml"), ""));
    let found = found_from(&source, &source.url("one.xml")).await;
    assert!(set(&found).get(&Capability::ChangeList).is_some());
    assert!(found.troubles[0].what.contains("circle"), "{:?}", found.troubles);
}

#[tokio::test]
async fn d22_a_document_does_not_lead_to_another_host() {
    let (source, other) = (hidden(), FakeSource::start());
    let head = format!(
        "<rs:ln rel='up' href='{}'/><rs:md capability='resourcelist' at='2026-01-01T00:00:00Z'/>",
        other.capability_list_url()
    );
    source.serve("list.xml", list("urlset", &head, ""));
    let found = found_from(&source, &source.url("list.xml")).await;
    assert!(found.troubles[0].what.contains("is on another host than"), "{:?}", found.troubles);
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn d13_a_document_without_end_stops_at_the_limit() {
    let source = FakeSource::start();
    source.serve("endless.xml", vec![b' '; 10_000]);
    source.fail_always("endless.xml", Fault::Endless);
    let mut limits = Limits::default();
    limits.bytes = 3 << 20;
    let error = documents(&source)
        .with_limits(limits)
        .get(&uri(source.url("endless.xml")), None)
        .await
        .expect_err("too large");
    assert!(matches!(error, DocumentError::TooLarge { most: 3_145_728, .. }), "{error:?}");
}

#[tokio::test]
async fn d14_a_gzip_bomb_is_refused_and_honest_gzip_read() {
    let source = FakeSource::start().with_resources([("a", "text")]);
    let gzip = |text: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    let bomb = list("urlset", "", &format!("<!--{}-->", " ".repeat(40 << 20)));
    source.serve("bomb.xml.gz", gzip(bomb.as_bytes()));
    source.serve("list.xml.gz", gzip(list("urlset", "", "").as_bytes()));
    source.fail_always("list.xml.gz", Fault::Gzip);
    let documents = documents(&source);
    let honest = documents.open(&uri(source.url("list.xml.gz")), None).await.unwrap();
    assert_eq!(honest.for_each(|_| {}).unwrap(), 0);
    let error = documents.open(&uri(source.url("bomb.xml.gz")), None).await;
    let error = error.and_then(|document| document.for_each(|_| {})).unwrap_err();
    assert!(error.is_invalid(), "{error:?}");
}

#[tokio::test]
async fn d16_a_document_that_breaks_off_is_no_document() {
    let source = FakeSource::start().with_resources([("a", "text")]);
    let url = uri(source.resource_list_url());
    let path = source.resource_list_url().replace(&source.url(""), "");
    source.fail_always(&path, Fault::Truncate(400));
    let error = documents(&source).get(&url, None).await.unwrap_err();
    assert!(matches!(error, DocumentError::Http(HttpError::Transfer { .. })), "{error:?}");
    source.heal();
    let whole = source.document(&path).unwrap();
    source.serve("cut.xml", &whole[..whole.len() - 5]);
    let cut = documents(&source).open(&uri(source.url("cut.xml")), None).await.unwrap();
    assert!(cut.for_each(|_| {}).unwrap_err().is_invalid());
}

#[tokio::test]
async fn d26_a_file_is_read_only_where_the_operator_began_with_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.xml");
    std::fs::write(&path, list("urlset", "", "")).unwrap();
    let url = uri(format!("file://{}", path.display()));
    let documents = documents(&FakeSource::start());
    assert!(matches!(documents.get(&url, None).await, Err(DocumentError::File { .. })));
    assert!(documents.with_files().get(&url, None).await.unwrap().document().is_ok());
}

#[tokio::test]
async fn d15_so_many_documents_and_no_more_are_asked_for() {
    let source = FakeSource::start();
    let uri = Uri::parse(&source.resource_list_url()).unwrap();
    let documents = documents(&source).at_most(2);
    let (first, second) = (documents.clone(), documents.clone());
    assert!(first.open(&uri, None).await.is_ok() && second.open(&uri, None).await.is_ok());
    let refused = documents.open(&uri, None).await.unwrap_err();
    assert!(refused.is_invalid() && matches!(refused, DocumentError::TooMany { most: 2, .. }), "{refused}");
    assert_eq!(source.requests_for("resourcelist.xml"), 2);
}

#[tokio::test]
async fn o406_a_collection_of_activities_may_have_more_pages_than_a_search_may_request_documents() {
    const PAGES: u64 = 1_100;
    let source = FakeSource::start();
    let url = |number: u64| source.url(&format!("activity/{number}"));
    let collection = format!(r#"{{"type": "OrderedCollection", "last": {{"id": "{}"}}}}"#, url(PAGES));
    source.serve("activity/all", collection);
    for number in 1..=PAGES {
        let object = source.url(&format!("iiif/{number}"));
        let before =
            if number == 1 { String::new() } else { format!(r#""prev": {{"id": "{}"}}, "#, url(number - 1)) };
        let item = format!(
            r#"{{"type": "Create", "object": {{"id": "{object}"}}, "endTime": "2026-01-01T00:00:00Z"}}"#
        );
        let page = format!(r#"{{"type": "OrderedCollectionPage", {before}"orderedItems": [{item}]}}"#);
        source.serve(&format!("activity/{number}"), page);
    }
    let found = found_from(&source, &source.url("activity/all")).await;
    let changes = set(&found).get(&Capability::ChangeList).and_then(|offer| offer.document.as_ref()).unwrap();
    assert_eq!(changes.for_each(|_| {}).unwrap(), PAGES);
    assert!(found.troubles.is_empty(), "{:?}", found.troubles);
}

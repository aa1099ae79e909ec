//! Documents and discovery against Sources of every kind: DISC-6 to DISC-8, and the rows D13 to D15 and D22 of the
//! threats.

mod links;

use std::{io::Write as _, time::Duration};

use crate::{
    discover::{CapabilitySet, DiscoverError, Discovered, Way, discover, discover_again, explore},
    documents::{DocumentError, Documents, Fetched},
};
use flate2::{Compression, write::GzEncoder};
use instep_net::{Client, HttpError, HttpOptions, Scope};
use instep_testkit::{FakeSource, Fault, Page};
use resourcesync::{Capability, Limits, Uri};
use tokio_util::sync::CancellationToken;

fn uri(text: impl AsRef<str>) -> Uri {
    Uri::parse(text.as_ref()).unwrap()
}

fn documents(source: &FakeSource) -> Documents {
    let mut options = HttpOptions::new(Scope::for_source(&source.url("")).unwrap());
    options.backoff = Duration::from_millis(1);
    options.retries = 1;
    Documents::new(Client::new(options).unwrap(), std::env::temp_dir())
}

async fn found_from(source: &FakeSource, url: &str) -> Discovered {
    discover(&uri(url), &[], &documents(source)).await.unwrap_or_else(|error| panic!("{url}: {error:?}"))
}

fn set(found: &Discovered) -> &CapabilitySet {
    found.single_set().unwrap()
}

const SITEMAP: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";
const TERMS: &str = "http://www.openarchives.org/rs/terms/";

fn list(root: &str, head: &str, entries: &str) -> String {
    format!("<{root} xmlns='{SITEMAP}' xmlns:rs='{TERMS}'>{head}{entries}</{root}>")
}

#[tokio::test]
async fn every_document_of_a_source_leads_to_its_capabilities() {
    let source = FakeSource::start().with_resources([("a", "text")]);
    for url in [
        source.url(""),
        source.description_url(),
        source.capability_list_url(),
        source.resource_list_url(),
        source.change_list_url(),
        source.url("a"),
        source.url("nothing/here"),
    ] {
        let found = found_from(&source, &url).await;
        let set = set(&found);
        assert_eq!(set.capability_list, Some(uri(source.capability_list_url())), "{url}");
        assert_eq!(set.get(&Capability::ResourceList).unwrap().uri, uri(source.resource_list_url()), "{url}");
        assert_eq!(set.get(&Capability::ChangeList).unwrap().uri, uri(source.change_list_url()), "{url}");
        assert_eq!(found.source_description, Some(uri(source.description_url())), "{url}");
        assert!(found.troubles.is_empty(), "{url}: {:?}", found.troubles);
    }
}

/// A Source whose only door is the one that a test opens.
fn hidden() -> FakeSource {
    let source = FakeSource::start().with_resources([("a", "text")]);
    source.fail_always(".well-known/resourcesync", Fault::Status(404));
    source
}

#[tokio::test]
async fn disc_8_links_and_robots_are_tried_where_there_is_no_well_known_uri() {
    let source = hidden();
    let target = source.capability_list_url();
    source.serve("", Page::from("<html><head></head></html>").with_header("content-type", "text/html"));
    source.serve("robots.txt", format!("User-agent: *\nsitemap: {}\n", source.resource_list_url()));
    assert_eq!(found_from(&source, &source.url("")).await.way, Way::Robots);

    let page = format!("<html><head><link rel='ResourceSync other' href='{target}'></head></html>");
    source.serve("", Page::from(page).with_header("content-type", "text/html"));
    assert_eq!(found_from(&source, &source.url("")).await.way, Way::Page);

    let link = format!("<{target}>; rel=\"resourcesync\"");
    source.serve("res", Page::from("bytes").with_header("link", link));
    let found = found_from(&source, &source.url("res")).await;
    assert_eq!((found.way, set(&found).capability_list.clone()), (Way::LinkHeader, Some(uri(target))));
}

#[tokio::test]
async fn disc_7_what_a_document_is_decides_not_how_it_was_found() {
    let source = FakeSource::start();
    let path = source.capability_list_url().replace(&source.url(""), "");
    source.serve(".well-known/resourcesync", source.document(&path).unwrap());
    let found = found_from(&source, &source.url("")).await;
    assert_eq!(found.way, Way::WellKnown);
    assert!(set(&found).get(&Capability::ResourceList).is_some());
}

#[tokio::test]
async fn a_list_without_a_way_up_stands_alone_and_a_plain_sitemap_is_a_resource_list() {
    let source = hidden();
    let entry = format!("<url><loc>{}</loc></url>", source.url("a"));
    source.serve("plain.xml", list("urlset", "", &entry));
    let found = found_from(&source, &source.url("plain.xml")).await;
    let offer = set(&found).get(&Capability::ResourceList).unwrap();
    assert_eq!(offer.uri, uri(source.url("plain.xml")));
    assert!(offer.document.is_some(), "it need not be fetched again");
    assert_eq!(source.requests_for("plain.xml"), 1);
}

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
async fn several_sets_are_told_apart_and_chosen_by_a_part_of_their_path() {
    let source = FakeSource::start();
    let set_at = |name: &str| {
        format!("<url><loc>{}</loc><rs:md capability='capabilitylist'/></url>", source.url(name))
    };
    let entries = set_at("books/capabilitylist.xml") + &set_at("maps/capabilitylist.xml");
    source.serve(".well-known/resourcesync", list("urlset", "<rs:md capability='description'/>", &entries));
    for name in ["books/capabilitylist.xml", "maps/capabilitylist.xml"] {
        source.serve(name, list("urlset", "<rs:md capability='capabilitylist'/>", ""));
    }
    let (url, documents) = (uri(source.url("")), documents(&source));
    let all = discover(&url, &[], &documents).await.unwrap();
    assert_eq!(all.sets.len(), 2);
    assert!(all.single_set().unwrap_err().to_string().contains("maps/capabilitylist.xml"));
    let maps = discover(&url, &["maps".to_owned()], &documents).await.unwrap();
    assert_eq!(set(&maps).capability_list, Some(uri(source.url("maps/capabilitylist.xml"))));
    assert_eq!(maps.other_sets, [uri(source.url("books/capabilitylist.xml"))]);
    let none = discover(&url, &["films".to_owned()], &documents).await.unwrap_err();
    assert!(matches!(&none, DiscoverError::NoSuchSet { wanted, .. } if wanted == "films"));
}

#[tokio::test]
async fn a_broken_document_is_told_from_a_page_and_from_silence() {
    let source = hidden();
    source.fail_always("resourcelist.xml", Fault::Status(404));
    source.serve("page", "<!DOCTYPE html><html><body>Log in</body></html>");
    let documents = documents(&source);
    let error = discover(&uri(source.url("page")), &[], &documents).await.unwrap_err();
    assert!(matches!(error, DiscoverError::Nothing { .. }), "{error:?}");
    source.serve("doctype.xml", "<!DOCTYPE x [<!ENTITY a 'a'>]><urlset>&a;</urlset>");
    let error = discover(&uri(source.url("doctype.xml")), &[], &documents).await.unwrap_err();
    assert!(matches!(error, DiscoverError::Invalid { .. }), "{error:?}");
    let gone = FakeSource::start();
    let url = uri(gone.url(""));
    drop(gone);
    let mut options = HttpOptions::new(Scope::for_source(url.as_str()).unwrap());
    options.retries = 0;
    let nobody = Documents::new(Client::new(options).unwrap(), std::env::temp_dir());
    let error = discover(&url, &[], &nobody).await.unwrap_err();
    assert!(matches!(error, DiscoverError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn exploring_counts_what_each_document_has_and_reads_no_channel() {
    let source = FakeSource::start().with_resources([("a", "one"), ("b", "two")]);
    source.snapshot();
    let channel =
        format!("<url><loc>{}</loc><rs:md capability=\"change-notification\"/></url>", source.url("channel"));
    source
        .rewrite("capabilitylist.xml", move |list| list.replace("</urlset>", &format!("{channel}</urlset>")));
    let tree = explore(&uri(source.url("")), &documents(&source)).await.unwrap();
    assert_eq!(tree.capability, Some(Capability::Description));
    let lists = &tree.children[0].children;
    let resource_list = lists.iter().find(|node| node.capability == Some(Capability::ResourceList)).unwrap();
    assert_eq!((resource_list.entries, resource_list.bytes), (Some(2), Some(6)));
    assert!(resource_list.times.at.is_some());
    let channel = lists.iter().find(|node| node.capability == Some(Capability::ChangeNotification)).unwrap();
    assert_eq!((channel.trouble.as_deref(), source.requests_for("channel")), (None, 0));
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
async fn a_document_that_is_held_is_asked_for_conditionally() {
    let source = FakeSource::start();
    let (url, documents) = (uri(source.resource_list_url()), documents(&source));
    let first = documents.open(&url, None).await.unwrap();
    assert!(!first.validators.is_empty());
    let again = documents.fetch(&url, None, Some(&first.validators)).await.unwrap();
    assert!(matches!(again, Fetched::Unchanged));
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

/// A server that answers nothing, and one that asks for a pause of an hour.
fn waits() -> [Fault; 2] {
    [Fault::Hold, Fault::RetryAfter(503, "1000000000".to_owned())]
}

#[tokio::test(flavor = "multi_thread")]
async fn b12_a_run_that_is_stopped_waits_for_no_document() {
    for fault in waits() {
        let source = FakeSource::start();
        source.fail_always("a", fault.clone());
        let stop = CancellationToken::new();
        let documents = documents(&source).ending(stop.clone());
        let url = uri(source.url("a"));
        let waiting = tokio::spawn(async move { documents.get(&url, None).await });
        source.wait_for("a", 1);
        stop.cancel();
        let error = waiting.await.unwrap().unwrap_err();
        assert!(matches!(error, DocumentError::Stopped { .. }), "{fault:?}: {error}");
        source.release();
    }
}

//! Documents and discovery against Sources of every kind: DISC-6 to DISC-8, and the rows D13 to D15 and D22 of the
//! threats.

mod limits;
mod links;

use std::time::Duration;

use instep_net::{Client, HttpOptions, Permission, Scope};
use instep_testkit::{FakeSource, Fault, Page};
use resourcesync::{Capability, Uri};
use tokio_util::sync::CancellationToken;

use crate::{
    discover::{CapabilitySet, DiscoverError, Discovered, Way, discover, explore},
    documents::{DocumentError, Documents, Fetched},
};

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

/// A Source that can be found only in the way that a test prepares.
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
async fn a_document_that_is_held_is_asked_for_conditionally() {
    let source = FakeSource::start();
    let (url, documents) = (uri(source.resource_list_url()), documents(&source));
    let first = documents.open(&url, None).await.unwrap();
    assert!(!first.validators.is_empty());
    let again = documents.fetch(&url, None, Some(&first.validators)).await.unwrap();
    assert!(matches!(again, Fetched::Unchanged));
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

#[tokio::test]
async fn o153_a_change_list_beside_a_resource_list_is_found_as_the_reference_client_finds_it() {
    let source = hidden();
    let md = |kind: &str| format!("<rs:md capability='{kind}'/>");
    let entry = format!("<url><loc>{}</loc></url>", source.url("a"));
    source.serve("set/resourcelist.xml", list("urlset", &md("resourcelist"), &entry));
    let found = found_from(&source, &source.url("set/")).await;
    assert!(!set(&found).offers_changes() && found.troubles.is_empty(), "{:?}", found.troubles);

    source.serve("set/changelist.xml", list("urlset", &md("changelist"), ""));
    let found = found_from(&source, &source.url("set/")).await;
    let changes = set(&found).get(&Capability::ChangeList).unwrap();
    assert_eq!((found.way, &changes.uri), (Way::Guess, &uri(source.url("set/changelist.xml"))));

    source.fail_always("set/changelist.xml", Fault::Status(503));
    let found = found_from(&source, &source.url("set/")).await;
    assert!(found.troubles[0].what.contains("503"), "changes that cannot be read now are not absent");
}

#[tokio::test]
async fn o114_a_search_that_finds_nothing_says_which_permission_it_lacked() {
    for (status, lacks) in [(401, Some(Permission::Login)), (407, Some(Permission::ProxyLogin)), (404, None)]
    {
        let source = hidden();
        let root = source.url("");
        let documents_of_source = [source.capability_list_url(), source.resource_list_url()];
        let places = documents_of_source.iter().map(|url| url.strip_prefix(&root).unwrap());
        for place in places.chain(["", ".well-known/resourcesync", "robots.txt"]) {
            source.fail_always(place, Fault::Status(status));
        }
        let error = discover(&uri(&root), &[], &documents(&source)).await.unwrap_err();
        assert_eq!(error.lacks(), lacks, "{status}: {error:?}");
    }
}

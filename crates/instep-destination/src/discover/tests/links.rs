//! Every link of a page, a header and a robots.txt is followed (A4), up to a limit on the number of documents (B9).

use super::*;
use crate::discover::{FormerDocuments, discover_again};

/// Serves a Capability List of one Resource List, and the list.
fn serve_set(source: &FakeSource, name: &str) {
    let head = "<rs:md capability='capabilitylist'/>";
    let entry = format!(
        "<url><loc>{}</loc><rs:md capability='resourcelist'/></url>",
        source.url(&format!("{name}/list.xml"))
    );
    source.serve(&format!("{name}/caps.xml"), list("urlset", head, &entry));
    let up = source.url(&format!("{name}/caps.xml"));
    let head =
        format!("<rs:ln rel='up' href='{up}'/><rs:md capability='resourcelist' at='2026-01-01T00:00:00Z'/>");
    source.serve(&format!("{name}/list.xml"), list("urlset", &head, ""));
}

fn serve_sitemap(source: &FakeSource, name: &str) {
    let entry = format!("<url><loc>{}</loc></url>", source.url("a"));
    source.serve(name, list("urlset", "", &entry));
}

fn names(source: &FakeSource, found: &Discovered) -> Vec<String> {
    let base = source.url("");
    let mut names: Vec<_> =
        found.sets.iter().map(CapabilitySet::name).map(|name| name.replace(&base, "")).collect();
    names.sort();
    names
}

fn lost(found: &Discovered) -> Vec<&str> {
    found.troubles.iter().filter(|trouble| trouble.costs_a_set).map(|trouble| trouble.uri.as_str()).collect()
}

fn robots(source: &FakeSource, lines: &[&str]) {
    let lines: String = lines.iter().map(|name| format!("Sitemap: {}\n", source.url(name))).collect();
    source.serve("robots.txt", format!("User-agent: *\nDisallow:\n{lines}"));
}

#[tokio::test]
async fn a4_each_link_of_a_page_and_of_its_headers_is_followed_once() {
    let source = hidden();
    for name in ["one", "two", "three"] {
        serve_set(&source, name);
    }
    let in_page = "<html><head><link rel=resourcesync href=/two/caps.xml><link rel=resourcesync href=/three/list.xml>\
                   <link rel=resourcesync href=/two/caps.xml></head></html>";
    let header = "</one/caps.xml>; rel=\"resourcesync\", </two/caps.xml>; rel=resourcesync";
    source
        .serve("", Page::from(in_page).with_header("content-type", "text/html").with_header("link", header));
    let found = found_from(&source, &source.url("")).await;
    assert_eq!(names(&source, &found), ["one/caps.xml", "three/caps.xml", "two/caps.xml"]);
    assert!(found.troubles.is_empty(), "{:?}", found.troubles);
    assert_eq!(source.requests_for("two/caps.xml"), 1);

    let one = discover(&uri(source.url("")), &["three".to_owned()], &documents(&source)).await.unwrap();
    assert_eq!((names(&source, &one), one.other_sets.len()), (vec!["three/caps.xml".to_owned()], 2));
    let none = discover(&uri(source.url("")), &["four".to_owned()], &documents(&source)).await.unwrap_err();
    assert!(matches!(none, DiscoverError::NoSuchSet { ref sets, .. } if sets.len() == 3), "{none}");
}

#[tokio::test]
async fn a4_a_link_that_leads_to_nothing_costs_its_own_set() {
    let source = hidden();
    serve_set(&source, "one");
    let header = "</gone.xml>; rel=resourcesync, </one/caps.xml>; rel=resourcesync";
    source.serve("", Page::from("text").with_header("link", header));
    let found = found_from(&source, &source.url("")).await;
    assert_eq!(names(&source, &found), ["one/caps.xml"]);
    assert_eq!(lost(&found), [source.url("gone.xml")]);
}

#[tokio::test]
async fn a4_each_sitemap_line_is_followed_and_plain_sitemaps_are_told_from_resource_lists() {
    let source = hidden();
    serve_set(&source, "one");
    serve_set(&source, "two");
    serve_sitemap(&source, "sitemap.xml");
    source.serve("sitemap.txt", "http://example.com/a\n");
    robots(&source, &["sitemap.xml", "one/list.xml", "sitemap.txt", "two/caps.xml", "two/list.xml"]);
    let found = found_from(&source, &source.url("")).await;
    assert_eq!(
        (names(&source, &found), found.way),
        (vec!["one/caps.xml".into(), "two/caps.xml".into()], Way::Robots)
    );
    assert!(found.troubles.is_empty(), "{:?}", found.troubles);
}

#[tokio::test]
async fn a4_where_a_site_has_only_sitemaps_each_is_a_list_and_members_of_an_index_are_not_read_twice() {
    let source = hidden();
    for name in ["news.xml", "member.xml", "pages.xml"] {
        serve_sitemap(&source, name);
    }
    let member = format!("<sitemap><loc>{}</loc></sitemap>", source.url("member.xml"));
    source.serve("index.xml", list("sitemapindex", "", &member));
    robots(&source, &["member.xml", "news.xml", "index.xml", "pages.xml"]);
    let found = found_from(&source, &source.url("")).await;
    assert_eq!(names(&source, &found), ["index.xml", "news.xml", "pages.xml"]);
}

#[tokio::test]
async fn a4_sitemaps_do_not_take_the_place_of_a_resource_list_that_cannot_be_had() {
    let source = hidden();
    serve_set(&source, "one");
    serve_sitemap(&source, "sitemap.xml");
    robots(&source, &["sitemap.xml", "one/list.xml"]);
    source.fail_always("one/list.xml", Fault::Status(503));
    let (url, documents) = (uri(source.url("")), documents(&source));
    let error = discover(&url, &[], &documents).await.unwrap_err();
    assert!(matches!(error, DiscoverError::Nothing { .. }), "{error}");

    source.heal();
    source.fail_always(".well-known/resourcesync", Fault::Status(404));
    source.fail_always("one/list.xml", Fault::Status(404));
    let first = discover(&url, &[], &documents).await.unwrap();
    assert_eq!((names(&source, &first), lost(&first).len()), (vec!["sitemap.xml".to_owned()], 1));
    let former = |name: &str| FormerDocuments { way: Some(Way::Robots), sets: vec![source.url(name)] };
    let later = discover_again(&url, &[], &documents, &former("one/list.xml")).await.unwrap_err();
    assert!(matches!(later, DiscoverError::Nothing { .. }), "{later}");
}

#[tokio::test]
async fn o995_a_sitemap_does_not_take_the_place_of_documents_that_the_site_names_and_cannot_send() {
    let source = hidden();
    serve_set(&source, "one");
    serve_sitemap(&source, "sitemap.xml");
    robots(&source, &["sitemap.xml"]);
    let (url, documents) = (uri(source.url("")), documents(&source));
    let no_guess = || source.fail_always("resourcelist.xml", Fault::Status(404));
    no_guess();
    source.serve("", "text");
    let found = discover(&url, &[], &documents).await.unwrap();
    assert_eq!(names(&source, &found), ["sitemap.xml"]);

    source.serve("", Page::from("text").with_header("link", "</one/caps.xml>; rel=resourcesync"));
    source.fail_always("one/caps.xml", Fault::Status(503));
    assert!(discover(&url, &[], &documents).await.is_err());
    // The name of the Sitemap is not guessed either.
    source.fail_always("robots.txt", Fault::Status(404));
    assert!(discover(&url, &[], &documents).await.is_err());
    // A link that leads to nothing is no document that comes back.
    source.fail_always("one/caps.xml", Fault::Status(404));
    assert!(discover(&url, &[], &documents).await.is_ok());

    source.heal();
    no_guess();
    source.serve("", "text");
    let set =
        format!("<url><loc>{}</loc><rs:md capability='capabilitylist'/></url>", source.url("one/caps.xml"));
    source.serve(".well-known/resourcesync", list("urlset", "<rs:md capability='description'/>", &set));
    assert_eq!(names(&source, &discover(&url, &[], &documents).await.unwrap()), ["one/caps.xml"]);
    source.fail_always("one/caps.xml", Fault::Status(503));
    let error = discover(&url, &[], &documents).await.unwrap_err();
    assert!(error.to_string().contains("one/caps.xml"), "{error}");
}

#[tokio::test]
async fn o359_a_line_of_robots_txt_that_leads_to_nothing_does_not_cost_the_sitemaps_of_the_others() {
    let source = hidden();
    serve_sitemap(&source, "sitemap.xml");
    let line = |uri: &str| format!("Sitemap: {uri}\n");
    let own = line(&source.url("sitemap.xml"));
    let (url, documents) = (uri(source.url("")), documents(&source));
    let followed = FormerDocuments { way: Some(Way::Robots), sets: vec![source.url("sitemap.xml")] };
    let ftp = "ftp://example.com/sitemap.xml".to_owned();
    for other in [ftp, "https://other.example/sitemap.xml".to_owned(), source.url("gone.xml")] {
        source.serve("robots.txt", format!("{}{own}", line(&other)));
        for former in [&FormerDocuments::default(), &followed] {
            let found = discover_again(&url, &[], &documents, former).await.unwrap();
            assert_eq!(names(&source, &found), ["sitemap.xml"], "{other}");
            let troubles: Vec<_> = found.troubles.iter().map(|trouble| trouble.uri.as_str()).collect();
            assert_eq!(troubles, [other.as_str()], "{former:?}");
        }
    }
    // A target that fails may be a Resource List, so the Sitemap is used only if the copy follows it already.
    source.fail_always("gone.xml", Fault::Status(500));
    assert!(discover(&url, &[], &documents).await.is_err());
    let found = discover_again(&url, &[], &documents, &followed).await.unwrap();
    assert_eq!(lost(&found), [source.url("gone.xml")]);
}

#[tokio::test]
async fn o396_a_line_of_robots_txt_that_never_led_to_anything_is_a_warning_after_the_first_run() {
    let source = hidden();
    serve_sitemap(&source, "sitemap.xml");
    let lines = ["gone.xml", "sitemap.xml"].map(|path| format!("Sitemap: {}\n", source.url(path)));
    source.serve("robots.txt", lines.concat());
    let (url, documents) = (uri(source.url("")), documents(&source));
    let former = |names: &[&str]| FormerDocuments {
        way: Some(Way::Robots),
        sets: names.iter().map(|name| source.url(name)).collect(),
    };
    for (former, costs) in [
        (FormerDocuments::default(), true),
        (former(&["sitemap.xml"]), false),
        (former(&["sitemap.xml", "gone.xml"]), true),
    ] {
        let found = discover_again(&url, &[], &documents, &former).await.unwrap();
        let troubles: Vec<_> =
            found.troubles.iter().map(|trouble| (trouble.uri.as_str(), trouble.costs_a_set)).collect();
        assert_eq!(troubles, [(source.url("gone.xml").as_str(), costs)], "{former:?}");
    }
}

#[tokio::test]
async fn o800_documents_that_cannot_be_had_now_are_not_replaced_by_others_in_a_first_run() {
    let source = FakeSource::start();
    source.fail_always("capabilitylist.xml", Fault::Status(503));
    let (url, documents) = (uri(source.url("")), documents(&source));
    // A list that names the Capability List belongs to its set.
    let found = discover(&url, &[], &documents).await.unwrap();
    assert_eq!((names(&source, &found), found.way), (vec!["capabilitylist.xml".to_owned()], Way::Guess));
    assert_eq!(lost(&found), [source.capability_list_url()]);

    for name in ["resourcelist.xml", "sitemap.xml"] {
        serve_sitemap(&source, name);
    }
    for lines in [&[] as &[&str], &["sitemap.xml"]] {
        robots(&source, lines);
        let error = discover(&url, &[], &documents).await.unwrap_err();
        let names_it = error.to_string().contains(&source.capability_list_url());
        assert!(matches!(error, DiscoverError::Invalid { .. }) && names_it, "{lines:?}: {error}");
    }
    // A copy goes on with the documents that it follows.
    let former = |way| FormerDocuments { way: Some(way), sets: vec![source.url("sitemap.xml")] };
    let found = discover_again(&url, &[], &documents, &former(Way::Robots)).await.unwrap();
    assert_eq!(names(&source, &found), ["sitemap.xml"]);
    robots(&source, &[]);
    let found = discover_again(&url, &[], &documents, &former(Way::Guess)).await.unwrap();
    assert_eq!(names(&source, &found), ["sitemap.xml"]);
}

#[tokio::test]
async fn o701_a_guessed_sitemap_does_not_take_the_place_of_a_resource_list_that_does_not_arrive() {
    let source = hidden();
    serve_sitemap(&source, "sitemap.xml");
    let (url, documents) = (uri(source.url("")), documents(&source));
    // The list is guessed, or `robots.txt` names it.
    for lines in [&[] as &[&str], &["resourcelist.xml"]] {
        robots(&source, lines);
        for (status, is_used) in [(503, false), (404, true)] {
            source.fail_always("resourcelist.xml", Fault::Status(status));
            match discover(&url, &[], &documents).await {
                Ok(found) => {
                    assert!(is_used, "{lines:?}, {status}: {found:?}");
                    assert_eq!(names(&source, &found), ["sitemap.xml"], "{lines:?}");
                }
                Err(error) => {
                    let line = format!("{}: not used, because", source.url("sitemap.xml"));
                    assert!(!is_used && error.to_string().contains(&line), "{lines:?}, {status}: {error}");
                }
            }
        }
    }
}

#[tokio::test]
async fn o804_a_set_that_a_source_description_names_twice_is_one() {
    let source = FakeSource::start();
    serve_set(&source, "one");
    let caps = source.url("one/caps.xml");
    let entry = format!("<url><loc>{caps}</loc><rs:md capability='capabilitylist'/></url>");
    let description = list("urlset", "<rs:md capability='description'/>", &entry.repeat(2));
    source.serve(".well-known/resourcesync", description);
    let found = found_from(&source, &source.url("")).await;
    assert_eq!(
        (names(&source, &found), source.requests_for("one/caps.xml")),
        (vec!["one/caps.xml".into()], 1)
    );
}

#[tokio::test]
async fn o933_a_set_that_two_parts_of_a_source_description_name_is_one() {
    let source = FakeSource::start();
    let capability = |name: &str| format!("<rs:md capability='{name}'/>");
    let entry =
        |root: &str, path: &str, md: &str| format!("<{root}><loc>{}</loc>{md}</{root}>", source.url(path));
    for name in ["one", "two"] {
        serve_set(&source, name);
    }
    let caps = |path: &str| entry("url", path, &capability("capabilitylist"));
    let [first, second] = [caps("one/caps.xml"), caps("one/caps.xml") + &caps("two/caps.xml")];
    for (path, entries) in [("first.xml", first), ("second.xml", second)] {
        source.serve(path, list("urlset", &capability("description"), &entries));
    }
    let parts = ["first.xml", "second.xml"].map(|path| entry("sitemap", path, "")).concat();
    source.serve(".well-known/resourcesync", list("sitemapindex", &capability("description"), &parts));
    let found = found_from(&source, &source.url("")).await;
    assert_eq!(names(&source, &found), ["one/caps.xml", "two/caps.xml"]);
}

#[tokio::test]
async fn o709_a_set_or_a_capability_without_a_usable_loc_is_lost() {
    let source = FakeSource::start();
    serve_set(&source, "one");
    let entry = |loc: &str, capability: &str| {
        format!("<url><loc>{loc}</loc><rs:md capability='{capability}'/></url>")
    };
    let sets = entry(&source.url("one/caps.xml"), "capabilitylist") + &entry("http://[", "capabilitylist");
    let place = ".well-known/resourcesync";
    source.serve(place, list("urlset", "<rs:md capability='description'/>", &sets));
    let found = found_from(&source, &source.url("")).await;
    assert_eq!(names(&source, &found), ["one/caps.xml"]);
    assert_eq!((lost(&found), found.sets[0].unusable), (vec![source.url(place).as_str()], 0));

    let lists = entry(&source.url("one/list.xml"), "resourcelist") + &entry("http://[", "changelist");
    source.serve("one/caps.xml", list("urlset", "<rs:md capability='capabilitylist'/>", &lists));
    let found = found_from(&source, &source.url("one/caps.xml")).await;
    assert_eq!((lost(&found).len(), found.sets[0].unusable), (0, 1));
}

#[tokio::test]
async fn o953_an_entry_of_a_capability_list_without_a_capability_is_lost() {
    let source = FakeSource::start();
    serve_set(&source, "one");
    let entry = |name: &str, metadata: &str| format!("<url><loc>{}</loc>{metadata}</url>", source.url(name));
    for metadata in ["", "<rs:md type='application/xml'/>"] {
        let lists =
            entry("one/list.xml", "<rs:md capability='resourcelist'/>") + &entry("changes.xml", metadata);
        source.serve("one/caps.xml", list("urlset", "<rs:md capability='capabilitylist'/>", &lists));
        let found = found_from(&source, &source.url("one/caps.xml")).await;
        assert_eq!((found.sets[0].capabilities.len(), found.sets[0].unusable), (1, 1), "{metadata}");
    }
}

#[tokio::test]
async fn o803_a_copy_goes_on_with_the_documents_that_it_follows_when_others_appear() {
    let former = |way, set: String| FormerDocuments { way: Some(way), sets: vec![set] };
    let source = hidden();
    let (url, documents_of_copy) = (uri(source.url("")), documents(&source));
    for name in ["resourcelist.xml", "sitemap.xml"] {
        serve_sitemap(&source, name);
    }
    for lines in [&["sitemap.xml"] as &[&str], &[]] {
        robots(&source, lines);
        for name in ["resourcelist.xml", "sitemap.xml"] {
            let former = former(Way::Guess, source.url(name));
            let found = discover_again(&url, &[], &documents_of_copy, &former).await.unwrap();
            assert_eq!(names(&source, &found), [name], "{lines:?}");
        }
    }
    // A site that renames its Sitemap is followed, once the former one is gone.
    serve_sitemap(&source, "renamed.xml");
    robots(&source, &["renamed.xml"]);
    source.fail_always("resourcelist.xml", Fault::Status(404));
    let followed = former(Way::Guess, source.url("sitemap.xml"));
    for (status, is_followed) in [(503, false), (404, true)] {
        source.fail_always("sitemap.xml", Fault::Status(status));
        let found = discover_again(&url, &[], &documents_of_copy, &followed).await;
        assert_eq!(
            found.ok().map(|found| names(&source, &found)),
            is_followed.then(|| vec!["renamed.xml".to_owned()])
        );
    }

    // The Source of a folder stays the same one when its host has a Source too.
    let source = of_host_and_folder();
    let (url, former) = (uri(source.url("folder/")), former(Way::WellKnown, source.url("one/caps.xml")));
    let found = discover_again(&url, &[], &documents(&source), &former).await.unwrap();
    assert_eq!(names(&source, &found), ["one/caps.xml"]);
}

/// Returns a host with a Source, and with another one in a folder.
fn of_host_and_folder() -> FakeSource {
    let source = FakeSource::start();
    for (place, name) in [("", "two"), ("folder/", "one")] {
        serve_set(&source, name);
        let caps = source.url(&format!("{name}/caps.xml"));
        let entry = format!("<url><loc>{caps}</loc><rs:md capability='capabilitylist'/></url>");
        let description = list("urlset", "<rs:md capability='description'/>", &entry);
        source.serve(&format!("{place}.well-known/resourcesync"), description);
    }
    source
}

#[tokio::test]
async fn o930_documents_of_a_copy_that_do_not_arrive_are_not_replaced_by_those_of_another_place() {
    let former = |way, set: String| FormerDocuments { way: Some(way), sets: vec![set] };
    let source = of_host_and_folder();
    let place = "folder/.well-known/resourcesync";
    let (url, documents_of_copy) = (uri(source.url("folder/")), documents(&source));
    let followed = former(Way::WellKnown, source.url("one/caps.xml"));
    source.fail_always(place, Fault::Status(503));
    assert!(discover_again(&url, &[], &documents_of_copy, &followed).await.is_err());
    // Nothing is there any more.
    source.fail_always(place, Fault::Status(404));
    let found = discover_again(&url, &[], &documents_of_copy, &followed).await.unwrap();
    assert_eq!(names(&source, &found), ["two/caps.xml"]);
    // The operator names a set, which the Source of the host does not have.
    source.heal();
    let found = discover_again(&url, &["one".to_owned()], &documents_of_copy, &followed).await.unwrap();
    assert_eq!(names(&source, &found), ["one/caps.xml"]);

    let source = hidden();
    let (url, documents_of_copy) = (uri(source.url("")), documents(&source));
    for name in ["resourcelist.xml", "sitemap.xml"] {
        serve_sitemap(&source, name);
    }
    robots(&source, &[]);
    source.fail_always("sitemap.xml", Fault::Status(503));
    let followed = former(Way::Guess, source.url("sitemap.xml"));
    let error = discover_again(&url, &[], &documents_of_copy, &followed).await.unwrap_err();
    assert!(matches!(error, DiscoverError::Nothing { .. }), "{error}");
}

#[tokio::test]
async fn o931_a_source_description_that_a_page_links_to_is_there_although_it_is_refused() {
    let source = hidden();
    serve_sitemap(&source, "resourcelist.xml");
    let (url, documents) = (uri(source.url("")), documents(&source));
    source.fail_always(".well-known/resourcesync", Fault::Status(403));
    assert_eq!(names(&source, &discover(&url, &[], &documents).await.unwrap()), ["resourcelist.xml"]);
    let link = "</.well-known/resourcesync>; rel=resourcesync";
    source.serve("", Page::from("text").with_header("link", link));
    let error = discover(&url, &[], &documents).await.unwrap_err();
    assert_eq!(error.lacks(), Some(Permission::Login), "{error}");
}

#[tokio::test]
async fn o932_a_sitemap_that_is_not_used_is_named_with_the_reason() {
    let source = hidden();
    source.fail_always("resourcelist.xml", Fault::Status(404));
    source.fail_always(".well-known/resourcesync", Fault::Status(500));
    serve_sitemap(&source, "sitemap.xml");
    let (url, documents) = (uri(source.url("")), documents(&source));
    for lines in [&["sitemap.xml"] as &[&str], &[]] {
        robots(&source, lines);
        let error = discover(&url, &[], &documents).await.unwrap_err().to_string();
        let line = format!("{}: not used, because", source.url("sitemap.xml"));
        assert!(error.contains(&line), "{lines:?}: {error}");
    }
}

#[tokio::test]
async fn o800_a_source_description_that_does_not_arrive_may_be_there_and_one_that_is_refused_is_not() {
    let source = hidden();
    serve_sitemap(&source, "resourcelist.xml");
    let (url, documents) = (uri(source.url("")), documents(&source));
    for (status, may_guess) in [(403, true), (500, false), (503, false), (404, true)] {
        source.fail_always(".well-known/resourcesync", Fault::Status(status));
        match discover(&url, &[], &documents).await {
            Ok(found) => assert!(may_guess && found.way == Way::Guess, "{status}: {found:?}"),
            Err(error) => {
                assert!(!may_guess && matches!(error, DiscoverError::Nothing { .. }), "{status}: {error}");
            }
        }
    }
}

#[tokio::test]
async fn a4_exploring_shows_each_set_that_links_lead_to() {
    let source = hidden();
    serve_set(&source, "one");
    serve_set(&source, "two");
    let header = "</one/caps.xml>; rel=resourcesync, </two/caps.xml>; rel=resourcesync";
    source.serve("page", Page::from("text").with_header("link", header));
    let tree = explore(&uri(source.url("page")), &documents(&source)).await.unwrap();
    let children: Vec<_> = tree.children.iter().map(|child| child.uri.as_str().to_owned()).collect();
    assert_eq!(children, [source.url("one/caps.xml"), source.url("two/caps.xml")]);
}

#[tokio::test]
async fn b9_a_source_with_more_sets_than_one_search_reads_costs_a_few_requests_and_is_explored_anyway() {
    let source = FakeSource::start();
    let sets: String = (0..1_500)
        .map(|set| {
            format!(
                "<url><loc>{}</loc><rs:md capability='capabilitylist'/></url>",
                source.url(&format!("{set}/caps.xml"))
            )
        })
        .collect();
    source.serve(".well-known/resourcesync", list("urlset", "<rs:md capability='description'/>", &sets));
    source.serve("7/caps.xml", list("urlset", "<rs:md capability='capabilitylist'/>", ""));
    let (url, documents) = (uri(source.url("")), documents(&source));
    let error = discover(&url, &[], &documents).await.unwrap_err();
    assert!(matches!(error, DiscoverError::TooManySets { sets: 1_500, most: 1_000, .. }), "{error}");
    assert!(source.requests().len() <= 4, "{:?}", source.tally());
    let one = discover(&url, &["7".to_owned()], &documents).await.unwrap();
    assert_eq!((one.sets.len(), one.other_sets.len()), (1, 1_499));
    assert_eq!(explore(&url, &documents).await.unwrap().children.len(), 1_500);
}

#[tokio::test]
async fn b9_a_search_asks_for_a_bounded_number_of_documents() {
    let source = FakeSource::start();
    let parts: String = (0..2_000)
        .map(|part| format!("<sitemap><loc>{}</loc></sitemap>", source.url(&format!("part-{part}.xml"))))
        .collect();
    source
        .serve(".well-known/resourcesync", list("sitemapindex", "<rs:md capability='description'/>", &parts));
    let error = discover(&uri(source.url("")), &[], &documents(&source)).await.unwrap_err();
    assert!(
        matches!(error, DiscoverError::Invalid { source: DocumentError::TooMany { most: 1_024, .. }, .. }),
        "{error}"
    );
    assert!(source.requests().len() <= 1_100, "{}", source.requests().len());
}

#[tokio::test]
async fn b9_what_capability_lists_say_together_is_bounded() {
    let source = FakeSource::start();
    let link = |at: usize| format!("<rs:ln rel='describedby' href='{}'/>", source.url(&at.to_string()));
    let links: String = (0..60).map(link).collect();
    let entries: String = (0..400)
        .map(|at| {
            format!(
                "<url><loc>{}</loc><rs:md capability='x-{at}'/>{links}</url>",
                source.url(&at.to_string())
            )
        })
        .collect();
    for set in ["one", "two", "three"] {
        source.serve(&format!("{set}.xml"), list("urlset", "<rs:md capability='capabilitylist'/>", &entries));
    }
    let header = "</one.xml>; rel=resourcesync, </two.xml>; rel=resourcesync, </three.xml>; rel=resourcesync";
    source.serve("page", Page::from("text").with_header("link", header));
    source.fail_always(".well-known/resourcesync", Fault::Status(404));
    let error = discover(&uri(source.url("page")), &[], &documents(&source)).await.unwrap_err();
    assert!(matches!(error, DiscoverError::TooMuch { most: 50_000, .. }), "{error}");
}

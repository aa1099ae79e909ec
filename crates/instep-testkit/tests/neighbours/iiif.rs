//! Collections of activities (IIIF Change Discovery 1.0): read as a Source, and written beside one.

use std::fs;

use instep_testkit::{FakeSource, Page, Run, Server, Tree, instep, peers, wait_for};
use serde_json::{Value, json};
use tempfile::TempDir;

fn serve_json(source: &FakeSource, path: &str, json: &Value) {
    source.serve(
        path,
        Page::from(json.to_string()).with_header("content-type", "application/ld+json; charset=utf-8"),
    );
}

/// Serves a collection of these pages, each with its activities: their type, object and time.
fn serve_collection(source: &FakeSource, pages: &[&[(&str, &str, &str)]]) {
    let page_url = |number: usize| source.url(&format!("activity/page-{number}"));
    let mut collection = json!({ "@context": "http://iiif.io/api/discovery/1/context.json", "id": source.url("activity/all"), "type": "OrderedCollection" });
    collection["last"] = json!({ "id": page_url(pages.len() - 1), "type": "OrderedCollectionPage" });
    serve_json(source, "activity/all", &collection);
    for (number, activities) in pages.iter().enumerate() {
        let activity = |(kind, object, time): &(&str, &str, &str)| {
            let mut activity =
                json!({ "type": kind, "object": { "id": source.url(object), "type": "Manifest" } });
            if !time.is_empty() {
                activity["endTime"] = (*time).into();
            }
            activity
        };
        let items: Vec<Value> = activities.iter().map(activity).collect();
        let mut page =
            json!({ "id": page_url(number), "type": "OrderedCollectionPage", "orderedItems": items });
        if number > 0 {
            page["prev"] = json!({ "id": page_url(number - 1), "type": "OrderedCollectionPage" });
        }
        serve_json(source, &format!("activity/page-{number}"), &page);
    }
}

fn sync(source: &FakeSource, dir: &TempDir) -> Run {
    let copy = dir.path().join("copy").display().to_string();
    Run::of(&mut instep(["sync", &source.url("activity/all"), &copy, "--delete", "--max-delete", "100%"]))
}

fn manifest(source: &FakeSource, number: u32, text: &str) {
    serve_json(source, &format!("iiif/{number}/manifest"), &json!({ "label": text }));
}

#[test]
fn a_collection_with_times_is_followed_by_its_activities() {
    let dir = TempDir::new().unwrap();
    let source = FakeSource::start();
    (1..=3).for_each(|number| manifest(&source, number, "first"));
    let first = [
        ("Create", "iiif/1/manifest", "2026-01-01T00:00:00Z"),
        ("Create", "iiif/2/manifest", "2026-01-01T00:00:01Z"),
    ];
    let second = [("Create", "iiif/3/manifest", "2026-01-01T00:00:02Z")];
    serve_collection(&source, &[&first, &second]);
    let run = sync(&source, &dir).with_code(0);
    let copy = dir.path().join("copy");
    assert_eq!(Tree::of(&copy).names().len(), 3, "{run:?}");

    manifest(&source, 2, "second");
    source.forget_requests();
    let third = [
        ("Create", "iiif/3/manifest", "2026-01-01T00:00:02Z"),
        ("Update", "iiif/2/manifest", "2026-01-02T00:00:00Z"),
        ("Delete", "iiif/1/manifest", "2026-01-02T00:00:01Z"),
    ];
    serve_collection(&source, &[&first, &third]);
    let run = sync(&source, &dir).with_code(0);
    assert!(!copy.join("iiif/1/manifest").exists(), "{run:?}");
    assert!(fs::read_to_string(copy.join("iiif/2/manifest")).unwrap().contains("second"), "{run:?}");
    assert_eq!(source.requests_for("iiif/1/manifest"), 0);
    assert_eq!(source.requests_for("iiif/2/manifest"), 1);
}

#[test]
fn o994_a_collection_may_drop_activities_that_later_ones_of_their_objects_replace() {
    let dir = TempDir::new().unwrap();
    let source = FakeSource::start();
    (1..=2).for_each(|number| manifest(&source, number, "first"));
    let second = ("Create", "iiif/2/manifest", "2026-01-01T00:00:01Z");
    let deleted = ("Delete", "iiif/3/manifest", "2026-01-01T00:00:02Z");
    serve_collection(&source, &[&[("Create", "iiif/1/manifest", "2026-01-01T00:00:00Z"), second, deleted]]);
    _ = sync(&source, &dir).with_code(0);

    manifest(&source, 1, "changed");
    let updated = ("Update", "iiif/1/manifest", "2026-01-02T00:00:00Z");
    serve_collection(&source, &[&[second, deleted, updated]]);
    let run = sync(&source, &dir).with_code(0);
    assert!(!run.stderr.contains("restored from a backup"), "{run:?}");
    let text = fs::read_to_string(dir.path().join("copy/iiif/1/manifest")).unwrap();
    assert!(text.contains("changed"), "{text}");

    // Deletions expire. Nothing else is new.
    serve_collection(&source, &[&[second, updated]]);
    _ = sync(&source, &dir).with_code(0);
}

#[test]
fn o374_a_collection_is_known_by_its_content_whatever_its_media_type_is() {
    let dir = TempDir::new().unwrap();
    let source = FakeSource::start();
    manifest(&source, 1, "first");
    let item = json!({ "type": "Update", "object": { "id": source.url("iiif/1/manifest") } });
    let all = json!({ "type": "OrderedCollection", "orderedItems": [item] });
    for media_type in ["application/octet-stream", "text/plain; charset=utf-8"] {
        let page = Page::from(format!("\u{feff}\n{all}")).with_header("content-type", media_type);
        source.serve("activity/all", page);
        _ = sync(&source, &dir).with_code(0);
    }
    assert!(dir.path().join("copy/iiif/1/manifest").exists());
}

#[test]
fn b32_activities_that_cannot_be_used_are_named_and_make_the_exit_code_3() {
    let unusable = [
        (json!({ "type": "Update", "id": "urn:act:2", "endTime": "2026-01-01T00:00:01Z" }), "no object"),
        (json!({ "type": "Update", "id": "urn:act:2", "object": { "type": "Manifest" } }), "no object"),
        (json!({ "type": "Invite", "id": "urn:act:2", "object": "iiif/1/manifest" }), "Invite"),
        (json!({ "type": "Update", "id": "urn:act:2", "object": "x", "endTime": "today" }), "today"),
    ];
    for (activity, why) in unusable {
        let dir = TempDir::new().unwrap();
        let source = FakeSource::start();
        manifest(&source, 1, "first");
        serve_collection(&source, &[&[("Create", "iiif/1/manifest", "2026-01-01T00:00:00Z")]]);
        let good = json!({ "type": "Create", "object": source.url("iiif/1/manifest"), "endTime": "2026-01-01T00:00:00Z" });
        let page = json!({ "type": "OrderedCollectionPage", "orderedItems": [good, activity] });
        serve_json(&source, "activity/page-0", &page);
        for _ in 0..2 {
            let run = sync(&source, &dir).with_code(3);
            let named = format!("! {}: activity 2 of the page (urn:act:2)", source.url("activity/page-0"));
            assert!(run.stderr.contains(&named) && run.stderr.contains(why), "{}", run.stderr);
        }
        assert!(dir.path().join("copy/iiif/1/manifest").exists());
    }
    let (dir, source) = (TempDir::new().unwrap(), FakeSource::start());
    serve_collection(&source, &[&[]]);
    serve_json(&source, "activity/page-0", &json!({ "type": "OrderedCollectionPage", "orderedItems": {} }));
    let _ = sync(&source, &dir).with_code(5);
}

#[test]
fn o88_a_collection_whose_pages_are_missing_is_not_taken_for_complete() {
    let (dir, source) = (TempDir::new().unwrap(), FakeSource::start());
    (1..=2).for_each(|number| manifest(&source, number, "first"));
    let all = [("Update", "iiif/1/manifest", ""), ("Update", "iiif/2/manifest", "")];
    serve_collection(&source, &[&all[..1], &all[1..]]);
    _ = sync(&source, &dir).with_code(0);
    let copy = dir.path().join("copy");
    let collection = |more: Value| {
        let mut collection = json!({ "type": "OrderedCollection" });
        collection.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serve_json(&source, "activity/all", &collection);
        sync(&source, &dir)
    };
    // The last page no longer says that there is one before it.
    let page = json!({ "type": "OrderedCollectionPage", "orderedItems": [{ "type": "Update", "object": source.url("iiif/2/manifest") }] });
    serve_json(&source, "activity/page-1", &page);
    let last = source.url("activity/page-1");
    let run = collection(json!({ "last": last, "totalItems": 2 })).with_code(3);
    assert!(run.stderr.contains("it states 2 activities, and its pages have 1"), "{}", run.stderr);
    // Only the first page is named, or none, or one without an address.
    for other in [json!({ "first": last }), json!({ "totalItems": 2 }), json!({ "last": { "type": "Page" } })]
    {
        let run = collection(other).with_code(5);
        assert!(run.stderr.contains("does not name the page"), "{}", run.stderr);
    }
    assert_eq!(Tree::of(&copy).names().len(), 2, "nothing was deleted");
    // Without a number, the pages decide; a collection without activities is empty.
    let run = collection(json!({ "last": last })).with_code(0);
    assert_eq!(Tree::of(&copy).names().len(), 1, "{run:?}");
    _ = collection(json!({ "totalItems": 0 })).with_code(6);
}

#[test]
fn o786_activities_on_pages_that_were_missing_are_applied_when_the_pages_are_there_again() {
    let pages: [&[(&str, &str, &str)]; 3] = [
        &[("Create", "iiif/1/manifest", "2026-01-01T00:00:00Z")],
        &[("Create", "iiif/2/manifest", "2026-01-01T00:00:01Z")],
        &[("Create", "iiif/3/manifest", "2026-01-01T00:00:02Z")],
    ];
    for lost in ["a circle", "a page without activities"] {
        let dir = TempDir::new().unwrap();
        let source = FakeSource::start();
        (1..=3).for_each(|number| manifest(&source, number, "first"));
        serve_collection(&source, &pages);
        let mut all = json!({ "type": "OrderedCollection", "last": { "id": source.url("activity/page-2") } });
        let mut page = json!({ "type": "OrderedCollectionPage", "orderedItems": [] });
        if lost == "a circle" {
            page["prev"] = json!({ "id": source.url("activity/page-2") });
        } else {
            all["totalItems"] = json!(3);
        }
        serve_json(&source, "activity/all", &all);
        serve_json(&source, "activity/page-1", &page);
        let run = sync(&source, &dir).with_code(3);
        let copy = dir.path().join("copy");
        assert!(copy.join("iiif/3/manifest").exists() && !copy.join("iiif/2/manifest").exists(), "{run:?}");

        serve_collection(&source, &pages);
        let run = sync(&source, &dir).with_code(0);
        assert_eq!(Tree::of(&copy).names().len(), 3, "{lost}: {run:?}");
    }
}

#[test]
fn o863_objects_that_the_copy_has_are_not_requested_again_while_activities_are_missing() {
    let dir = TempDir::new().unwrap();
    let source = FakeSource::start();
    (1..=2).for_each(|number| manifest(&source, number, "first"));
    // The number of activities that the collection states is never right.
    let serve = |activities: &[(&str, &str, &str)]| {
        serve_collection(&source, &[activities]);
        let last = json!({ "id": source.url("activity/page-0") });
        let all = json!({ "type": "OrderedCollection", "totalItems": 9, "last": last });
        serve_json(&source, "activity/all", &all);
    };
    let one = ("Create", "iiif/1/manifest", "2026-01-01T00:00:00Z");
    let two = ("Create", "iiif/2/manifest", "2026-01-01T00:00:01Z");
    serve(&[one, two]);
    _ = sync(&source, &dir).with_code(3);

    manifest(&source, 2, "second");
    source.forget_requests();
    serve(&[one, two, ("Update", "iiif/2/manifest", "2026-01-02T00:00:00Z")]);
    for _ in 0..2 {
        _ = sync(&source, &dir).with_code(3);
    }
    assert_eq!(["iiif/1/manifest", "iiif/2/manifest"].map(|path| source.requests_for(path)), [0, 1]);
    let text = fs::read_to_string(dir.path().join("copy/iiif/2/manifest")).unwrap();
    assert!(text.contains("second"), "{text}");
}

#[test]
fn o822_pages_that_end_before_the_first_one_are_not_taken_for_all() {
    let (dir, source) = (TempDir::new().unwrap(), FakeSource::start());
    (1..=2).for_each(|number| manifest(&source, number, "first"));
    let all = [("Update", "iiif/1/manifest", ""), ("Update", "iiif/2/manifest", "")];
    let collection = json!({
        "type": "OrderedCollection",
        "first": { "id": source.url("activity/page-0") },
        "last": { "id": source.url("activity/page-1") },
    });
    let serve_all = || {
        serve_collection(&source, &[&all[..1], &all[1..]]);
        serve_json(&source, "activity/all", &collection);
    };
    serve_all();
    _ = sync(&source, &dir).with_code(0);
    let own = json!([{ "type": "Update", "object": source.url("iiif/2/manifest") }]);
    for (page, found) in [
        (json!({ "orderedItems": own }), "it names no page before it"),
        (json!({ "prev": source.url("activity/page-0") }), "the page has no orderedItems"),
    ] {
        let mut damaged = json!({ "type": "OrderedCollectionPage" });
        damaged.as_object_mut().unwrap().extend(page.as_object().unwrap().clone());
        serve_json(&source, "activity/page-1", &damaged);
        let run = sync(&source, &dir).with_code(3);
        assert!(run.stderr.contains(found), "{}", run.stderr);
        assert_eq!(Tree::of(&dir.path().join("copy")).names().len(), 2, "nothing was deleted: {run:?}");
    }
    serve_all();
    _ = sync(&source, &dir).with_code(0);
}

#[test]
fn o996_an_activity_that_could_not_be_used_is_applied_once_it_can_be_although_its_time_is_over() {
    let (dir, source) = (TempDir::new().unwrap(), FakeSource::start());
    (1..=3).for_each(|number| manifest(&source, number, "first"));
    let activities = |unusable: &'static str| {
        [
            ("Create", "iiif/1/manifest", "2026-01-01T00:00:00Z"),
            (unusable, "iiif/2/manifest", "2026-01-01T00:00:01Z"),
            ("Create", "iiif/3/manifest", "2026-01-01T00:00:02Z"),
        ]
    };
    let copy = dir.path().join("copy");
    serve_collection(&source, &[&activities("Invite")]);
    for _ in 0..2 {
        let run = sync(&source, &dir).with_code(3);
        assert!(copy.join("iiif/3/manifest").exists() && !copy.join("iiif/2/manifest").exists(), "{run:?}");
    }
    serve_collection(&source, &[&activities("Create")]);
    let run = sync(&source, &dir).with_code(0);
    assert_eq!(Tree::of(&copy).names().len(), 3, "{run:?}");
    let requests = || source.requests_for("iiif/1/manifest");
    let before = requests();
    _ = sync(&source, &dir).with_code(0);
    assert_eq!(requests(), before, "nothing is left to look for");
}

#[test]
fn a_collection_without_times_is_an_inventory() {
    let dir = TempDir::new().unwrap();
    let source = FakeSource::start();
    (1..=3).for_each(|number| manifest(&source, number, "first"));
    let all = [
        ("Update", "iiif/1/manifest", ""),
        ("Update", "iiif/2/manifest", ""),
        ("Update", "iiif/3/manifest", ""),
    ];
    serve_collection(&source, &[&all[..2], &all[1..]]);
    _ = sync(&source, &dir).with_code(0);
    let copy = dir.path().join("copy");
    assert_eq!(Tree::of(&copy).names().len(), 3);
    manifest(&source, 1, "second");
    serve_collection(&source, &[&all[..2]]);
    let run = sync(&source, &dir).with_code(0);
    assert!(fs::read_to_string(copy.join("iiif/1/manifest")).unwrap().contains("second"), "{run:?}");
    assert!(!copy.join("iiif/3/manifest").exists(), "{run:?}");
}

#[test]
fn a_source_that_is_served_answers_its_collection_as_it_is_now() {
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("a.json"), "{}").unwrap();
    let port = instep_testkit::free_port().unwrap();
    let mut serve = instep(["serve", "--quiet", "--activities", "Manifest", "--listen"]);
    let server = Server::start(serve.arg(format!("127.0.0.1:{port}")).arg(&data), port).unwrap();
    let collection = format!("{}resourcesync/activities/collection.json", server.url());
    let copy = dir.path().join("copy");
    let sync = || {
        _ = Run::of(&mut instep([
            "sync",
            &collection,
            copy.to_str().unwrap(),
            "--delete",
            "--max-delete",
            "100%",
        ]))
        .with_code(0)
    };
    sync();
    assert_eq!(Tree::of(&copy).names(), ["a.json"]);
    fs::write(data.join("b.json"), "{}").unwrap();
    fs::remove_file(data.join("a.json")).unwrap();
    let page = || {
        let url = collection.replace("collection", "page-0");
        Run::of(std::process::Command::new("curl").args(["-sSf", &url])).with_code(0).stdout
    };
    // The server publishes the change, and some time later it writes the collection again.
    wait_for(|| match page() {
        page if page.contains("b.json") && page.contains("\"Delete\"") => Ok(()),
        page => Err(page),
    });
    sync();
    assert_eq!(Tree::of(&copy).names(), ["b.json"]);
    let none = collection.replace("collection.json", "..%2Fresourcelist.xml");
    let status = ["-s", "-o", "/dev/null", "-w", "%{http_code}", &none];
    assert_eq!(Run::of(std::process::Command::new("curl").args(status)).stdout, "404");
}

#[test]
fn a_source_writes_a_collection_that_brings_a_copy_in_step() {
    let Some([python]) = peers::find(["python3"]) else { return };
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    fs::create_dir(&data).unwrap();
    for name in ["a.json", "b.json", "c.json"] {
        fs::write(data.join(name), format!("{{\"label\":\"{name}\"}}")).unwrap();
    }
    let server = Server::python(&python, &data).unwrap();
    let base = server.url();
    let publish = || {
        let arguments = ["publish", data.to_str().unwrap(), "--base-url", &base, "--activities", "Manifest"];
        _ = Run::of(&mut instep(arguments)).with_code(0);
        let collection: Value =
            serde_json::from_slice(&fs::read(data.join("resourcesync/activities/collection.json")).unwrap())
                .unwrap();
        collection["totalItems"].as_u64().unwrap()
    };
    assert_eq!(publish(), 3);
    let copy = dir.path().join("copy");
    let collection = format!("{base}resourcesync/activities/collection.json");
    let sync =
        || _ = Run::of(&mut instep(["sync", &collection, copy.to_str().unwrap(), "--delete"])).with_code(0);
    sync();
    assert_eq!(Tree::of(&copy).names().len(), 3);
    fs::write(data.join("a.json"), "{\"label\":\"changed\"}").unwrap();
    fs::remove_file(data.join("b.json")).unwrap();
    publish();
    sync();
    assert_eq!(fs::read_to_string(copy.join("a.json")).unwrap(), "{\"label\":\"changed\"}");
    assert!(!copy.join("b.json").exists());
    // What did not change keeps its time, and is not asked for again.
    let again = Run::of(&mut instep(["sync", &collection, copy.to_str().unwrap(), "--json"])).with_code(0);
    let summary: Value = serde_json::from_str(again.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&summary["updated"], &summary["bytes"]), (&json!(0), &json!(0)), "{summary}");
    let page: Value =
        serde_json::from_slice(&fs::read(data.join("resourcesync/activities/page-0.json")).unwrap()).unwrap();
    let items = page["orderedItems"].as_array().unwrap();
    let times: Vec<_> = items.iter().map(|item| item["endTime"].as_str().unwrap()).collect();
    assert!(times.is_sorted() && items.last().unwrap()["object"]["type"] == "Manifest", "{page}");
}

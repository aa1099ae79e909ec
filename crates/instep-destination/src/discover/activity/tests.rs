//! Activities as the text of IIIF Change Discovery 1.0 shows them.

use super::{page::page_of_text, walk::CollectionSize, *};

fn changes(text: &str) -> Vec<(String, String, Option<String>)> {
    let page = page_of_text(text);
    let said = |activity: Activity| {
        let time = activity.time.map(|time| time.to_string());
        (activity.change.as_str().to_owned(), activity.object.as_str().to_owned(), time)
    };
    page.activities.into_iter().map(said).collect()
}

fn own(change: &str, object: &str, time: Option<&str>) -> (String, String, Option<String>) {
    (change.to_owned(), format!("https://example.org/iiif/{object}/manifest"), time.map(str::to_owned))
}

#[test]
fn a_collection_leads_to_its_last_page() {
    let page = page_of_text(
        r#"{"@context": "http://iiif.io/api/discovery/1/context.json", "id": "https://example.org/activity/all-changes",
            "type": "OrderedCollection", "totalItems": 21456,
            "first": {"id": "https://example.org/activity/page-0", "type": "OrderedCollectionPage"},
            "last": {"id": "https://example.org/activity/page-214", "type": "OrderedCollectionPage"}}"#,
    );
    assert!(page.is_collection() && page.activities.is_empty());
    assert_eq!(page.before.unwrap().as_str(), "https://example.org/activity/page-214");
}

#[test]
fn level_0_names_objects_and_the_last_activity_of_each_counts() {
    let text = r#"{"type": "OrderedCollectionPage", "orderedItems": [
        {"type": "Update", "object": {"id": "https://example.org/iiif/1/manifest", "type": "Manifest"}},
        {"type": "Update", "object": {"id": "https://example.org/iiif/2/manifest?a&b", "type": "Manifest"}},
        {"type": "Update", "object": {"id": "https://example.org/iiif/1/manifest", "type": "Manifest"}}]}"#;
    let (capability, document) = translate(page_of_text(text).activities.into_iter());
    assert_eq!(capability, Capability::ResourceList);
    assert_eq!(document.matches("<loc>").count(), 2, "{document}");
    assert!(document.contains("manifest?a&amp;b") && !document.contains("change="), "{document}");
}

#[test]
fn levels_1_and_2_are_changes_in_the_order_of_time() {
    let text = r#"{"type": "OrderedCollectionPage", "prev": {"id": "page-1", "type": "OrderedCollectionPage"}, "orderedItems": [
        {"type": "Create", "object": {"id": "https://example.org/iiif/1/manifest", "type": "Manifest"}, "endTime": "2017-09-20T00:00:00Z"},
        {"type": "Update", "object": {"id": "https://example.org/iiif/2/manifest", "type": "Manifest"}, "endTime": "2017-09-21T00:00:00Z"},
        {"type": "Refresh", "startTime": "2017-09-22T00:00:00Z"},
        {"type": "Move", "object": {"id": "https://example.org/iiif/2/manifest"}, "target": {"id": "https://example.org/iiif/3/manifest"},
         "endTime": "2017-09-23T00:00:00Z"},
        {"type": "Invite", "object": {"id": "https://example.org/iiif/9/manifest"}},
        {"type": "Delete", "object": {"id": "https://example.org/iiif/1/manifest", "type": "Manifest"}, "endTime": "2017-09-24T00:00:00Z"}]}"#;
    assert_eq!(
        changes(text),
        [
            own("created", "1", Some("2017-09-20T00:00:00Z")),
            own("updated", "2", Some("2017-09-21T00:00:00Z")),
            own("deleted", "2", Some("2017-09-23T00:00:00Z")),
            own("created", "3", Some("2017-09-23T00:00:00Z")),
            own("deleted", "1", Some("2017-09-24T00:00:00Z")),
        ]
    );
    let page = page_of_text(text);
    assert_eq!(page.before.as_ref().unwrap().as_str(), "https://example.org/activity/page-1");
    assert_eq!(page.unusable.len(), 1, "{:?}", page.unusable);
    let (capability, document) = translate(page.activities.into_iter());
    assert_eq!(capability, Capability::ChangeList);
    assert!(document.contains("from=\"1970-01-01T00:00:00Z\""), "{document}");
}

#[test]
fn o877_a_collection_of_few_activities_with_endless_identifiers_is_too_large_for_the_memory() {
    let long = "x".repeat(1 << 20);
    let text = format!(
        r#"{{"type": "OrderedCollectionPage", "orderedItems": [
        {{"type": "Update", "object": {{"id": "https://example.org/{long}"}}}},
        {{"type": "Invite", "id": "https://example.org/{long}"}}]}}"#
    );
    let page = page_of_text(&text);
    let mut size = CollectionSize::default();
    (0..255).for_each(|_| size.add(&page));
    assert!(!size.is_too_large(), "{size:?}");
    size.add(&page);
    assert!(size.is_too_large() && size.activities == 512, "{size:?}");
}

#[test]
fn o883_of_activities_that_cannot_be_used_the_first_are_named_and_the_others_counted() {
    let items = vec!["{}"; 1_005].join(",");
    let page = page_of_text(&format!("{{\"type\": \"OrderedCollectionPage\", \"orderedItems\": [{items}]}}"));
    assert_eq!((page.items, page.unusable.len()), (1_005, 1_001));
    assert_eq!(page.unusable[1_000], "5 more activities of the page cannot be used");
}

#[test]
fn o822_a_page_without_its_list_and_a_time_that_is_no_text_are_not_taken_for_nothing() {
    assert!(page_of_text(r#"{"type": "OrderedCollectionPage", "items": []}"#).lacks_items);
    assert!(!page_of_text(r#"{"type": "OrderedCollectionPage", "orderedItems": []}"#).lacks_items);
    assert!(!page_of_text(r#"{"type": "OrderedCollection", "totalItems": 0}"#).lacks_items);
    let page = page_of_text(
        r#"{"type": "OrderedCollectionPage", "orderedItems": [
        {"type": "Update", "object": "https://example.org/1", "endTime": 1577836800},
        {"type": "Update", "object": "https://example.org/2", "endTime": null}]}"#,
    );
    assert_eq!((page.activities.len(), page.unusable.len()), (1, 1), "{:?}", page.unusable);
}

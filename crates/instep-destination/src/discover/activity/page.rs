//! One page of a collection of activities, read from JSON. Pages are fetched by `activity.rs`.

use resourcesync::{Change, DateTime, Uri};
use serde_json::Value;

use crate::documents::{DocumentError, Download};

/// The most bytes of a page.
const MOST_BYTES: usize = 32 << 20;
/// The most activities of a page that are named because they cannot be used. Further ones are counted.
const MOST_UNUSABLE: usize = 1_000;

/// An activity: something that was done with one object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Activity {
    pub(super) object: Uri,
    pub(super) change: Change,
    /// The time at which it was done; `None` at level 0.
    pub(super) time: Option<DateTime>,
}

/// A page, or the collection itself, which has no activities.
#[derive(Debug, Default)]
pub(super) struct CollectionPage {
    kind: String,
    /// The activities in the order of time.
    pub(super) activities: Vec<Activity>,
    /// The page with the activities before these; of a collection, its last page.
    pub(super) before: Option<Uri>,
    /// The first page of the collection, if it names it.
    pub(super) first: Option<Uri>,
    /// The URI that the page states for itself.
    pub(super) own: Option<Uri>,
    /// Activities that could not be used, and why.
    pub(super) unusable: Vec<String>,
    /// The number of activities in the page.
    pub(super) items: u64,
    /// The number of activities that the collection states for all pages.
    pub(super) stated: Option<u64>,
    /// `true` if there are pages before this one, or in this collection, but their URI is missing.
    pub(super) lacks_pages: bool,
    /// `true` if it is a page without the list that each page has, empty or not.
    pub(super) lacks_items: bool,
}

impl CollectionPage {
    pub(super) fn is_collection(&self) -> bool {
        matches!(&*self.kind, "OrderedCollection" | "OrderedCollectionPage")
    }
}

/// Returns a text without the byte order mark before it.
pub(super) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// Reads a page.
///
/// # Errors
/// If it is not JSON, or not a page of activities.
pub(super) fn parse(download: &Download) -> Result<CollectionPage, DocumentError> {
    let wrong = |what: String| DocumentError::Activities { uri: download.uri.as_str().to_owned(), what };
    let text = download.start(MOST_BYTES + 1).map_err(|error| wrong(error.to_string()))?;
    if text.len() > MOST_BYTES {
        return Err(wrong(format!("more than {MOST_BYTES} bytes")));
    }
    let json: Value =
        serde_json::from_slice(without_mark(&text)).map_err(|error| wrong(error.to_string()))?;
    if json.get("orderedItems").is_some_and(|items| !items.is_array()) {
        return Err(wrong("orderedItems is not a list".to_owned()));
    }
    let page = page_of(&json, &download.uri);
    if page.is_collection() {
        Ok(page)
    } else {
        Err(wrong(format!("the type is {:?}, not OrderedCollection or OrderedCollectionPage", page.kind)))
    }
}

fn page_of(json: &Value, base: &Uri) -> CollectionPage {
    let mut page = CollectionPage {
        kind: json["type"].as_str().unwrap_or_default().to_owned(),
        ..CollectionPage::default()
    };
    let leads_to = if page.kind == "OrderedCollection" { &json["last"] } else { &json["prev"] };
    let resolved = |value: &Value| id(value).and_then(|id| base.resolve(id).ok());
    (page.before, page.own) = (resolved(leads_to), resolved(json));
    let items = json["orderedItems"].as_array();
    page.lacks_items = page.kind == "OrderedCollectionPage" && items.is_none();
    page.items = items.map_or(0, |items| items.len() as u64);
    if page.kind == "OrderedCollection" {
        page.first = resolved(&json["first"]);
        page.stated = json["totalItems"].as_u64();
        let has_more = !json["first"].is_null() || page.stated.is_some_and(|stated| stated > page.items);
        page.lacks_pages = page.before.is_none() && items.is_none() && has_more;
    }
    page.lacks_pages |= page.before.is_none() && !leads_to.is_null();
    let mut more = 0_u64;
    for (number, item) in items.into_iter().flatten().enumerate() {
        match activities(item, base) {
            Ok(activities) => page.activities.extend(activities),
            Err(_) if page.unusable.len() >= MOST_UNUSABLE => more += 1,
            Err(what) => {
                let id = id(item).map(|id| format!(" ({id})")).unwrap_or_default();
                page.unusable.push(format!("activity {} of the page{id} cannot be used: {what}", number + 1));
            }
        }
    }
    if more > 0 {
        page.unusable.push(format!("{more} more activities of the page cannot be used"));
    }
    page
}

/// Returns an identifier, which may be a string or in an object.
fn id(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value["id"].as_str())
}

/// Returns the changes that one item means. A move is a deletion at the old place and a creation at the new one.
fn activities(item: &Value, base: &Uri) -> Result<Vec<Activity>, String> {
    let kind = item["type"].as_str().unwrap_or("Update");
    let uri = |value: &Value, name: &str| {
        let id = id(value).ok_or_else(|| format!("no {name}"))?;
        base.resolve(id).map_err(|error| format!("{name} {id:?}: {error}"))
    };
    let time = match &item["endTime"] {
        Value::Null => None,
        Value::String(text) => Some(DateTime::parse(text).map_err(|error| format!("endTime: {error}"))?),
        other => return Err(format!("endTime: {other} is no text")),
    };
    let activity = |object: Uri, change: Change| Activity { object, change, time };
    Ok(match kind {
        "Create" => vec![activity(uri(&item["object"], "object")?, Change::Created)],
        "Update" | "Add" => vec![activity(uri(&item["object"], "object")?, Change::Updated)],
        "Delete" | "Remove" => vec![activity(uri(&item["object"], "object")?, Change::Deleted)],
        "Move" => vec![
            activity(uri(&item["object"], "object")?, Change::Deleted),
            activity(uri(&item["target"], "target")?, Change::Created),
        ],
        // After it, everything is named again. Entries before it are repeated, so it changes nothing.
        "Refresh" => Vec::new(),
        other => return Err(format!("the type {other:?} is not known")),
    })
}

#[cfg(test)]
pub(super) fn page_of_text(text: &str) -> CollectionPage {
    let base = Uri::parse("https://example.org/activity/page-0").unwrap_or_default();
    page_of(&serde_json::from_str(text).unwrap_or_default(), &base)
}

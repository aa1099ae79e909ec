//! Collections of activities (IIIF Change Discovery 1.0), read as a Source: their activities become a Change List, or
//! at level 0, which has no times, a Resource List.

mod page;

use std::collections::BTreeSet;

use instep_net::Origin;
use resourcesync::{Capability, Change, Uri};

use super::{CapabilitySet, DiscoverError, Discovered, Offer, Trouble, Way};
use crate::documents::{Document, DocumentError, Documents, Download};
use page::{Activity, CollectionPage, parse, without_mark};

/// The most pages of a collection that are read.
const MOST_PAGES: usize = 20_000;

/// The most activities of a collection that are read. They are in memory together, with about 200 bytes each.
const MOST_ACTIVITIES: u64 = 2_000_000;

/// The most bytes of the URIs of a collection, and of the messages about activities that cannot be used: an identifier may
/// fill a page.
const MOST_TEXT: usize = 512 << 20;

/// The part of a collection that was read.
#[derive(Debug, Default)]
struct CollectionSize {
    activities: u64,
    text: usize,
}

impl CollectionSize {
    fn add(&mut self, page: &CollectionPage) {
        self.activities += page.items;
        let uris = page.activities.iter().map(|activity| activity.object.as_str().len());
        let before = page.before.iter().map(|before| before.as_str().len());
        self.text += uris.chain(before).chain(page.unusable.iter().map(String::len)).sum::<usize>();
    }

    fn is_too_large(&self) -> bool {
        self.activities > MOST_ACTIVITIES || self.text > MOST_TEXT
    }
}

/// Returns `true` if a body is a collection of activities, or a page of one. Its content decides: servers of files do not
/// know the media type of a name without an ending.
pub(super) fn is_collection(download: &Download) -> bool {
    let start = download.start(64).unwrap_or_default();
    let is_object = without_mark(&start).trim_ascii_start().starts_with(b"{");
    is_object && parse(download).is_ok_and(|page| page.is_collection())
}

/// Reads a collection. Its pages are read from the last to the first, as its specification describes.
///
/// # Errors
/// If a page cannot be fetched or read, because changes before it would be missed silently.
pub(super) async fn read(
    asked_for: &Uri,
    way: Way,
    first: Download,
    documents: &Documents,
) -> Result<Discovered, DiscoverError> {
    let invalid = |uri: &Uri, source| DiscoverError::Invalid { uri: uri.clone(), source };
    // A collection has many more pages than the documents that one search may request.
    let documents = &documents.with_budget(MOST_PAGES as u64);
    let uri = first.uri.clone();
    let speaker = Origin::parse(uri.as_str()).ok();
    let mut page = parse(&first).map_err(|source| invalid(&uri, source))?;
    let (mut at, mut seen, mut pages) = (uri.clone(), BTreeSet::from([uri.clone()]), Vec::new());
    let mut troubles = Vec::new();
    let (stated, first_page, mut size) = (page.stated, page.first.clone(), CollectionSize::default());
    let (mut lacks_changes, mut is_too_large) = (false, false);
    loop {
        if page.lacks_pages {
            let what = "it does not name the page with the activities before".to_owned();
            let source = DocumentError::Activities { uri: at.as_str().to_owned(), what };
            return Err(invalid(&at, source));
        }
        size.add(&page);
        let CollectionPage { activities, before, own, lacks_items, unusable, .. } = page;
        for what in unusable {
            troubles.push(Trouble::lost_entries(&at, what));
        }
        if lacks_items {
            lacks_changes = true;
            troubles.push(Trouble::lost_entries(&at, "the page has no orderedItems"));
        }
        pages.push(activities);
        let Some(next) = before else {
            let missed = first_page.filter(|first| at != uri && *first != at && own.as_ref() != Some(first));
            if let Some(first) = missed {
                lacks_changes = true;
                let what = format!("it names no page before it, and the first page is {first}");
                troubles.push(Trouble::lost_entries(&at, what));
            }
            break;
        };
        let is_circle = !seen.insert(next.clone());
        lacks_changes |= is_circle;
        is_too_large = seen.len() > MOST_PAGES || size.is_too_large();
        if is_circle || is_too_large {
            troubles.push(Trouble::lost_entries(&next, "the pages go in a circle, or are too many"));
            break;
        }
        let download =
            documents.get(&next, speaker.as_ref()).await.map_err(|source| invalid(&next, source))?;
        page = parse(&download).map_err(|source| invalid(&next, source))?;
        at = next;
    }
    let stated = stated.filter(|stated| *stated > size.activities);
    if let Some(stated) = stated {
        let what = format!("it states {stated} activities, and its pages have {}", size.activities);
        troubles.push(Trouble::lost_entries(&uri, what));
    }
    // The last page was read first, so the reverse is the order of time.
    let activities = pages.into_iter().rev().flatten();
    let (capability, text) = translate(activities);
    let document = documents.keep(&uri, text.as_bytes()).map_err(|source| invalid(&uri, source))?;
    let mut found = found(asked_for, way, (capability, document), troubles);
    // A later read of a collection that is too large would not have more.
    let lacks_changes = (lacks_changes || stated.is_some()) && !is_too_large;
    found.sets.iter_mut().for_each(|set| set.lacks_changes = lacks_changes);
    Ok(found)
}

fn found(
    asked_for: &Uri,
    way: Way,
    (capability, document): (Capability, Document),
    troubles: Vec<Trouble>,
) -> Discovered {
    let mut offer = Offer::new(document.uri.clone(), Vec::new());
    offer.document = Some(document);
    let mut set = CapabilitySet { asked_for: Some(asked_for.clone()), ..CapabilitySet::default() };
    set.is_translated = true;
    set.lacks_entries = !troubles.is_empty();
    set.capabilities.insert(capability, offer);
    Discovered {
        source_description: None,
        names_sets: false,
        sets: vec![set],
        other_sets: Vec::new(),
        way,
        troubles,
        crawl_delay: None,
    }
}

/// Returns the document that is equivalent to activities in the order of time.
fn translate(activities: impl Iterator<Item = Activity>) -> (Capability, String) {
    let mut activities: Vec<Activity> = activities.collect();
    let is_timed = activities.iter().any(|activity| activity.time.is_some());
    let capability = if is_timed { Capability::ChangeList } else { Capability::ResourceList };
    let mut text = String::from(
        "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" xmlns:rs=\"http://www.openarchives.org/rs/terms/\">",
    );
    // A publisher keeps at least the last activity of each object, however old it is, so the Change List reaches back
    // to the beginning.
    let from = if is_timed { " from=\"1970-01-01T00:00:00Z\"" } else { "" };
    text.push_str(&format!("<rs:md capability=\"{}\"{from}/>", capability.as_str()));
    if !is_timed {
        // Level 0 names objects; the last mention of an object counts, and deleted objects are not named.
        let mut named = BTreeSet::new();
        activities.reverse();
        activities
            .retain(|activity| named.insert(activity.object.clone()) && activity.change != Change::Deleted);
    }
    for Activity { object, change, time } in activities {
        let loc = object.as_str().replace('&', "&amp;").replace('<', "&lt;");
        text.push_str(&format!("<url><loc>{loc}</loc>"));
        if is_timed {
            let time = time.map(|time| format!(" datetime=\"{time}\"")).unwrap_or_default();
            text.push_str(&format!("<rs:md change=\"{}\"{time}/>", change.as_str()));
        }
        text.push_str("</url>");
    }
    text.push_str("</urlset>");
    (capability, text)
}

#[cfg(test)]
mod tests;

//! Collections of activities (IIIF Change Discovery 1.0), read as a Source: their activities become a Change List, or
//! at level 0, which has no times, a Resource List.

mod page;
mod walk;

use std::collections::BTreeSet;

use instep_net::Origin;
use resourcesync::{Capability, Change, Uri};

use super::{CapabilitySet, DiscoverError, Discovered, Offer, Trouble, Way};
use crate::documents::{Document, Documents, Download};
use page::{Activity, parse, without_mark};
use walk::{CollectionWalk, MOST_PAGES};

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
    let (mut walk, mut at) = (CollectionWalk::begin(&uri, &page), uri.clone());
    loop {
        let before = walk.take(&at, page).map_err(|source| invalid(&at, source))?;
        let Some(next) = before else { break };
        let download =
            documents.get(&next, speaker.as_ref()).await.map_err(|source| invalid(&next, source))?;
        page = parse(&download).map_err(|source| invalid(&next, source))?;
        at = next;
    }
    let (capability, text) = translate(walk.finish().into_iter());
    let document = documents.keep(&uri, text.as_bytes()).map_err(|source| invalid(&uri, source))?;
    let lacks_changes = walk.lacks_changes();
    let mut found = found(asked_for, way, capability, document, walk.troubles);
    found.sets.iter_mut().for_each(|set| set.lacks_changes = lacks_changes);
    Ok(found)
}

fn found(
    asked_for: &Uri,
    way: Way,
    capability: Capability,
    document: Document,
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

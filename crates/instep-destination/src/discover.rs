//! Any URL to the Source's capabilities.

mod climb;
mod error;
mod found;
mod search;

use resourcesync::Uri;

pub use error::DiscoverError;
pub use found::{CapabilitySet, Discovered, Offer, Trouble, Way};

use crate::documents::Documents;
use search::{Search, Sight};

/// Finds out what a URL leads to (§6.3, DISC-6, DISC-7, DISC-8): the document itself, the Source Description at its well-known URI, links,
/// `robots.txt`, and last the names that other clients guess. What a document is, is decided by the document.
///
/// `sets` picks sets of resources by the URI of their Capability List or a part of its path; none means all.
///
/// # Errors
/// When nothing answers, nothing there is a document, or what is there cannot be used.
pub async fn discover(
    url: &Uri,
    sets: &[String],
    documents: &Documents,
) -> Result<Discovered, DiscoverError> {
    let mut search = Search::new(documents, sets);
    if let Sight::Found(found) = search.look_first(url).await? {
        return Ok(found);
    }
    for (way, uri) in search::well_known(url) {
        if let Some(found) = search.look(way, &uri).await? {
            return Ok(found);
        }
    }
    for (way, uri) in search::guesses(url) {
        if let Some(found) = search.look(way, &uri).await? {
            return Ok(found);
        }
    }
    Err(search.nothing(url))
}

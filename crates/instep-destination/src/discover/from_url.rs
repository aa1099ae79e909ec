//! The order in which the places of a Source's documents are tried.

use resourcesync::Uri;

use super::{DiscoverError, Discovered, Way, former::FormerDocuments, places, search::Search, sight::Sight};
use crate::documents::Documents;

/// The most documents that one search requests, whatever the Source (B9).
const MOST_DOCUMENTS: u64 = 1_024;

/// Finds the capabilities that a URL leads to (§6.3, DISC-6, DISC-7, DISC-8). It tries the document itself, the Source
/// Description at its well-known URI, all links, all Sitemaps of `robots.txt`, and last the names that other clients
/// guess. The content of a document decides its type, not its name.
///
/// ```no_run
/// use instep_destination::{discover::discover, documents::Documents};
/// use resourcesync::{Capability, Uri};
///
/// # async fn run(documents: &Documents) -> Result<(), Box<dyn std::error::Error>> {
/// let found = discover(&Uri::parse("https://example.org/")?, &[], documents).await?;
/// for set in &found.sets {
///     println!("{:?}", set.get(&Capability::ChangeList).map(|offer| &offer.uri));
/// }
/// # Ok(())
/// # }
/// ```
///
/// `sets` selects sets of resources by the URI of their Capability List or a part of its path; all if it is empty.
///
/// # Errors
/// If nothing answers, nothing there is a document, or a document cannot be used.
pub async fn discover(
    url: &Uri,
    sets: &[String],
    documents: &Documents,
) -> Result<Discovered, DiscoverError> {
    discover_again(url, sets, documents, &FormerDocuments::default()).await
}

/// Finds the documents of a URL that was found before. If a former document does not answer, it is not replaced by one
/// that is found in another way, and names are guessed only if a guess was right before. Otherwise the lists of another
/// Source might be applied to the copy (B20). If documents that the Source names cannot be used now, or its
/// Source Description does not arrive, a first run uses a guessed one only if it belongs to these: a set that came by
/// mistake stays in the copy (O800). Nor does it use one while another that is guessed before it does not arrive (O701).
pub(crate) async fn discover_again(
    url: &Uri,
    sets: &[String],
    documents: &Documents,
    former: &FormerDocuments,
) -> Result<Discovered, DiscoverError> {
    let documents = &documents.with_budget(MOST_DOCUMENTS);
    let mut search = Search::new(url, documents, sets);
    let mut links = Vec::new();
    match search.look_first(url).await? {
        Sight::Found(found) => return Ok(found),
        Sight::Page(page) => links = places::links(&page),
        Sight::Broken | Sight::Gone | Sight::Denied | Sight::Refused | Sight::Nothing => {}
    }
    let before = former.way;
    if before == Some(Way::Itself) {
        return Err(search.nothing(url));
    }
    if let Some(found) = search.look_for_one(places::well_known(url), former).await? {
        return Ok(found);
    }
    if let Some(found) = search.follow_links(links).await? {
        return Ok(found);
    }
    if matches!(before, None | Some(Way::Robots | Way::Guess))
        && let Some(found) = search.follow_robots(url, former).await?
    {
        return Ok(search.paced(found));
    }
    if matches!(before, None | Some(Way::Guess)) {
        if let Some(found) = search.look_for_one(places::guesses(url), former).await? {
            if before.is_some() || !search.may_be_others(&found) {
                return Ok(search.paced(found));
            }
            search.leave_out(found.asked_for());
        } else if let Some(found) = search.follow_sitemaps()? {
            return Ok(search.paced(found));
        }
    }
    Err(search.nothing(url))
}

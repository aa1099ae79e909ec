//! The order in which the places of a Source's documents are tried.

use resourcesync::Uri;

use super::{
    DiscoverError, Discovered, Way,
    search::{self, Search, Sight},
};
use crate::documents::Documents;

/// Finds the capabilities that a URL leads to (§6.3, DISC-6, DISC-7, DISC-8). It tries the document itself, the Source
/// Description at its well-known URI, links, `robots.txt`, and last the names that other clients guess. The content of
/// a document decides its type, not its name.
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
/// `sets` picks sets of resources by the URI of their Capability List or a part of its path; all if it is empty.
///
/// # Errors
/// If nothing answers, nothing there is a document, or a document cannot be used.
pub async fn discover(
    url: &Uri,
    sets: &[String],
    documents: &Documents,
) -> Result<Discovered, DiscoverError> {
    discover_again(url, sets, documents, None).await
}

/// Finds out what a URL leads to that led somewhere before. What was a document is not looked for elsewhere when it
/// does not answer for once, and names are guessed only if a guess was right before (B20): another Source's lists would
/// get into the copy.
pub(crate) async fn discover_again(
    url: &Uri,
    sets: &[String],
    documents: &Documents,
    before: Option<Way>,
) -> Result<Discovered, DiscoverError> {
    let mut search = Search::new(url, documents, sets);
    let mut places = search::well_known(url);
    match search.look_first(url).await? {
        Sight::Found(found) => return Ok(found),
        Sight::Page(page) => places.extend(search::links(&page)),
        Sight::Nothing => {}
    }
    if before == Some(Way::Itself) {
        return Err(search.nothing(url));
    }
    if let Some(found) = search.look_at_all(places).await? {
        return Ok(found);
    }
    let mut places = Vec::new();
    if matches!(before, None | Some(Way::Robots | Way::Guess)) {
        places.extend(search.robots(url).await);
    }
    if matches!(before, None | Some(Way::Guess)) {
        places.extend(search::guesses(url));
    }
    match search.look_at_all(places).await? {
        Some(found) => Ok(search.paced(found)),
        None => Err(search.nothing(url)),
    }
}

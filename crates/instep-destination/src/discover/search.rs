//! The search for the first document that leads on.

use std::time::Duration;

use http::header;
use instep_net::{HttpError, Origin};
use resourcesync::{ReadError, SyntaxErrorKind, Uri, discovery};

use super::{DiscoverError, Discovered, Trouble, Way, activity, climb};
use crate::{
    documents::{DocumentError, Documents, Download},
    error::error_chain,
};

/// A search for the first document that leads on, and the faults on its way.
pub(super) struct Search<'a> {
    documents: &'a Documents,
    sets: &'a [String],
    /// The origin of the operator's URL, in whose scope pages, headers and robots.txt lead.
    speaker: Option<Origin>,
    looked_at: Vec<Trouble>,
    invalid: Option<DiscoverError>,
    crawl_delay: Option<Duration>,
}

/// The bytes of a page that are searched for links.
const PAGE_BYTES: usize = 1 << 20;

/// The result of one attempt.
pub(super) enum Sight {
    /// A document and the sets that it leads to.
    Found(Discovered),
    /// Something else that may carry links.
    Page(Download),
    /// Nothing.
    Nothing,
}

impl<'a> Search<'a> {
    pub(super) fn new(url: &Uri, documents: &'a Documents, sets: &'a [String]) -> Self {
        let speaker = Origin::parse(url.as_str()).ok();
        Self { documents, sets, speaker, looked_at: Vec::new(), invalid: None, crawl_delay: None }
    }

    /// Tries the URL that the operator named. A host that does not answer, or a document that cannot be used, ends the
    /// search.
    pub(super) async fn look_first(&mut self, url: &Uri) -> Result<Sight, DiscoverError> {
        match self.documents.get(url, None).await {
            Ok(download) => {
                let sight = self.judge(url, Way::Itself, download).await?;
                self.invalid.take().map_or(Ok(sight), Err)
            }
            Err(source) if source.is_invalid() => Err(DiscoverError::Invalid { uri: url.clone(), source }),
            // Another document in place of the one that was named would be another copy (D10).
            Err(source @ DocumentError::Http(HttpError::Status { .. })) if names_document(url) => {
                Err(DiscoverError::Unreachable { url: url.clone(), source })
            }
            Err(error @ DocumentError::Http(HttpError::Status { .. })) => {
                self.note(url, &error);
                Ok(Sight::Nothing)
            }
            Err(source) => Err(DiscoverError::Unreachable { url: url.clone(), source }),
        }
    }

    /// Tries one place after the other until one leads on.
    pub(super) async fn look_at_all(
        &mut self,
        places: Vec<(Way, Uri)>,
    ) -> Result<Option<Discovered>, DiscoverError> {
        for (way, uri) in places {
            if let Some(found) = self.look(way, &uri).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Adds to what was found the pause that `robots.txt` asks for.
    pub(super) fn paced(&self, mut found: Discovered) -> Discovered {
        found.crawl_delay = self.crawl_delay;
        found
    }

    /// Tries one more place. A fault there does not end the search (DISC-8).
    async fn look(&mut self, way: Way, uri: &Uri) -> Result<Option<Discovered>, DiscoverError> {
        if self.looked_at.iter().any(|trouble| trouble.uri == *uri) {
            return Ok(None);
        }
        match self.documents.get(uri, self.speaker.as_ref()).await {
            Ok(download) => match self.judge(uri, way, download).await? {
                Sight::Found(found) => return Ok(Some(found)),
                Sight::Page(_) | Sight::Nothing => {}
            },
            Err(error) => self.note(uri, &error),
        }
        Ok(None)
    }

    async fn judge(&mut self, asked_for: &Uri, way: Way, download: Download) -> Result<Sight, DiscoverError> {
        let uri = download.uri.clone();
        let document = match download.document() {
            Ok(document) => document,
            Err(_) if activity::is_collection(&download) => {
                let found = activity::read(asked_for, way, download, self.documents).await;
                return Ok(self.sight(&uri, found));
            }
            Err(source) => {
                self.note(&uri, &source);
                if is_meant_as_document(&source, &download) {
                    self.invalid.get_or_insert(DiscoverError::Invalid { uri, source });
                }
                return Ok(Sight::Page(download));
            }
        };
        match climb::from(asked_for, document, way, self.documents, self.sets).await {
            Err(error @ DiscoverError::NoSuchSet { .. }) => Err(error),
            found => Ok(self.sight(&uri, found)),
        }
    }

    /// Keeps the reason why a document cannot be used, for the end of the search.
    fn sight(&mut self, uri: &Uri, found: Result<Discovered, DiscoverError>) -> Sight {
        match found {
            Ok(found) => Sight::Found(found),
            Err(error) => {
                self.note(uri, &error);
                self.invalid.get_or_insert(error);
                Sight::Nothing
            }
        }
    }

    /// Returns the URIs that the host's `robots.txt` names (DISC-5). A missing one is not a fault.
    pub(super) async fn robots(&mut self, url: &Uri) -> Vec<(Way, Uri)> {
        let Ok(file) = discovery::robots(url) else { return Vec::new() };
        let Ok(download) = self.documents.get(&file, None).await else { return Vec::new() };
        let text = download.start(PAGE_BYTES).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        self.crawl_delay = discovery::crawl_delay(&text, "instep");
        let named = discovery::from_robots(&text, &download.uri);
        distinct(Way::Robots, named.into_iter())
    }

    fn note(&mut self, uri: &Uri, error: &dyn std::error::Error) {
        self.looked_at.push(Trouble::new(uri, error_chain(error)));
    }

    /// Returns the error of a search that found nothing.
    pub(super) fn nothing(self, url: &Uri) -> DiscoverError {
        let Self { looked_at, invalid, .. } = self;
        invalid.unwrap_or_else(|| DiscoverError::Nothing { url: url.clone(), looked_at })
    }
}

/// Returns `true` if a URL names a document, rather than a site, a page or a resource that leads to one.
fn names_document(url: &Uri) -> bool {
    let path = url.as_str().split(['?', '#']).next().unwrap_or_default();
    [".xml", ".xml.gz", "/.well-known/resourcesync"].iter().any(|ending| path.ends_with(ending))
}

/// Returns `true` for XML that is broken, or in another encoding: it was meant as a document. A page in HTML, or XML of
/// another kind, was not.
fn is_meant_as_document(error: &DocumentError, download: &Download) -> bool {
    let DocumentError::Read { source, .. } = error else { return error.is_invalid() };
    let other_kind = |kind: &SyntaxErrorKind| {
        matches!(kind, SyntaxErrorKind::Root { .. } | SyntaxErrorKind::RejectedSerialization(_))
    };
    match source {
        ReadError::Syntax(syntax) if other_kind(&syntax.kind) => false,
        _ => {
            let start = download.start(4096).unwrap_or_default().to_ascii_lowercase();
            let has = |text: &[u8]| start.windows(text.len()).any(|window| window == text);
            let html = download.media_type().is_some_and(|of| of == "text/html") || has(b"<html");
            let is_utf_16 = start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff]);
            let is_markup = start.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'<');
            !html && !has(b"<!doctype html") && (is_utf_16 || is_markup)
        }
    }
}

/// Returns the places of a Source Description: at the host's root (DISC-1), and below the path, where a publisher
/// without access to the root puts it.
pub(super) fn well_known(url: &Uri) -> Vec<(Way, Uri)> {
    let below = url.resolve(".well-known/resourcesync").ok();
    distinct(Way::WellKnown, discovery::well_known(url).ok().into_iter().chain(below))
}

/// Returns the links of a page and its headers (DISC-2, DISC-4).
pub(super) fn links(page: &Download) -> Vec<(Way, Uri)> {
    let fields = page.headers.get_all(header::LINK).into_iter().filter_map(|field| field.to_str().ok());
    let mut links: Vec<_> = fields
        .flat_map(|field| discovery::from_link_header(field, &page.uri))
        .map(|uri| (Way::LinkHeader, uri))
        .collect();
    let text = page.start(PAGE_BYTES).unwrap_or_default();
    let in_page = discovery::from_html(&text, &page.uri).into_iter().map(|link| link.target);
    links.extend(distinct(Way::Page, in_page));
    links
}

/// The names that the reference client tries (AMB-B33).
pub(super) fn guesses(url: &Uri) -> Vec<(Way, Uri)> {
    let names = ["resourcelist.xml", "sitemap.xml", "/sitemap.xml"];
    distinct(Way::Guess, names.iter().filter_map(|name| url.resolve(name).ok()))
}

fn distinct(way: Way, uris: impl Iterator<Item = Uri>) -> Vec<(Way, Uri)> {
    let mut places: Vec<(Way, Uri)> = Vec::new();
    for uri in uris {
        if places.iter().all(|(_, held)| *held != uri) {
            places.push((way, uri));
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_well_known_uri_is_tried_at_the_root_and_below_the_path() {
        let at = |url: &str| -> Vec<String> {
            let places = well_known(&Uri::parse(url).unwrap());
            places.into_iter().map(|(_, uri)| uri.into_string()).collect()
        };
        assert_eq!(at("http://example.com"), ["http://example.com/.well-known/resourcesync"]);
        assert_eq!(
            at("http://example.com/data/"),
            [
                "http://example.com/.well-known/resourcesync",
                "http://example.com/data/.well-known/resourcesync"
            ]
        );
    }
}

use resourcesync::{ReadError, SyntaxErrorKind, Uri};

use super::{DiscoverError, Discovered, Trouble, Way, climb, found::whole_story};
use crate::{
    documents::{DocumentError, Documents, Download},
    http::HttpError,
};

/// A search for the first document that leads on, and what it met.
pub(super) struct Search<'a> {
    documents: &'a Documents,
    sets: &'a [String],
    looked_at: Vec<Trouble>,
    invalid: Option<DiscoverError>,
}

/// What one look brought.
pub(super) enum Sight {
    /// A document, and all it leads to.
    Found(Discovered),
    /// Something else that may carry links.
    Page(Download),
    /// Nothing.
    Nothing,
}

impl<'a> Search<'a> {
    pub(super) fn new(documents: &'a Documents, sets: &'a [String]) -> Self {
        Self { documents, sets, looked_at: Vec::new(), invalid: None }
    }

    /// Looks at what the operator named. A host that does not answer, or a document that cannot be used, ends the search.
    pub(super) async fn look_first(&mut self, url: &Uri) -> Result<Sight, DiscoverError> {
        match self.documents.get(url, None).await {
            Ok(download) => {
                let sight = self.judge(Way::Itself, download).await?;
                self.invalid.take().map_or(Ok(sight), Err)
            }
            Err(source) if source.is_invalid() => Err(DiscoverError::Invalid { uri: url.clone(), source }),
            Err(error @ DocumentError::Http(HttpError::Status { .. })) => {
                self.note(url, &error);
                Ok(Sight::Nothing)
            }
            Err(source) => Err(DiscoverError::Unreachable { url: url.clone(), source }),
        }
    }

    /// Looks at one place more; what is wrong there does not end the search (DISC-8).
    pub(super) async fn look(&mut self, way: Way, uri: &Uri) -> Result<Option<Discovered>, DiscoverError> {
        if self.looked_at.iter().any(|trouble| trouble.uri == *uri) {
            return Ok(None);
        }
        match self.documents.get(uri, None).await {
            Ok(download) => match self.judge(way, download).await? {
                Sight::Found(found) => return Ok(Some(found)),
                Sight::Page(_) | Sight::Nothing => {}
            },
            Err(error) => self.note(uri, &error),
        }
        Ok(None)
    }

    async fn judge(&mut self, way: Way, download: Download) -> Result<Sight, DiscoverError> {
        let uri = download.uri.clone();
        let document = match download.document() {
            Ok(document) => document,
            Err(source) => {
                self.note(&uri, &source);
                if is_meant_as_document(&source, &download) {
                    self.invalid.get_or_insert(DiscoverError::Invalid { uri, source });
                }
                return Ok(Sight::Page(download));
            }
        };
        match climb::from(document, way, self.documents, self.sets).await {
            Ok(found) => Ok(Sight::Found(found)),
            Err(error @ DiscoverError::NoSuchSet { .. }) => Err(error),
            Err(error) => {
                self.note(&uri, &error);
                self.invalid.get_or_insert(error);
                Ok(Sight::Nothing)
            }
        }
    }

    fn note(&mut self, uri: &Uri, error: &dyn std::error::Error) {
        self.looked_at.push(Trouble::new(uri, whole_story(error)));
    }

    /// What is said when no way led anywhere.
    pub(super) fn nothing(self, url: &Uri) -> DiscoverError {
        let Self { looked_at, invalid, .. } = self;
        invalid.unwrap_or_else(|| DiscoverError::Nothing { url: url.clone(), looked_at })
    }
}

/// A page in HTML, or XML of another kind, was never meant as a document; broken XML was.
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
            !html
                && !has(b"<!doctype html")
                && start.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'<')
        }
    }
}

/// The Source Description at the host's root (§6.3.2); and below the path, where a publisher without a root puts it.
pub(super) fn well_known(url: &Uri) -> Vec<(Way, Uri)> {
    places(url, &["/.well-known/resourcesync", ".well-known/resourcesync"], Way::WellKnown)
}

/// Names that the reference client tries (B33).
pub(super) fn guesses(url: &Uri) -> Vec<(Way, Uri)> {
    places(url, &["resourcelist.xml", "sitemap.xml", "/sitemap.xml"], Way::Guess)
}

fn places(url: &Uri, references: &[&str], way: Way) -> Vec<(Way, Uri)> {
    let mut places: Vec<(Way, Uri)> = Vec::new();
    for reference in references {
        match url.resolve(reference) {
            Ok(uri) if places.iter().all(|(_, held)| *held != uri) => places.push((way, uri)),
            _ => {}
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

//! The places where a Source's documents are searched, and descriptions of other content found there.

use std::collections::BTreeSet;

use http::header;
use resourcesync::{ReadError, SyntaxErrorKind, Uri, discovery};

use super::Way;
use crate::{
    documents::{DocumentError, Download},
    error::error_chain,
};

/// The most bytes of a page or a `robots.txt` that are searched for links.
pub(super) const PAGE_BYTES: usize = 1 << 20;

/// Returns `true` if a URL names a document, rather than a site, a page or a resource that leads to one.
pub(super) fn names_document(url: &Uri) -> bool {
    let path = url.as_str().split(['?', '#']).next().unwrap_or_default();
    [".xml", ".xml.gz", "/.well-known/resourcesync"].iter().any(|ending| path.ends_with(ending))
}

/// Returns `true` for XML that is malformed, or in an encoding that is not supported: it is reported as a broken
/// document. A page in HTML, or XML of another kind, is not.
pub(super) fn is_meant_as_document(error: &DocumentError, download: &Download) -> bool {
    let DocumentError::Read { source, .. } = error else { return error.is_invalid() };
    let other_kind = |kind: &SyntaxErrorKind| {
        matches!(kind, SyntaxErrorKind::Root { .. } | SyntaxErrorKind::RejectedSerialization(_))
    };
    match source {
        ReadError::Syntax(syntax) if other_kind(&syntax.kind) => false,
        _ => {
            let start = download.start(4096).unwrap_or_default();
            let is_utf_16 = start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff]);
            let is_markup = start.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'<');
            !is_html(&start, download) && (is_utf_16 || is_markup)
        }
    }
}

/// Describes the content of a place that has no document and is not meant to be one.
pub(super) fn not_a_document(error: &DocumentError, download: &Download) -> String {
    let DocumentError::Read { source: ReadError::Syntax(syntax), .. } = error else {
        return error_chain(error);
    };
    let start = download.start(4096).unwrap_or_default();
    let is_html = is_html(&start, download);
    match &syntax.kind {
        _ if start.iter().all(u8::is_ascii_whitespace) => "the answer is empty".to_owned(),
        _ if is_html && links(download).is_empty() => {
            "a web page without a link of rel=\"resourcesync\"".to_owned()
        }
        _ if is_html => "a web page".to_owned(),
        SyntaxErrorKind::Root { .. } | SyntaxErrorKind::RejectedSerialization(_) => {
            format!("XML of another kind: {}", syntax.kind)
        }
        _ => match download.media_type() {
            Some(of) if of.ends_with("xml") => format!("no XML, although its media type is {of}"),
            Some(of) => format!("no XML, but {of}"),
            None => "no XML".to_owned(),
        },
    }
}

fn is_html(start: &[u8], download: &Download) -> bool {
    let start = start.to_ascii_lowercase();
    let has = |text: &[u8]| start.windows(text.len()).any(|window| window == text);
    download.media_type().is_some_and(|of| of == "text/html") || has(b"<html") || has(b"<!doctype html")
}

/// Returns the places of a Source Description: at the host's root (DISC-1), and below the path, which publishers
/// without access to the root use.
pub(super) fn well_known(url: &Uri) -> Vec<(Way, Uri)> {
    let below = url.resolve(".well-known/resourcesync").ok();
    distinct(Way::WellKnown, discovery::well_known(url).ok().into_iter().chain(below))
}

/// Returns all links of a page and its headers (DISC-2, DISC-4).
pub(super) fn links(page: &Download) -> Vec<(Way, Uri)> {
    let fields = page.headers.get_all(header::LINK).into_iter().filter_map(|field| field.to_str().ok());
    let in_headers = fields.flat_map(|field| discovery::from_link_header(field, &page.uri));
    let mut links = distinct(Way::LinkHeader, in_headers);
    let text = page.start(PAGE_BYTES).unwrap_or_default();
    let in_page = discovery::from_html(&text, &page.uri).into_iter().map(|link| link.target);
    let known: BTreeSet<_> = links.iter().map(|(_, uri)| uri.clone()).collect();
    links.extend(distinct(Way::Page, in_page.filter(|uri| !known.contains(uri))));
    links
}

/// Returns the URIs with the names that the reference client tries (AMB-B33).
pub(super) fn guesses(url: &Uri) -> Vec<(Way, Uri)> {
    let names = ["resourcelist.xml", "sitemap.xml", "/sitemap.xml"];
    distinct(Way::Guess, names.iter().filter_map(|name| url.resolve(name).ok()))
}

pub(super) fn distinct(way: Way, uris: impl Iterator<Item = Uri>) -> Vec<(Way, Uri)> {
    let mut seen = BTreeSet::new();
    uris.filter(|uri| seen.insert(uri.clone())).map(|uri| (way, uri)).collect()
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

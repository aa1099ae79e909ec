//! `<link rel="resourcesync">` in web pages (DISC-2). Pages are read as loosely as browsers read them.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

use crate::value::{Relation, Uri};

/// A link to a Capability List in a web page.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HtmlLink {
    /// The URI of the Capability List.
    pub target: Uri,
    /// `true` if the link is in the `head`, as required (DISC-2).
    pub in_head: bool,
}

#[derive(Default)]
struct ScannedPage {
    base: Option<String>,
    body: bool,
    links: Vec<(String, bool)>,
}

/// Returns the Capability Lists that a web page links to (DISC-2). Targets are resolved against its `<base>`, else its
/// URI; like browsers, this takes blanks and letters that no URI has.
pub fn from_html(html: &[u8], page_uri: &Uri) -> Vec<HtmlLink> {
    let page = scan(html);
    let base = page.base.and_then(|base| page_uri.resolve_as_written(base.as_bytes()).ok());
    let base = base.as_ref().unwrap_or(page_uri);
    let resolve = |(href, in_head): (String, bool)| {
        Some(HtmlLink { target: base.resolve_as_written(href.as_bytes()).ok()?, in_head })
    };
    page.links.into_iter().filter_map(resolve).collect()
}

fn scan(html: &[u8]) -> ScannedPage {
    let mut emitter = DefaultEmitter::default();
    // Otherwise text in `<script>` or `<style>` that looks like a tag would count as one.
    emitter.naively_switch_states(true);
    let mut page = ScannedPage::default();
    for token in Tokenizer::new_with_emitter(html, emitter).flatten() {
        let Token::StartTag(tag) = token else { continue };
        match tag.name.as_slice() {
            b"body" => page.body = true,
            b"base" => page.base = page.base.or_else(|| attribute(&tag, b"href")),
            b"link" if is_of_resourcesync(&tag) => {
                page.links.extend(attribute(&tag, b"href").map(|href| (href, !page.body)));
            }
            _ => {}
        }
    }
    page
}

fn is_of_resourcesync(link: &StartTag<()>) -> bool {
    let relations = attribute(link, b"rel").unwrap_or_default();
    relations.split_ascii_whitespace().any(|token| Relation::parse(token) == Relation::ResourceSync)
}

/// Returns the value of an attribute, its character references resolved.
fn attribute(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    tag.attributes.get(name).map(|value| String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
mod tests {
    use super::from_html;

    #[test]
    fn disc_2_links_are_found_in_loose_html() {
        let page = "http://example.com/a/page".parse().unwrap();
        for (html, target, in_head) in [
            ("<link rel=resourcesync href=/caps.xml>", "http://example.com/caps.xml", true),
            (
                "<LINK HREF='caps.xml?a=1&amp;b=2' REL='Stylesheet RESOURCESYNC'>",
                "http://example.com/a/caps.xml?a=1&b=2",
                true,
            ),
            (
                "<head><base href='/x/'><link rel=\"resourcesync\" href=\" caps.xml \"></head>",
                "http://example.com/x/caps.xml",
                true,
            ),
            (
                "<html><head></head><body><p><link rel=resourcesync href=caps.xml>",
                "http://example.com/a/caps.xml",
                false,
            ),
        ] {
            let found = from_html(html.as_bytes(), &page);
            assert_eq!(found.len(), 1, "{html}");
            assert_eq!((found[0].target.as_str(), found[0].in_head), (target, in_head), "{html}");
        }
    }

    #[test]
    fn o835_a_target_with_a_blank_or_a_letter_that_no_uri_has_is_taken() {
        let page = "http://example.com/".parse().unwrap();
        for (html, target) in [
            ("<link rel=resourcesync href='my data/caps.xml'>", "http://example.com/my%20data/caps.xml"),
            ("<link rel=resourcesync href='\u{e4}.xml'>", "http://example.com/%C3%A4.xml"),
            ("<base href='/a b/'><link rel=resourcesync href=c>", "http://example.com/a%20b/c"),
        ] {
            let found = from_html(html.as_bytes(), &page);
            assert_eq!(found.first().map(|link| link.target.as_str()), Some(target), "{html}");
        }
    }

    #[test]
    fn what_only_looks_like_a_link_is_not_taken() {
        let page = "http://example.com/".parse().unwrap();
        for html in [
            "<!-- <link rel=resourcesync href=a> -->",
            "<script>'<link rel=resourcesync href=a>'</script>",
            "<a rel=resourcesync href=a>",
            "<link rel=resourcesync>",
            "<link rel=resourcesyncs href=a>",
            "\u{0}\u{ffff}<<<link",
        ] {
            assert!(from_html(html.as_bytes(), &page).is_empty(), "{html}");
        }
    }
}

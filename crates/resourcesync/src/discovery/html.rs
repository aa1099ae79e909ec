//! `<link rel="resourcesync">` in web pages (DISC-2), which are read as loosely as they are written.

use std::{borrow::Cow, cell::RefCell};

use lol_html::{HtmlRewriter, Settings, element};

use crate::value::{Relation, Uri};

/// A link to a Capability List in a web page.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HtmlLink {
    /// The Capability List.
    pub target: Uri,
    /// Whether it stands where such links belong (DISC-2).
    pub in_head: bool,
}

#[derive(Default)]
struct Page {
    base: Option<String>,
    body: bool,
    links: Vec<(String, bool)>,
}

/// The Capability Lists that a web page links to (DISC-2). Targets are resolved against its `<base>`, else its URI.
pub fn from_html(html: &[u8], page_uri: &Uri) -> Vec<HtmlLink> {
    let page = scan(html);
    let base = page.base.and_then(|base| page_uri.resolve(unescape(&base).trim()).ok());
    let base = base.as_ref().unwrap_or(page_uri);
    let resolve = |(href, in_head): (String, bool)| {
        Some(HtmlLink { target: base.resolve(unescape(&href).trim()).ok()?, in_head })
    };
    page.links.into_iter().filter_map(resolve).collect()
}

fn scan(html: &[u8]) -> Page {
    let page = RefCell::new(Page::default());
    let settings = Settings::new()
        .append_element_content_handler(element!("body", |_| {
            page.borrow_mut().body = true;
            Ok(())
        }))
        .append_element_content_handler(element!("base[href]", |base| {
            let href = base.get_attribute("href");
            let mut page = page.borrow_mut();
            page.base = page.base.take().or(href);
            Ok(())
        }))
        .append_element_content_handler(element!("link[rel][href]", |link| {
            let rel = link.get_attribute("rel").unwrap_or_default();
            let leads = |token| Relation::parse(token) == Relation::ResourceSync;
            if unescape(&rel).split_ascii_whitespace().any(leads) {
                let mut page = page.borrow_mut();
                let in_head = !page.body;
                page.links.push((link.get_attribute("href").unwrap_or_default(), in_head));
            }
            Ok(())
        }))
        .with_strict(false);
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    // What cannot be read on ends the page; the links before it stay.
    match rewriter.write(html) {
        Ok(()) => drop(rewriter.end()),
        Err(_) => drop(rewriter),
    }
    page.take()
}

fn unescape(text: &str) -> Cow<'_, str> {
    quick_xml::escape::unescape(text).unwrap_or(Cow::Borrowed(text))
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

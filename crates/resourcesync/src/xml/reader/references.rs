//! The URIs of entries and links: `loc` and `href`, resolved and repaired.

use std::io::BufRead;

use super::DocumentReader;
use crate::{
    document::{Entry, Link},
    finding::Severity,
    tables::relation_rule,
    value::{Relation, Uri, UriError},
};

/// The Sitemap protocol requires shorter URIs (GEN-14).
const LONGEST_LOC: usize = 2_048;

impl<R: BufRead> DocumentReader<R> {
    /// Takes the text as the entry's URI, resolved if it is relative (NAV-5). Returns `false` if it is unusable.
    pub(super) fn loc(&mut self, entry: &mut Entry) -> bool {
        let text = std::mem::take(&mut self.text);
        let usable = match Uri::check(text.trim_ascii()) {
            Ok(()) => {
                if text.trim_ascii().len() >= LONGEST_LOC {
                    let found = format!("a URI of {} characters", text.trim_ascii().len());
                    self.report("GEN-14", Severity::Error, found, "fewer than 2048");
                }
                entry.loc.set(text.trim_ascii());
                true
            }
            Err(error) => match self.repair(text.trim_ascii(), &error, "GEN-14") {
                Some(uri) => {
                    entry.loc = uri;
                    true
                }
                None => false,
            },
        };
        self.text = text;
        usable
    }

    /// Repairs a bad reference if its meaning is likely: relative to the document, or with characters not escaped.
    pub(super) fn repair(&mut self, text: &str, error: &UriError, rule: &'static str) -> Option<Uri> {
        if text.is_empty() {
            self.report(rule, Severity::Error, "an empty URI", "an absolute URI");
            return None;
        }
        self.report(rule, Severity::Error, format!("\"{text}\""), format!("an absolute URI ({error})"));
        let escaped = Uri::escape(text.as_bytes());
        match (&self.options.base, Uri::parse(&escaped)) {
            (_, Ok(uri)) => Some(uri),
            (Some(base), Err(UriError::Relative)) => base.resolve(&escaped).ok(),
            _ => None,
        }
    }

    /// Returns `true` if one more link fits within the limit; else reports that it is ignored (GEN-26).
    pub(super) fn has_room(&mut self, links: usize) -> bool {
        let has_room = links < self.options.limits.links && self.links_left > 0;
        if has_room {
            self.links_left -= 1;
        } else {
            self.report(
                "GEN-26",
                Severity::Warning,
                "more links than the limit",
                "fewer; this one is ignored",
            );
        }
        has_room
    }

    /// Returns the link whose attributes were read; `None` without `rel` or a usable `href` (GEN-20).
    pub(super) fn link(&mut self) -> Option<Link> {
        let (rel, href) = match (self.attributes.rel.take(), self.attributes.href.take()) {
            (Some(rel), Some(href)) => (rel, href),
            (rel, _) => {
                self.report("GEN-20", Severity::Error, "rs:ln without href or rel", "both");
                if let Some(rule) = rel.as_ref().and_then(relation_rule) {
                    self.report(rule, Severity::Info, "a link without href", "the URI that it leads to");
                }
                return None;
            }
        };
        if let Some(name) = unregistered(&rel) {
            let expected = "a name that IANA registered, or a URI";
            self.report("GEN-21", Severity::Error, format!("rel=\"{name}\""), expected);
        }
        let href = match Uri::parse(&href) {
            Ok(href) => href,
            Err(error) => self.repair(&href, &error, "NAV-5")?,
        };
        Some(self.attributes.take_link(rel, href))
    }
}

/// Returns the relation if it is neither known here, nor registered, nor a URI.
fn unregistered(rel: &Relation) -> Option<&str> {
    match rel {
        Relation::Other(name) if !Relation::is_registered(name) && Uri::check(name).is_err() => Some(name),
        _ => None,
    }
}

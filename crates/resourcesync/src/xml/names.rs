//! Namespaces, resolved by URI, never by prefix (GEN-2).

use std::borrow::Cow;

use quick_xml::errors::IllFormedError;

use super::tag::Tag;

/// The namespace of the Sitemap protocol.
pub(crate) const SITEMAP: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";
/// The namespace of ResourceSync.
pub(crate) const RS: &str = "http://www.openarchives.org/rs/terms/";
/// The namespace of images that pages of a site show.
pub(crate) const SITEMAP_IMAGE: &str = "http://www.google.com/schemas/sitemap-image/1.1";
/// The namespace of videos that pages of a site show.
pub(crate) const SITEMAP_VIDEO: &str = "http://www.google.com/schemas/sitemap-video/1.1";
/// The namespace of the `xml` prefix.
pub(super) const XML: &str = "http://www.w3.org/XML/1998/namespace";

/// A namespace, by its role here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Namespace {
    /// No namespace is declared.
    None,
    /// That of the Sitemap protocol.
    Sitemap,
    /// A variant of the Sitemap protocol's: with `https`, with a final slash, with blanks around it, or that of Google
    /// before the protocol.
    SitemapVariant(Box<str>),
    /// That of ResourceSync.
    Rs,
    /// A variant of ResourceSync's: that of the drafts, or without the final slash, or with `https`, or with blanks around it
    /// (DIA-2).
    RsVariant(Box<str>),
    /// Any other namespace.
    Foreign(Box<str>),
}

impl Namespace {
    /// Recognizes a namespace by its URI.
    pub(super) fn of(uri: &str) -> Self {
        match uri {
            "" => Self::None,
            SITEMAP => Self::Sitemap,
            RS => Self::Rs,
            blank if blank.trim().is_empty() => Self::None,
            _ => {
                // Blanks around the URI make it another one for XML readers.
                let trimmed = uri.trim();
                let plain = trimmed.strip_prefix("https://").or_else(|| trimmed.strip_prefix("http://"));
                match plain.map(|rest| rest.trim_end_matches('/')) {
                    Some(
                        "www.openarchives.org/rs/terms"
                        | "www.openarchives.org/rs"
                        | "openarchives.org/rs/terms",
                    ) => Self::RsVariant(uri.into()),
                    Some(
                        "www.sitemaps.org/schemas/sitemap/0.9"
                        | "sitemaps.org/schemas/sitemap/0.9"
                        | "www.google.com/schemas/sitemap/0.9"
                        | "www.google.com/schemas/sitemap/0.84",
                    ) => Self::SitemapVariant(uri.into()),
                    _ => Self::Foreign(uri.into()),
                }
            }
        }
    }

    /// Returns `true` for ResourceSync's namespace and its variants.
    pub(crate) fn is_rs(&self) -> bool {
        matches!(self, Self::Rs | Self::RsVariant(_))
    }

    /// Returns `true` for the namespace of the Sitemap protocol and its variants.
    pub(super) fn is_sitemap(&self) -> bool {
        matches!(self, Self::Sitemap | Self::SitemapVariant(_))
    }

    /// Returns the URI.
    pub(crate) fn uri(&self) -> &str {
        match self {
            Self::None => "",
            Self::Sitemap => SITEMAP,
            Self::Rs => RS,
            Self::SitemapVariant(uri) | Self::RsVariant(uri) | Self::Foreign(uri) => uri,
        }
    }
}

/// Returns `true` for the namespace of the D-Lib paper and the draft of January 2013 (DIA-2).
pub(crate) fn is_draft(uri: &str) -> bool {
    uri.trim().trim_end_matches('/').ends_with("openarchives.org/rs")
}

/// Returns the prefix and the local name; `None` if there is no prefix.
pub(super) fn split_prefix(name: &str) -> Option<(&str, &str)> {
    let colon = name.bytes().position(|byte| byte == b':')?;
    Some((&name[..colon], &name[colon + 1..]))
}

/// The namespace declarations in force, innermost last.
#[derive(Debug, Default)]
pub(crate) struct NamespaceScope {
    declared: Vec<(usize, Box<str>, Namespace)>,
}

impl NamespaceScope {
    /// Adds the declarations of an element at a depth. Returns `true` if there were any.
    pub(super) fn enter(&mut self, tag: &Tag<'_>, depth: usize) -> bool {
        let before = self.declared.len();
        tag.declarations(|rest, uri| {
            let prefix = match rest {
                "" => "",
                _ if rest.starts_with(':') => &rest[1..],
                _ => return,
            };
            self.declared.push((depth, prefix.into(), Namespace::of(uri)));
        });
        self.declared.len() > before
    }

    /// Removes the declarations of elements at this depth and deeper. Returns `true` if there were any.
    pub(crate) fn leave(&mut self, depth: usize) -> bool {
        let before = self.declared.len();
        while self.declared.last().is_some_and(|(at, ..)| *at >= depth) {
            self.declared.pop();
        }
        self.declared.len() < before
    }

    /// Returns the namespace of a prefix; `None` if it is not declared.
    pub(crate) fn resolve(&self, prefix: &str) -> Option<&Namespace> {
        self.declared
            .iter()
            .rev()
            .find(|(_, declared, _)| **declared == *prefix)
            .map(|(.., namespace)| namespace)
    }

    /// Returns `true` if the name has no prefix, or a declared one.
    pub(crate) fn declares(&self, name: &str) -> bool {
        split_prefix(name).is_none_or(|(prefix, _)| prefix == "xml" || self.resolve(prefix).is_some())
    }

    /// Returns the namespace and local name of an element; an undeclared prefix means a foreign namespace.
    pub(crate) fn element<'n>(&self, name: &'n str) -> (Cow<'_, Namespace>, &'n str) {
        let undeclared = |uri: &str| Cow::Owned(Namespace::Foreign(uri.into()));
        match split_prefix(name) {
            None => (self.resolve("").map_or(Cow::Owned(Namespace::None), Cow::Borrowed), name),
            Some(("xml", local)) => (undeclared(XML), local),
            Some((prefix, local)) => {
                (self.resolve(prefix).map_or_else(|| undeclared(prefix), Cow::Borrowed), local)
            }
        }
    }
}

/// The names of the open elements.
#[derive(Debug, Default)]
pub(super) struct OpenElements {
    names: String,
    starts: Vec<usize>,
}

impl OpenElements {
    pub(super) fn push(&mut self, name: &str) {
        self.starts.push(self.names.len());
        self.names.push_str(name);
    }

    /// Closes the innermost element.
    pub(super) fn pop(&mut self, name: &str) -> Result<(), IllFormedError> {
        let Some(start) = self.starts.pop() else {
            return Err(IllFormedError::UnmatchedEndTag(name.to_owned()));
        };
        if self.names[start..] != *name {
            let expected = self.names[start..].to_owned();
            return Err(IllFormedError::MismatchedEndTag { expected, found: name.to_owned() });
        }
        self.names.truncate(start);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{DocumentReader, ReadOptions, SyntaxErrorKind};

    /// Reads a Sitemap in a namespace: the locations of its entries, and the rules that it breaks.
    fn read(namespace: &str) -> Result<(Vec<String>, Vec<&'static str>), crate::ReadError> {
        let text = format!(
            "<s:urlset xmlns:s='{namespace}'><s:url><s:loc>http://e.org/a</s:loc><s:lastmod>2026-01-01T00:00:00Z\
             </s:lastmod></s:url><s:url><s:loc>http://e.org/b</s:loc></s:url></s:urlset>"
        );
        let mut reader = DocumentReader::new(text.as_bytes(), ReadOptions::new())?;
        let locations = reader.entries().map(|entry| Ok(entry?.loc.to_string()));
        let locations = locations.collect::<Result<Vec<_>, crate::ReadError>>()?;
        Ok((locations, reader.take_findings().iter().map(|finding| finding.rule).collect()))
    }

    #[test]
    fn o824_a_namespace_with_blanks_around_it_is_another_one() {
        for variant in
            [" http://www.sitemaps.org/schemas/sitemap/0.9", "http://www.sitemaps.org/schemas/sitemap/0.9\n"]
        {
            let (locations, rules) = read(variant).unwrap();
            assert_eq!(locations, ["http://e.org/a", "http://e.org/b"], "{variant}");
            assert_eq!(rules.iter().filter(|rule| **rule == "GEN-1").count(), 1, "{variant}: {rules:?}");
        }
    }

    #[test]
    fn o89_a_sitemap_in_a_variant_of_its_namespace_is_read_with_one_finding() {
        for variant in [
            "https://www.sitemaps.org/schemas/sitemap/0.9",
            "http://www.sitemaps.org/schemas/sitemap/0.9/",
            "http://www.google.com/schemas/sitemap/0.84",
        ] {
            let (locations, rules) = read(variant).unwrap();
            assert_eq!(locations, ["http://e.org/a", "http://e.org/b"], "{variant}");
            assert_eq!(rules.iter().filter(|rule| **rule == "GEN-1").count(), 1, "{variant}: {rules:?}");
        }
        for other in ["http://www.sitemaps.org/schemas/sitemap/1.0", "urn:other"] {
            let Err(crate::ReadError::Syntax(error)) = read(other) else { panic!("{other} is read") };
            assert!(matches!(error.kind, SyntaxErrorKind::Root { .. }), "{error}");
        }
    }
}

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
const XML: &str = "http://www.w3.org/XML/1998/namespace";

/// A namespace, by its role here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Namespace {
    /// No namespace is declared.
    None,
    /// That of the Sitemap protocol.
    Sitemap,
    /// That of ResourceSync.
    Rs,
    /// A variant of ResourceSync's: that of the drafts, or without the final slash, or with `https` (DIA-2).
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
            _ => {
                let plain = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"));
                match plain.map(|rest| rest.trim_end_matches('/')) {
                    Some(
                        "www.openarchives.org/rs/terms"
                        | "www.openarchives.org/rs"
                        | "openarchives.org/rs/terms",
                    ) => Self::RsVariant(uri.into()),
                    _ => Self::Foreign(uri.into()),
                }
            }
        }
    }

    /// Returns `true` for ResourceSync's namespace and its variants.
    pub(crate) fn is_rs(&self) -> bool {
        matches!(self, Self::Rs | Self::RsVariant(_))
    }

    /// Returns the URI.
    pub(crate) fn uri(&self) -> &str {
        match self {
            Self::None => "",
            Self::Sitemap => SITEMAP,
            Self::Rs => RS,
            Self::RsVariant(uri) | Self::Foreign(uri) => uri,
        }
    }
}

/// Returns `true` for the namespace of the D-Lib paper and the draft of January 2013 (DIA-2).
pub(crate) fn is_draft(uri: &str) -> bool {
    uri.trim_end_matches('/').ends_with("openarchives.org/rs")
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
            self.declared.push((depth, prefix.into(), Namespace::of(uri.trim())));
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

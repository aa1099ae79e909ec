//! Namespaces, resolved by URI, never by prefix (GEN-2).

use std::borrow::Cow;

use quick_xml::errors::IllFormedError;

use super::tag::Tag;

/// The Sitemap protocol's namespace.
pub(crate) const SITEMAP: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";
/// ResourceSync's namespace.
pub(crate) const RS: &str = "http://www.openarchives.org/rs/terms/";
/// What the `xml` prefix means.
const XML: &str = "http://www.w3.org/XML/1998/namespace";

/// What a namespace is to us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Namespace {
    /// None declared.
    None,
    /// The Sitemap protocol's.
    Sitemap,
    /// ResourceSync's.
    Rs,
    /// ResourceSync's, written otherwise: the drafts' URI, no final slash, `https` (PEERS 1.11, DIA-2).
    RsVariant(Box<str>),
    /// Any other.
    Foreign(Box<str>),
}

impl Namespace {
    fn of(uri: &str) -> Self {
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

    /// Whether it is ResourceSync's, however written.
    pub(crate) fn is_rs(&self) -> bool {
        matches!(self, Self::Rs | Self::RsVariant(_))
    }

    /// Its URI.
    pub(crate) fn uri(&self) -> &str {
        match self {
            Self::None => "",
            Self::Sitemap => SITEMAP,
            Self::Rs => RS,
            Self::RsVariant(uri) | Self::Foreign(uri) => uri,
        }
    }
}

/// Whether this is the namespace of the D-Lib paper and the draft of January 2013 (DIA-2).
pub(crate) fn is_draft(uri: &str) -> bool {
    uri.trim_end_matches('/').ends_with("openarchives.org/rs")
}

/// The prefix and the local name; none where there is no prefix.
pub(super) fn split_prefix(name: &str) -> Option<(&str, &str)> {
    let colon = name.bytes().position(|byte| byte == b':')?;
    Some((&name[..colon], &name[colon + 1..]))
}

/// The declarations in force, innermost last.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    declared: Vec<(usize, Box<str>, Namespace)>,
}

impl Scope {
    /// Takes the declarations of an element at a depth. Returns whether there were any.
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

    /// Forgets the declarations of elements at this depth and deeper. Returns whether there were any.
    pub(crate) fn leave(&mut self, depth: usize) -> bool {
        let before = self.declared.len();
        while self.declared.last().is_some_and(|(at, ..)| *at >= depth) {
            self.declared.pop();
        }
        self.declared.len() < before
    }

    /// What a prefix means; none where it is not declared.
    pub(crate) fn resolve(&self, prefix: &str) -> Option<&Namespace> {
        self.declared
            .iter()
            .rev()
            .find(|(_, declared, _)| **declared == *prefix)
            .map(|(.., namespace)| namespace)
    }

    /// Whether the prefix of a name is declared, where it has one.
    pub(crate) fn declares(&self, name: &str) -> bool {
        split_prefix(name).is_none_or(|(prefix, _)| prefix == "xml" || self.resolve(prefix).is_some())
    }

    /// The namespace and local name of an element; an undeclared prefix means a foreign namespace.
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

/// The names of the elements that were opened and not closed.
#[derive(Debug, Default)]
pub(super) struct Open {
    names: String,
    starts: Vec<usize>,
}

impl Open {
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

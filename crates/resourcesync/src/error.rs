//! Errors of reading and writing.

use std::{fmt, io};

use crate::Position;

/// The reason why a document cannot be read to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The source of the bytes failed.
    #[error("Cannot read the document")]
    Io(#[from] io::Error),
    /// The bytes are not a document.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The document is of another kind than the requested one (GEN-11).
    #[error("Expected a {expected}, found {found}")]
    Kind {
        /// The requested kind.
        expected: &'static str,
        /// The document's own root element and capability.
        found: String,
    },
}

/// The reason why bytes are not a ResourceSync document, and the place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} ({position})")]
#[non_exhaustive]
pub struct SyntaxError {
    /// The reason.
    pub kind: SyntaxErrorKind,
    /// The place.
    pub position: Position,
}

/// The reason why bytes cannot be read as a document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyntaxErrorKind {
    /// Not well-formed XML (GEN-24).
    NotWellFormed(String),
    /// The document ends before its root does (GEN-24).
    Truncated,
    /// A DOCTYPE, or an entity it would have declared (GEN-26).
    Doctype(String),
    /// The document exceeds a limit of [`crate::Limits`] (GEN-26).
    Limit {
        /// The limit.
        limit: LimitKind,
        /// Its value.
        most: u64,
    },
    /// The root is neither `urlset` nor `sitemapindex` of the Sitemap namespace (GEN-1).
    Root {
        /// The root's name and namespace.
        found: String,
        /// A hint at the cause, if it is known; else empty.
        hint: &'static str,
    },
    /// A serialization that was considered and rejected: Atom, `resync` (DIA-10).
    RejectedSerialization(&'static str),
}

impl SyntaxErrorKind {
    /// Returns the rule that the document breaks.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::NotWellFormed(_) | Self::Truncated => "GEN-24",
            Self::Doctype(_) | Self::Limit { .. } => "GEN-26",
            Self::Root { .. } => "GEN-1",
            Self::RejectedSerialization(_) => "DIA-10",
        }
    }
}

impl fmt::Display for SyntaxErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotWellFormed(what) => write!(f, "Not well-formed XML: {what}"),
            Self::Truncated => f.write_str("The document ends before its root element does"),
            Self::Doctype(what) => write!(f, "Refused: {what}"),
            Self::Limit { limit, most } => write!(f, "Refused: more than {most} {limit}"),
            Self::Root { found, hint } => write!(f, "Not a Sitemap: the root is {found}{hint}"),
            Self::RejectedSerialization(name) => {
                write!(f, "{name} was considered for ResourceSync and rejected; a Sitemap is expected")
            }
        }
    }
}

/// A limit of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitKind {
    /// Elements within elements.
    Depth,
    /// Attributes of one element.
    Attributes,
    /// Bytes of one tag, text or comment.
    TokenBytes,
    /// Entries of one document.
    Entries,
    /// Bytes of one document, decoded.
    Bytes,
}

impl fmt::Display for LimitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Depth => "levels of elements",
            Self::Attributes => "attributes on one element",
            Self::TokenBytes => "bytes in one tag or text",
            Self::Entries => "entries in one document",
            Self::Bytes => "bytes in one document",
        })
    }
}

/// The reason why a document cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The sink failed.
    #[error("Cannot write the document")]
    Io(#[from] io::Error),
    /// The document would break a *must*, or would not be XML (GEN-24).
    #[error("{rule}: {what}")]
    Rule {
        /// The rule's id.
        rule: &'static str,
        /// The part of the document that breaks it.
        what: String,
    },
}

impl WriteError {
    /// Returns the rule that the document would break; `None` if the sink failed.
    pub fn rule(&self) -> Option<&'static str> {
        match self {
            Self::Rule { rule, .. } => Some(rule),
            Self::Io(_) => None,
        }
    }
}

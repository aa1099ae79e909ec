use std::{fmt, io};

use crate::Position;

/// Why a document cannot be read on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The bytes did not arrive.
    #[error("Cannot read the document")]
    Io(#[from] io::Error),
    /// The bytes are not a document.
    #[error("{0}")]
    Syntax(#[from] SyntaxError),
    /// The document is of another kind than the one asked for (GEN-11).
    #[error("Expected a {expected}, found {found}")]
    Kind {
        /// The kind asked for.
        expected: &'static str,
        /// What the document says it is.
        found: String,
    },
}

/// Bytes that are not a ResourceSync document, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} ({position})")]
#[non_exhaustive]
pub struct SyntaxError {
    /// What is wrong.
    pub kind: SyntaxErrorKind,
    /// Where.
    pub position: Position,
}

/// What makes bytes unreadable as a document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyntaxErrorKind {
    /// Not well-formed XML (GEN-24).
    NotWellFormed(String),
    /// The document ends before its root does (GEN-24).
    Truncated,
    /// A DOCTYPE, or an entity it would have declared (GEN-26).
    Doctype(String),
    /// A limit of [`crate::Limits`] is passed (GEN-26).
    Limit {
        /// Which one.
        limit: LimitKind,
        /// Its value.
        most: u64,
    },
    /// The root is neither `urlset` nor `sitemapindex` of the Sitemap namespace (GEN-1).
    Root {
        /// The root's name and namespace.
        found: String,
        /// What to do about it, where that is known.
        hint: &'static str,
    },
    /// A serialization that was considered and rejected: Atom, `resync` (DIA-10).
    RejectedSerialization(&'static str),
}

impl SyntaxErrorKind {
    /// The rule that a document of this kind breaks.
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
            Self::Limit { limit, most } => write!(f, "More than {most} {limit}"),
            Self::Root { found, hint } => write!(f, "Not a Sitemap: the root is {found}{hint}"),
            Self::RejectedSerialization(name) => {
                write!(f, "{name} was considered for ResourceSync and rejected; a Sitemap is expected")
            }
        }
    }
}

/// A limit on what is read.
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

/// Why a document cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The bytes cannot be stored.
    #[error("Cannot write the document")]
    Io(#[from] io::Error),
    /// The document would break a *must*.
    #[error("{rule}: {what}")]
    Rule {
        /// The rule's id.
        rule: &'static str,
        /// What breaks it.
        what: String,
    },
}

impl WriteError {
    /// The rule that the document would break.
    pub fn rule(&self) -> Option<&'static str> {
        match self {
            Self::Rule { rule, .. } => Some(rule),
            Self::Io(_) => None,
        }
    }
}

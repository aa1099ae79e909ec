//! The documents of ResourceSync, packages and patches: read, written and validated.
//!
#![doc = include_str!("../README.md")]

mod dialect;
pub mod discovery;
pub mod document;
mod error;
pub mod finding;
pub mod package;
pub mod patch;
mod tables;
pub mod validate;
pub mod value;
pub mod xml;

pub use dialect::Dialect;
pub use document::{Document, Entry, Form, Header, Link, Metadata};
pub use error::{LimitKind, ReadError, SyntaxError, SyntaxErrorKind, WriteError};
pub use finding::{Finding, Position, Severity};
pub use value::{
    Algorithm, Capability, Change, ChangeFreq, DateTime, Digest, Digests, Hasher, MediaType, PackagePath,
    Relation, Uri, UriError, ValueError,
};
pub use xml::{Decoded, DocumentReader, DocumentWriter, Limits, ReadOptions, SpecVersion, WriteOptions};

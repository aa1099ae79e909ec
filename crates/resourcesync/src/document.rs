//! Typed documents: a header, and entries.

mod entry;
mod header;
mod link;
mod metadata;

pub use entry::Entry;
pub use header::{Form, Header};
pub use link::Link;
pub use metadata::{Attribute, Metadata};

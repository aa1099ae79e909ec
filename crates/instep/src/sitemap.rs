//! Sitemaps of other programs, and the additions that make them Resource Lists: elements in the root, with everything
//! else kept byte for byte.

mod amended;
mod files;

pub(crate) use files::{EntryFaults, RepeatedEntry, SitemapFiles};

//! Sitemaps that something else writes, and what makes Resource Lists of them: additions to the root, byte for byte beside
//! everything that was there.

mod amended;
mod files;

pub(crate) use files::{NamelessEntries, SitemapFiles};

//! Turns Sitemaps that other programs write into Resource Lists: adds elements to the root and keeps everything else
//! byte for byte.

mod amended;
mod files;
mod rewriting;

pub(crate) use files::{EntryFaults, RepeatedEntry, SitemapFiles};

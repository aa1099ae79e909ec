//! The XML Schemas of the documents, written from the prose of 1.1. They are an aid, not the definition (GEN-25).

/// The schema of `rs:md` and `rs:ln`: `resourcesync.xsd`.
pub const RESOURCESYNC_XSD: &str = include_str!("../../schema/resourcesync.xsd");
/// The schema of complete documents: `sitemap.xsd`. It imports `resourcesync.xsd` from the same folder.
pub const SITEMAP_XSD: &str = include_str!("../../schema/sitemap.xsd");

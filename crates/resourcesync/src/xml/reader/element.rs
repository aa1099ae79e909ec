//! The roles of elements, by their names.

use crate::{
    document::Form,
    xml::names::{Namespace, SITEMAP_IMAGE, SITEMAP_VIDEO},
};

/// The role of an element in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Root(Form),
    Entry(Form),
    Loc,
    LastMod,
    ChangeFreq,
    Priority,
    Md,
    Ln,
    OtherSitemap,
    /// An element with the name of an entry that is not in the namespace of Sitemaps, and in none of its own.
    StrayEntry,
    /// An image or a video that a page of a site shows.
    Media,
    /// The place of its bytes.
    MediaLoc,
    Foreign,
}

impl Element {
    /// Returns `true` for an element of the Sitemap schema, none of which has attributes.
    pub(super) fn is_of_sitemap(self) -> bool {
        matches!(
            self,
            Self::Root(_) | Self::Entry(_) | Self::Loc | Self::LastMod | Self::ChangeFreq | Self::Priority
        )
    }
}

/// Returns the role of an element by its namespace, its local name and its depth.
pub(super) fn kind_of(namespace: &Namespace, local: &str, depth: usize) -> Element {
    match (namespace, local) {
        (namespace, "urlset") if namespace.is_sitemap() => Element::Root(Form::List),
        (namespace, "sitemapindex") if namespace.is_sitemap() => Element::Root(Form::Index),
        _ if depth == 0 => Element::Foreign,
        (namespace, local) if namespace.is_sitemap() => match local {
            "url" => Element::Entry(Form::List),
            "sitemap" => Element::Entry(Form::Index),
            "loc" => Element::Loc,
            "lastmod" => Element::LastMod,
            "changefreq" => Element::ChangeFreq,
            "priority" => Element::Priority,
            _ => Element::OtherSitemap,
        },
        (Namespace::None | Namespace::Rs, "url" | "sitemap") if depth == 1 => Element::StrayEntry,
        (namespace, "md") if namespace.is_rs() => Element::Md,
        (namespace, "ln") if namespace.is_rs() => Element::Ln,
        (Namespace::Foreign(uri), local) => media(uri, local),
        _ => Element::Foreign,
    }
}

/// Returns the role of an element of the Sitemap extensions for images and videos. A player is a page, no video.
fn media(namespace: &str, local: &str) -> Element {
    match (namespace, local) {
        (SITEMAP_IMAGE, "image") | (SITEMAP_VIDEO, "video") => Element::Media,
        (SITEMAP_IMAGE, "loc") | (SITEMAP_VIDEO, "content_loc" | "thumbnail_loc") => Element::MediaLoc,
        _ => Element::Foreign,
    }
}

/// Describes an element with a name of ResourceSync's and without its namespace (GEN-2). The usual prefix shows that it
/// is meant, whatever namespace it has (C40).
pub(super) fn stray_namespace(
    kind: Element,
    namespace: &Namespace,
    (name, local): (&str, &str),
) -> Option<String> {
    let is_meant = || *namespace == Namespace::None || name.starts_with("rs:");
    let without = kind == Element::OtherSitemap || kind == Element::Foreign && is_meant();
    (without && matches!(local, "md" | "ln")).then(|| match namespace {
        Namespace::None => format!("{local} without a namespace"),
        namespace => format!("{local} in the namespace {}", namespace.uri()),
    })
}

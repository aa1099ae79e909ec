//! The preview of a resource. No script of a resource is run with the rights of this host: a picture is shown as a
//! picture, a PDF by the browser's reader, and everything else only as text, also HTML.

use std::io::Read;

use instep_source::catalogue::Resource;
use maud::{Markup, html};

use super::site::PageContext;
use crate::ui::format::bytes;

/// The most bytes of a text that are shown.
const MOST_TEXT: u64 = 64 << 10;
/// The most bytes of a picture or PDF that is shown.
const MOST_SHOWN: u64 = 64 << 20;

/// Returns the preview of a resource, or the reason why there is none.
pub(super) fn of(site: &PageContext<'_>, resource: &Resource) -> Markup {
    let state = &resource.state;
    let media_type = state.media_type.as_ref().map(|media_type| media_type.essence().to_ascii_lowercase());
    let media_type = media_type.unwrap_or_default();
    // A resource on another host is not shown: its bytes may differ from those that are published.
    let Some(path) = resource.uri.as_str().strip_prefix(site.base()) else {
        return html! { p.soft { "It is on another host." } };
    };
    let address = site.path(path);
    let is_small = state.length.is_some_and(|length| length <= MOST_SHOWN);
    match media_type.as_str() {
        "image/png" | "image/jpeg" | "image/gif" | "image/webp" | "image/avif" | "image/svg+xml"
        | "image/bmp"
            if is_small =>
        {
            // Browsers do not run scripts of a picture in `img`, not even those of an SVG.
            html! { p.preview { img src=(address) alt=(format!("Preview of {}", site.short(resource.uri.as_str()))) loading="lazy"; } }
        }
        "application/pdf" if is_small => html! {
            iframe.preview src=(address) title="Preview of the document" loading="lazy" {}
            p { a href=(address) { "Open the PDF" } }
        },
        _ if is_text(&media_type) && state.encoding.is_none() => text(site, resource),
        _ => {
            html! { p.soft { "There is no preview of this kind of file. " a href=(address) { "Open or download it" } "." } }
        }
    }
}

/// Returns `true` for media types that people can read as text. HTML is one of them, and is shown as its source.
pub(super) fn is_text(media_type: &str) -> bool {
    const TEXTS: [&str; 9] = [
        "application/json",
        "application/ld+json",
        "application/xml",
        "application/javascript",
        "application/sql",
        "application/toml",
        "application/yaml",
        "application/x-sh",
        "application/n-triples",
    ];
    media_type.starts_with("text/")
        || TEXTS.contains(&media_type)
        || media_type.ends_with("+xml")
        || media_type.ends_with("+json")
}

fn text(site: &PageContext<'_>, resource: &Resource) -> Markup {
    let mut beginning = Vec::new();
    let read = site.view.open(resource).and_then(|file| file.take(MOST_TEXT + 1).read_to_end(&mut beginning));
    if read.is_err() {
        return html! { p.soft { "It cannot be read now." } };
    }
    let is_cut = beginning.len() as u64 > MOST_TEXT;
    beginning.truncate(MOST_TEXT as usize);
    if beginning.contains(&0) {
        return html! { p.soft { "It is not a text, although it is published as one." } };
    }
    html! {
        pre.text tabindex="0" role="region" aria-label="Preview" { code { (String::from_utf8_lossy(&beginning)) } }
        @if is_cut { p.soft { "The first " (bytes(MOST_TEXT)) "." } }
    }
}

//! The page of a resource: its published metadata, a preview, its history, and how to verify it.

use instep_source::catalogue::Resource;
use maud::{Markup, html};
use resourcesync::{Algorithm, value::DigestValue};

use super::{
    history, preview,
    site::{BROWSE, Found, PageContext, unescaped},
};
use crate::{
    pages::design::{PageBody, copyable, figures, moment, outside_link},
    ui::format::{bytes, count, counted},
};

/// Makes the page of the resource that the query names; `None` if there is none.
pub(super) fn resource(site: &PageContext<'_>) -> Found {
    let uri = site.parameter("uri");
    let snapshot = site.view.snapshot()?;
    let Some(resource) = site.view.resource(&snapshot, &uri)? else { return Ok(None) };
    let history = history::of(site, &snapshot, &resource)?;
    let (folder, name) = split(site.short(&uri));
    let content = html! {
        nav.breadcrumb aria-label="Folder" {
            ol { li { a href=(site.page("browse", &[("path", folder)])) { @if folder.is_empty() { (site.name()) } @else { (unescaped(folder)) } } } }
        }
        (figures(&[
            ("Size", "size", html! { @if let Some(length) = resource.state.length { (bytes(length)) } @else { "unknown" } }, html! {}),
            ("Changes", "changes", html! { (count(resource.history.changes)) }, html! {}),
            ("Last modified", "modified", html! { @if let Some(lastmod) = resource.state.lastmod { (moment(lastmod)) } @else { "unknown" } }, html! {}),
        ]))
        section { h2 { "Preview" } (preview::of(site, &resource)) }
        section { h2 { "What is published of it" } (facts(site, &resource)) }
        @if let Some(check) = check(&resource) {
            section {
                h2 { "Verify it" }
                p.soft { "Fetch it and compare its digest; this prints “identical” if every byte is as published." }
                (copyable(&check))
            }
        }
        section { h2 { "History" } (history) }
    };
    Ok(Some(PageBody::new(unescaped(name), BROWSE, content)))
}

/// Splits a path at its last slash.
fn split(path: &str) -> (&str, &str) {
    let end = path.rfind('/').map_or(0, |slash| slash + 1);
    path.split_at(end)
}

fn facts(site: &PageContext<'_>, resource: &Resource) -> Markup {
    let state = &resource.state;
    let sets = site.view.sets().iter().enumerate().filter(|(number, _)| resource.sets >> number & 1 == 1);
    html! {
        table.facts {
            tr { th scope="row" { "URI" } td { a href=(site.path(site.short(resource.uri.as_str()))) { (resource.uri) } } }
            @if let Some(length) = state.length { tr { th scope="row" { "Length" } td { (counted(length, "byte")) } } }
            @if let Some(media_type) = &state.media_type { tr { th scope="row" { "Media type" } td { (media_type) } } }
            @if let Some(coding) = &state.encoding { tr { th scope="row" { "Encoding" } td { (coding) } } }
            @if let Some(since) = resource.history.since { tr { th scope="row" { "Known since" } td { (moment(since)) } } }
            @for digest in state.digests.iter() { tr { th scope="row" { "Digest" } td { code { (digest) } } } }
            @for link in &state.links { tr { th scope="row" { (link.rel) } td { (outside_link(link.href.as_str())) } } }
            @for (_, name) in sets {
                tr { th scope="row" { "Set" } td { a href=(site.page("set", &[("name", name)])) { (site.set_name(name)) } } }
            }
        }
    }
}

/// Returns a command that fetches a resource and compares its digest; `None` if there is no common program for its
/// digests.
fn check(resource: &Resource) -> Option<String> {
    let digest = resource.state.digests.strongest()?;
    let program = match &digest.algorithm {
        Algorithm::Sha512 => "sha512sum",
        Algorithm::Sha384 => "sha384sum",
        Algorithm::Sha256 => "sha256sum",
        Algorithm::Sha1 => "sha1sum",
        Algorithm::Md5 => "md5sum",
        _ => return None,
    };
    let DigestValue::Bytes(expected) = digest.value else { return None };
    // curl decodes nothing here, so a resource with a content coding is compared in its coded form, as it is published.
    let quoted = resource.uri.as_str().replace('\'', "'\\''");
    Some(format!("test \"$(curl -fsS '{quoted}' | {program})\" = '{expected}  -' && echo identical"))
}

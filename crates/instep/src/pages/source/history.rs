//! The history of a resource: its changes, and its versions with the differences between them if they are kept.

use std::io::Read;

use anyhow::Result;
use instep_source::{
    catalogue::{Resource, Snapshot},
    serve::KeptVersion,
};
use maud::{Markup, html};

use super::{difference::difference, preview::is_text, site::PageContext};
use crate::{
    pages::design::{change_kind, moment},
    ui::format::{bytes, count},
};

/// The most changes that are shown.
const MOST_CHANGES: usize = 20;
/// The number of newest changes of the Source that are searched for those of the resource.
const MOST_READ: u64 = 100_000;
/// The most versions whose differences are shown.
const MOST_DIFFERENCES: usize = 10;
/// The most bytes of a version that is compared with another.
const MOST_BYTES: u64 = 256 << 10;

/// Returns the history of a resource.
pub(super) fn of(site: &PageContext<'_>, snapshot: &Snapshot, resource: &Resource) -> Result<Markup> {
    let versions = site.view.versions(snapshot, &resource.uri)?;
    if !versions.is_empty() {
        return Ok(of_versions(site, resource, &versions));
    }
    let after = snapshot.head().sequence.saturating_sub(MOST_READ);
    let changes = snapshot.changes_of(&resource.uri, after, MOST_CHANGES)?;
    Ok(html! {
        @if changes.is_empty() {
            p.soft {
                @if resource.history.changes == 0 { "It has not changed since it was published first." }
                @else { "Its changes are older than the last " (count(MOST_READ)) " changes of this Source." }
            }
        } @else {
            table.listing {
                thead { tr { th scope="col" { "Time" } th scope="col" { "Change" } th.figure scope="col" { "Size" } } }
                tbody {
                    @for change in &changes {
                        tr {
                            td { (moment(change.datetime)) }
                            td { (change_kind(&change.change)) }
                            td.figure { @if let Some(length) = change.state.length { (bytes(length)) } }
                        }
                    }
                }
            }
            p.soft { "Past versions are not kept; a Source started with " code { "--versions" } " keeps them." }
        }
    })
}

fn of_versions(site: &PageContext<'_>, resource: &Resource, versions: &[KeptVersion]) -> Markup {
    let media_type = resource.state.media_type.as_ref().map(|it| it.essence().to_ascii_lowercase());
    let is_text =
        media_type.is_some_and(|media_type| is_text(&media_type)) && resource.state.encoding.is_none();
    let newest_first = (0..versions.len()).rev();
    html! {
        ul.versions {
            @for (place, number) in newest_first.enumerate() {
                @let version = &versions[number];
                li {
                    p {
                        (moment(version.datetime)) " "
                        @if let Some(length) = version.state.length { (bytes(length)) }
                        @if place == 0 { " " strong { "present" } }
                        @if let Some(memento) = &version.memento {
                            " " a href=(site.path(site.short(memento.as_str()))) { "Open this version" }
                        }
                    }
                    @if is_text && place < MOST_DIFFERENCES && number > 0 {
                        (between(site, &versions[number - 1], version))
                    }
                }
            }
        }
    }
}

/// Draws the difference between two versions, folded. Draws nothing if one of them is too long or cannot be read.
fn between(site: &PageContext<'_>, before: &KeptVersion, after: &KeptVersion) -> Markup {
    let (Some(before), Some(after)) = (text(site, before), text(site, after)) else { return html! {} };
    html! { details { summary { "Difference to the version before" } (difference(&before, &after)) } }
}

fn text(site: &PageContext<'_>, version: &KeptVersion) -> Option<String> {
    if version.state.length.is_none_or(|length| length > MOST_BYTES) {
        return None;
    }
    let mut bytes = Vec::new();
    site.view.open_version(version).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    String::from_utf8(bytes).ok()
}

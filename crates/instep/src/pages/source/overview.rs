//! The first page of a Source: its size, its changes, its documents, and how to copy it.

use anyhow::Result;
use instep_source::Overview;
use maud::{Markup, html};
use resourcesync::Change;

use super::{
    capabilities::{self, DocumentSizes},
    site::{FOLDER, OVERVIEW, PageContext, unescaped},
    summary::{OTHERS, ResourceGroup, Summaries, TOP},
};
use crate::{
    pages::{
        chart::{self, ChartRange},
        design::{PageBody, ago, bars, change_kind, copyable, figures, moment, warning},
    },
    ui::format::{bytes, count, shell_argument},
};

/// Makes the page.
pub(super) fn overview(
    site: &PageContext<'_>,
    summaries: &Summaries,
    sizes: &DocumentSizes,
) -> Result<PageBody> {
    let overview = site.view.overview();
    let snapshot = site.view.snapshot()?;
    let summary = summaries.of(site.view)?;
    let range = ChartRange::parse(&site.parameter("range"));
    let (hours, number) = range.bars();
    let counts = snapshot.activity(hours, number)?;
    let day: u64 = snapshot.activity(1, 24)?.iter().map(instep_source::catalogue::ChangeCounts::total).sum();
    let sync = format!("instep sync {}", shell_argument(site.base()));
    let content = html! {
        p.lead {
            "A Source of web resources, published with "
            a href=(site.document_path(".well-known/resourcesync")) { "ResourceSync" }
            ": copy it once, then copy only what changes."
        }
        @if let Some(failure) = &overview.failure {
            (warning(&format!("The last publication failed: {failure}"), "Readers keep what was published before."))
        }
        (headline(&overview, day, snapshot.at()))
        section {
            h2 { "Keep a copy" }
            (copyable(&sync))
            p.soft { "To stay in step while it changes: " code { (sync) " --follow" } }
        }
        section {
            div.heading {
                h2 #activity { "Changes" }
                (range.links(|choice| site.path(&format!("{FOLDER}?range={}#activity", choice.name()))))
            }
            (chart::activity(range, snapshot.at(), &counts))
        }
        section {
            h2 { "What is here" }
            @if overview.resources() == 0 { p { "There are no resources." } } @else {
                div.columns {
                    (bars("By folder", &by_folder(site, &summary.folders)))
                    (bars("By media type", &by_type(&summary.types)))
                }
            }
        }
        section {
            h2 { "What it offers" }
            (capabilities::graph(site, sizes)?)
        }
        section {
            h2 { "Last changes" }
            (changes(site, &overview))
        }
    };
    Ok(PageBody::new(site.name(), OVERVIEW, content))
}

fn headline(overview: &Overview, changes: u64, now: resourcesync::DateTime) -> Markup {
    let published = overview.published;
    figures(&[
        ("Resources", "resources", html! { (count(overview.resources())) }, html! {}),
        ("Size", "size", html! { (bytes(overview.bytes())) }, html! {}),
        ("Changes in 24 hours", "changes", html! { (count(changes)) }, html! {}),
        (
            "Last published",
            "published",
            html! { @if let Some(published) = published { (ago(published, now)) } @else { "not yet" } },
            html! { @if let Some(published) = published { (moment(published)) } },
        ),
    ])
}

fn by_folder(site: &PageContext<'_>, folders: &[ResourceGroup]) -> Vec<(Markup, u64, String)> {
    let row = |group: &ResourceGroup| {
        let label = match group.name.as_str() {
            OTHERS | TOP => html! { (group.name) },
            uri => {
                html! { a href=(site.page("browse", &[("path", site.short(uri))])) { (unescaped(site.short(uri))) } }
            }
        };
        (label, group.resources, bytes(group.bytes))
    };
    folders.iter().map(row).collect()
}

fn by_type(types: &[ResourceGroup]) -> Vec<(Markup, u64, String)> {
    types.iter().map(|group| (html! { (group.name) }, group.resources, bytes(group.bytes))).collect()
}

/// Draws the last changes. The script adds new ones while the page is open.
fn changes(site: &PageContext<'_>, overview: &Overview) -> Markup {
    let resource = site.path("resourcesync/resource?uri=");
    html! {
        div.scroll tabindex="0" role="region" aria-label="Last changes" {
            table.changes #changes data-base=(site.base()) data-events=(site.path("resourcesync/events"))
                data-status=(site.path("status")) data-resource=(resource)
                data-empty=[overview.changes.is_empty().then_some("yes")] {
                thead { tr { th scope="col" { "Time" } th scope="col" { "Change" } th scope="col" { "Resource" } } }
                tbody {
                    @for change in &overview.changes {
                        tr {
                            td { (moment(change.datetime)) }
                            td { (change_kind(&change.change)) }
                            td { (site.resource_link(change.uri.as_str(), change.change == Change::Deleted)) }
                        }
                    }
                    @if overview.changes.is_empty() { tr { td colspan="3" { "None since the first publication." } } }
                }
            }
        }
    }
}

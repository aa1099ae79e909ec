//! The page at the base URL, made from the overview alone: nobody who looks costs a query.

use maud::{Markup, html};
use resourcesync::Uri;

use super::{change_kind, chart, copyable, figures, layout, moment, path, search_form, size, thousands};
use crate::{Overview, Place, SetOverview};

/// Renders the front page: the sets, their sizes, the last changes, and the commands that keep a copy.
pub(crate) fn front_page(overview: &Overview) -> String {
    let address = overview.base_url.split_once("://").map_or(overview.base_url.as_str(), |(_, rest)| rest);
    let published = overview.published.map(|moment| moment.to_string()).unwrap_or_default();
    let at = |name: &str| path(&overview.base_url, name);
    let sync = format!("instep sync {}", overview.base_url);
    layout(
        &overview.base_url,
        &capability_lists(overview),
        address.trim_end_matches('/'),
        &html! {
            p.soft {
                "A source of web resources, published with "
                a href=(at(".well-known/resourcesync")) { "ResourceSync" }
                ": copy it once, then only what changes."
            }
            @if let Some(failure) = &overview.failure {
                p.warning { strong { "The last publication failed: " } (failure) }
            }
            (figures(&[
                ("Resources", "resources", thousands(overview.resources())),
                ("Size", "size", size(overview.bytes())),
                ("Changes in 24 h", "changes", thousands(overview.hours.iter().rev().take(24).sum())),
                ("Published (UTC)", "published", published.get(11..19).unwrap_or("").to_owned()),
            ]))
            (search_form(&at("resourcesync/search"), ""))
            h2 { "Keep a copy" }
            (copyable(&sync))
            p.soft { "Stay in step: " code { (sync) " --follow" } }
            h2 { "What is here" }
            (sets(overview, &overview.sets))
            (chart::bars("Changes an hour, the last two days", &chart::hours(&overview.hours)))
            p { a href=(at("resourcesync/charts")) { "More charts" } }
            h2 { "Last changes" }
            (changes(overview))
        },
    )
}

/// Returns the Capability List of each set: a link `resourcesync` leads to these, not to the Source Description (DISC-2).
fn capability_lists(overview: &Overview) -> Vec<Uri> {
    let Ok(place) = Place::new(&overview.base_url) else { return Vec::new() };
    overview.sets.iter().map(|set| place.set(&set.name).capability_list()).collect()
}

fn sets(overview: &Overview, sets: &[SetOverview]) -> Markup {
    html! {
        table {
            thead { tr { th { "Set" } th.figure { "Resources" } th.figure { "Size" } } }
            tbody {
                @for set in sets {
                    @let page = format!("resourcesync/set?name={}", set.name);
                    tr {
                        td {
                            a href=(path(&overview.base_url, &page)) {
                                @if set.name.is_empty() { "All resources" } @else { (set.name) }
                            }
                        }
                        td.figure { (thousands(set.resources)) }
                        td.figure { (size(set.bytes)) }
                    }
                }
            }
        }
    }
}

fn changes(overview: &Overview) -> Markup {
    let base = &overview.base_url;
    let resource = path(base, "resourcesync/resource?uri=");
    html! {
        table.changes #changes data-base=(base) data-events=(path(base, "resourcesync/events"))
            data-status=(path(base, "status")) data-resource=(resource)
            data-empty=[overview.changes.is_empty().then_some("yes")] {
            tbody {
                @for change in &overview.changes {
                    @let uri = change.uri.as_str();
                    tr {
                        td { (moment(change.datetime)) }
                        td { (change_kind(&change.change)) }
                        td { (super::resource_link(base, uri, change.change == resourcesync::Change::Deleted)) }
                    }
                }
                @if overview.changes.is_empty() { tr { td { "None since the first publication." } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use resourcesync::{Change, DateTime, Uri};

    use super::*;
    use crate::RecentChange;

    #[test]
    fn names_from_the_content_are_text_and_nothing_else() {
        let mut overview = Overview { base_url: "http://example.com/".into(), ..Overview::default() };
        let uri = Uri::parse("http://example.com/a?'b'").unwrap();
        let change = RecentChange { uri, change: Change::Created, datetime: DateTime::from_unix_seconds(0) };
        overview.changes.push(change);
        overview.failure = Some("<script>alert(1)</script>".into());
        let page = front_page(&overview);
        assert!(!page.contains("<script>alert"));
        assert!(page.contains("instep sync http://example.com/"));
    }
}

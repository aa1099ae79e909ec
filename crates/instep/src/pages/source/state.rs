//! The page of the state of a Source. Programs that request the same address get JSON from the server itself.

use maud::html;

use super::site::{PageContext, STATUS};
use crate::{
    pages::design::{PageBody, copyable, figures, moment, warning},
    ui::format::{bytes, count, shell_word},
};

/// Makes the page.
pub(super) fn state(site: &PageContext<'_>) -> PageBody {
    let overview = site.view.overview();
    let content = html! {
        @match &overview.failure {
            Some(failure) => (warning(
                &format!("The last publication failed: {failure}"),
                "Readers keep what was published before; it is tried again. The log of the server has all messages.",
            )),
            None if overview.published.is_none() => (warning("Nothing is published yet", "The first publication is under way.")),
            None => { p.ok { strong { "Everything is well." } " The documents are complete and current." } }
        }
        @if overview.unwatched_folders > 0 {
            (warning(
                &format!("{} folders cannot be watched", count(overview.unwatched_folders as u64)),
                "Their changes are found by scans, within 30 seconds. Raise fs.inotify.max_user_watches to watch them.",
            ))
        }
        (figures(&[
            ("Resources", "resources", html! { (count(overview.resources())) }, html! {}),
            ("Size", "size", html! { (bytes(overview.bytes())) }, html! {}),
            ("Publications", "publications", html! { (count(overview.publications)) }, html! { "since the start" }),
            ("Last published", "published", html! { @if let Some(published) = overview.published { (moment(published)) } @else { "not yet" } }, html! {}),
        ]))
        section {
            h2 { "Sets" }
            table.listing {
                thead { tr { th scope="col" { "Set" } th.figure scope="col" { "Resources" } th.figure scope="col" { "Size" } } }
                tbody {
                    @for set in &overview.sets {
                        tr {
                            td { a href=(site.page("set", &[("name", &set.name)])) { (site.set_name(&set.name)) } }
                            td.figure { (count(set.resources)) }
                            td.figure { (bytes(set.bytes)) }
                        }
                    }
                }
            }
        }
        section {
            h2 { "For programs" }
            p.soft { "This page as JSON, readiness for a load balancer, and metrics for Prometheus:" }
            (copyable(&["status", "readyz", "metrics"].map(|name| command_to_fetch(&format!("{}{name}", site.base()))).join("\n")))
        }
    };
    PageBody::new("Status", STATUS, content)
}

/// Returns the command that fetches a URL.
fn command_to_fetch(url: &str) -> String {
    format!("curl -fsS {}", shell_word(url))
}

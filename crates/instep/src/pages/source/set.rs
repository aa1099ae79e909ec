//! The page of one set, and that of its batch endpoint.

use maud::html;

use super::{
    capabilities::{DocumentSizes, of_set},
    site::{Found, OVERVIEW, PageContext},
};
use crate::{
    pages::design::{PageBody, copyable, figures},
    ui::format::{bytes, count, shell_argument, shell_word},
};

/// Makes the page of the set that the query names; `None` if there is none.
pub(super) fn set(site: &PageContext<'_>, sizes: &DocumentSizes) -> Found {
    let name = site.parameter("name");
    let Some(number) = site.view.sets().iter().position(|set| *set == name) else { return Ok(None) };
    let totals = site.view.snapshot()?.totals(u8::try_from(number).unwrap_or(u8::MAX))?;
    let place = site.view.place().set(&name);
    let content = html! {
        (figures(&[
            ("Resources", "set-resources", html! { (count(totals.resources)) }, html! {}),
            ("Size", "set-size", html! { (bytes(totals.bytes)) }, html! {}),
        ]))
        section { h2 { "Keep a copy of this set" } (copyable(&format!("instep sync {}", shell_argument(place.capability_list().as_str())))) }
        section {
            h2 { "What it offers" }
            ul.tree { li { div.node { a href=(site.document_path(&place.name("capabilitylist.xml"))) { "Capability List" } } (of_set(site, sizes, &name)?) } }
        }
    };
    Ok(Some(PageBody::new(site.set_name(&name), OVERVIEW, content)))
}

/// Makes the page of a batch endpoint, which answers POST only; `None` if no set has it.
pub(super) fn batch(site: &PageContext<'_>, path: &str) -> Option<PageBody> {
    let place = site.view.place();
    let set = site.view.sets().iter().find(|set| place.set(set).name("batch") == path)?;
    let endpoint = shell_word(place.uri(path).as_str());
    let resources = shell_word(&format!("[\"{}PATH\"]", site.base()));
    let list = format!("curl -f --json {resources} -o batch.zip {endpoint}");
    let since = format!("curl -f --json '{{\"since\":\"2026-01-01T00:00:00Z\"}}' -o batch.zip {endpoint}");
    let content = html! {
        p.lead {
            "This address is for programs: it answers a POST with a ZIP of many resources of "
            a href=(site.page("set", &[("name", set)])) { (site.set_name(set)) } " at once. "
            code { "instep sync" } " uses it by itself."
        }
        section { h2 { "Some resources" } p.soft { "Replace PATH; up to 10,000 URIs." } (copyable(&list)) }
        section { h2 { "Everything that changed since a time" } (copyable(&since)) }
    };
    Some(PageBody::new("Batch", OVERVIEW, content))
}

//! Pages that describe the Source and its sets to people (SD-5, SD-9).

use maud::{DOCTYPE, html};
use resourcesync::Uri;

use super::{SetPolicy, SourcePolicy, place::STYLESHEET, writer::RenderedDocuments};
use crate::{Error, sink::Rank};

/// The name of a page among the documents of a set.
const PAGE: &str = "about.html";

/// Returns the description of a set: the operator's, or a page of ours.
pub(super) fn set_page(policy: &SourcePolicy, set: &SetPolicy) -> Uri {
    match &set.described_by {
        Some(uri) => uri.clone(),
        None if set.name.is_empty() => source_page(policy),
        None => set.place.uri(PAGE),
    }
}

/// Returns the description of the Source: the operator's, or a page of ours.
pub(super) fn source_page(policy: &SourcePolicy) -> Uri {
    policy.described_by.clone().unwrap_or_else(|| policy.place.set("").uri(PAGE))
}

/// Writes the linked pages that the operator does not provide. They contain nothing that changes from one publication
/// to the next.
pub(super) fn render(policy: &SourcePolicy, documents: &mut RenderedDocuments<'_>) -> Result<(), Error> {
    if let Some(stylesheet) = &policy.stylesheet {
        documents.bytes(&policy.place.set("").name(STYLESHEET), Rank::Part, stylesheet.as_bytes())?;
    }
    let source_page = policy.place.set("").uri(PAGE);
    let linked = policy.sets.iter().any(|set| set_page(policy, set) == source_page);
    if policy.described_by.is_none() || linked {
        let title = format!("Resources of {}", policy.place.base());
        let sets: Vec<_> = policy.sets.iter().collect();
        documents.bytes(
            &policy.place.set("").name(PAGE),
            Rank::Part,
            page(policy, &title, &sets).as_bytes(),
        )?;
    }
    for set in policy.sets.iter().filter(|set| set.described_by.is_none() && !set.name.is_empty()) {
        let title = format!("{}: resources of {}", set.name, policy.place.base());
        documents.bytes(&set.place.name(PAGE), Rank::Part, page(policy, &title, &[set]).as_bytes())?;
    }
    Ok(())
}

fn page(policy: &SourcePolicy, title: &str, sets: &[&SetPolicy]) -> String {
    let description = policy.place.source_description();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { (title) }
                @for set in sets {
                    link rel="resourcesync" href=(set.place.capability_list());
                }
            }
            body {
                h1 { (title) }
                p {
                    "These resources can be copied, and the copies kept in step, with ResourceSync "
                    "(ANSI/NISO Z39.99-2017). The Source Description is "
                    a href=(description) { (description) } "."
                }
                ul {
                    @for set in sets {
                        li {
                            @if !set.name.is_empty() { (set.name) ": " }
                            a href=(set.place.capability_list()) { "Capability List" }
                        }
                    }
                }
                p { "To make a copy, and to refresh it later:" }
                pre { code { "instep sync " (policy.place.base()) } }
            }
        }
    };
    let mut text = page.into_string();
    text.push('\n');
    text
}

//! Responses that are not the listed state of a resource, although no digest shows it.

use resourcesync::MediaType;

use super::fetch::FetchOutcome;
use crate::{
    Error,
    state::{Action, ActionKind, ReadState},
};

/// Returns the content instead of which HTML arrived, if neither length nor digest could detect it (D31); `None` if the
/// arrival is no such page.
pub(super) fn page_instead_of(
    action: &Action,
    outcome: &FetchOutcome,
    state: &dyn ReadState,
) -> Result<Option<String>, Error> {
    let FetchOutcome::Staged(arrival) = outcome else { return Ok(None) };
    let metadata = &action.desired.metadata;
    let is_page = arrival.media_type.as_deref().is_some_and(is_html);
    if !is_page || arrival.verified || metadata.length.is_some() {
        return Ok(None);
    }
    if let Some(listed) = &metadata.media_type {
        return Ok((!is_html(listed.as_str())).then(|| "what the Source lists".to_owned()));
    }
    if action.kind == ActionKind::Create {
        return Ok(None);
    }
    // The entry states no type, but the held version had one (O734).
    let held = state.held(action.desired.uri.as_str())?;
    let held_type = held.and_then(|held| held.metadata.media_type);
    let held_type = held_type.filter(|held_type| stays_no_page(held_type.as_str()));
    Ok(held_type.map(|held_type| format!("the {} that is held", held_type.as_str())))
}

fn is_html(text: &str) -> bool {
    matches!(MediaType::new(text).essence(), "text/html" | "application/xhtml+xml")
}

/// Returns `true` for types whose resources do not become pages. Pages themselves may have had any other type before
/// their server was set up better.
fn stays_no_page(text: &str) -> bool {
    let essence = MediaType::new(text).essence().to_ascii_lowercase();
    let kind = essence.split('/').next().unwrap_or_default();
    essence == "application/pdf" || matches!(kind, "image" | "audio" | "video" | "font")
}

/// Describes the fault if a cache answered with a response from before the listed modification of a held resource, and
/// no digest shows which bytes it has (O731). If nothing is held, a former state is better than none.
pub(super) fn former_state(action: &Action, outcome: &FetchOutcome) -> Option<String> {
    let in_cache = match outcome {
        FetchOutcome::Staged(arrival) if !arrival.verified => arrival.in_cache?,
        FetchOutcome::NotModified { in_cache, .. } => (*in_cache)?,
        _ => return None,
    };
    let modified = action.desired.metadata.lastmod?;
    let is_former = action.kind != ActionKind::Create && in_cache.spans(&modified);
    is_former.then(|| {
        format!(
            "A cache answers with its state of {}, from before its last modification ({modified})",
            in_cache.since
        )
    })
}

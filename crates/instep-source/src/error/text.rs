//! Longer sentences of errors.

use std::path::Path;

/// Returns a path after a blank; nothing if it is not known.
pub(super) fn of_path(path: &Path) -> String {
    let path = path.display().to_string();
    if path.is_empty() { path } else { format!(" {path}") }
}

/// Returns the name of a set after "resources"; nothing for the only one.
pub(super) fn of_set(set: &str) -> String {
    if set.is_empty() { String::new() } else { format!(" of the set {set}") }
}

/// Says what would be published as deleted.
pub(super) fn deletions_refused(
    set: &str,
    deletions: u64,
    resources: u64,
    limit: u64,
    empty: bool,
) -> String {
    let set = of_set(set);
    match empty {
        true => format!(
            "All {resources} resources{set} are gone, as if a folder was emptied or a disk is not mounted; nothing is \
             published as deleted"
        ),
        false => format!(
            "{deletions} of {resources} resources{set} are gone, more than the {limit} that may be published as deleted \
             at once; nothing is published as deleted"
        ),
    }
}

/// Names the first few.
pub(crate) fn listed(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

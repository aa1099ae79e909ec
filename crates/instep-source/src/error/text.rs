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

/// Describes what would be published as deleted.
pub(super) fn deletions_refused(
    set: &str,
    deletions: u64,
    resources: u64,
    limit: u64,
    empty: bool,
) -> String {
    let set = of_set(set);
    if empty {
        format!(
            "{}{set} {} gone, as if a folder was emptied or a disk is not mounted; nothing is published as deleted",
            all_of(resources),
            if resources == 1 { "is" } else { "are" },
        )
    } else {
        format!(
            "{deletions} of {resources} resources{set} are gone, more than the {limit} that may be published as deleted \
             at once; nothing is published as deleted"
        )
    }
}

/// Describes that a set has lost the place of everything that it had.
pub(super) fn set_moved(set: &str, resources: u64) -> String {
    let set = of_set(set);
    let (are, them) =
        if resources == 1 { ("is at another URI", "it") } else { ("are at other URIs", "all of them") };
    format!(
        "{}{set} {are} than before, because its folder or prefix has changed: readers would treat {them} as deleted",
        all_of(resources)
    )
}

/// Returns a name for all resources, at the beginning of a sentence.
fn all_of(resources: u64) -> String {
    if resources == 1 { "The only resource".to_owned() } else { format!("All {resources} resources") }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o250_a_single_resource_is_not_called_all_of_them() {
        assert!(deletions_refused("", 1, 1, 10, true).starts_with("The only resource is gone, as if"));
        assert!(
            deletions_refused("p", 3, 3, 10, true)
                .starts_with("All 3 resources of the set p are gone, as if")
        );
        assert!(
            set_moved("p", 1).starts_with("The only resource of the set p is at another URI than before")
        );
        assert!(set_moved("p", 2).starts_with("All 2 resources of the set p are at other URIs than before"));
    }
}

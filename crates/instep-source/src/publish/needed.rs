//! The lines of the change log that published documents still need.

use crate::records::{PublishedSet, PublishedSource};

/// Returns the sequence number after which documents show or count changes; `None` if there are no documents.
pub(super) fn needed_after(published: &PublishedSource) -> Option<u64> {
    let of_set = |set: &PublishedSet| {
        let lists = set.change_list.iter().flat_map(|lists| lists.closed.iter().chain([&lists.open]));
        let listed = lists.map(|span| span.after).chain(set.archive.after);
        let packed = set.change_dump.iter().map(|dump| dump.through);
        let counted = set.resource_list.iter().map(|list| list.sequence);
        let dumped = set.resource_dump.iter().map(|dump| dump.sequence);
        listed.chain(packed).chain(counted).chain(dumped).min()
    };
    published.sets.values().filter_map(of_set).min()
}

/// Returns the number of the first change that a list of any set names; `None` if there are no lists.
pub(super) fn first_listed(published: &PublishedSource) -> Option<u64> {
    let first = |set: &PublishedSet| {
        let lists = set.change_list.as_ref()?;
        let listed = lists.closed.iter().chain([&lists.open]).map(|span| span.after);
        listed.chain(set.archive.after).min().map(|after| after + 1)
    };
    published.sets.values().filter_map(first).min()
}

//! The totals over the entries of an inventory.

use resourcesync::DateTime;

use super::kept::KeptCount;

/// The totals over all parts of an inventory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InventoryCount {
    /// The parts that were merged into the plan.
    pub(super) parts: u64,
    /// Entries within scope.
    pub(crate) usable: u64,
    /// Entries without a usable URI or out of scope: no resource counts as deleted then, since they may mean any.
    pub(crate) unusable: u64,
    /// Usable entries that the operator selects.
    pub(crate) selected: u64,
    /// `true` if the operator's limit left out entries: nothing that changes name is added then.
    pub(super) is_cut: bool,
    /// `true` once what stays, although the inventory has no time and does not name it, counts as selected.
    pub(super) counts_unnamed: bool,
    /// `true` if a selected entry states nothing that a change would show in.
    pub(crate) has_silent: bool,
    /// Selected entries whose resources are current.
    pub(super) unchanged: u64,
    /// The newest time of an entry.
    pub(crate) newest: Option<DateTime>,
    /// `true` if it is the one that was applied last.
    pub(super) was_applied: bool,
    /// `true` if a resource seems to have changed or gone after it.
    pub(crate) has_later_changes: bool,
    /// Deletions that absence from the inventory implies, carried out or not.
    pub(crate) inferred: u64,
    /// Held resources that stay although they were deleted.
    pub(super) kept: KeptCount,
    /// Entries of plain Sitemaps.
    pub(crate) plain: u64,
    /// Images and videos of pages at places outside the scope.
    pub(crate) media_elsewhere: u64,
    /// Links to versions at places outside the scope, of changes too.
    pub(crate) versions_elsewhere: u64,
    /// Wanted links, of changes too, whose targets are never requested, because of their scheme.
    pub(crate) links_not_fetched: u64,
}

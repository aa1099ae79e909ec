//! The resources that a list and a dump of one set cover, compared with each other.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::{ListedChange, Report};
use crate::{
    finding::{Finding, Position, Severity},
    value::{Change, DateTime},
};

/// The resources that a snapshot covers, as sorted digests of their URIs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SnapshotCoverage {
    /// The start of the snapshot (TIME-3).
    at: DateTime,
    /// The end of the snapshot; until then a resource may have changed again (TIME-4).
    completed: Option<DateTime>,
    /// `Report::locs` of its documents.
    locs: Vec<u64>,
}

impl SnapshotCoverage {
    /// Returns the resources of some documents, at the times of the document that leads to them; `None` if the entries
    /// of a document were not kept, as of one whose metadata come after them.
    pub(super) fn of(head: &Report, documents: &[&Report]) -> Option<Self> {
        let metadata = head.header.as_ref()?.metadata.as_ref()?;
        if documents.iter().any(|report| report.entries > 0 && report.locs.is_empty()) {
            return None;
        }
        let mut locs: Vec<u64> = documents.iter().flat_map(|report| report.locs.iter().copied()).collect();
        locs.sort_unstable();
        Some(Self { at: metadata.at?, completed: metadata.completed, locs })
    }
}

/// Compares the resources of two snapshots of one set, after the changes between them (CAP-9). Without the changes,
/// different times explain a difference.
pub(super) fn check_coverage(
    one: &SnapshotCoverage,
    other: &SnapshotCoverage,
    changes: Option<&[ListedChange]>,
    position: Position,
) -> Option<Finding> {
    let (older, newer) = if one.at.instant() <= other.at.instant() { (one, other) } else { (other, one) };
    let mut covered: BTreeMap<u64, bool> = older.locs.iter().map(|loc| (*loc, true)).collect();
    for change in changes.unwrap_or_default() {
        let time = change.datetime;
        let between =
            time.is_none_or(|time| older.at.instant() < time.end() && time.instant() < newer.at.end());
        if between {
            covered.insert(change.loc, change.change != Change::Deleted);
        }
    }
    let open = changed_meanwhile(&[one, other], changes.unwrap_or_default());
    let decided = |loc: &u64| !open.contains(loc);
    let gone = |loc: &u64| newer.locs.binary_search(loc).is_err();
    let surplus = covered.iter().filter(|(loc, there)| **there && gone(loc) && decided(loc)).count();
    let unknown = |loc: &u64| !covered.get(loc).copied().unwrap_or(false);
    let missing = newer.locs.iter().filter(|loc| unknown(loc) && decided(loc)).count();
    if surplus + missing == 0 {
        return None;
    }
    let explained = changes.is_none() && older.at != newer.at;
    let severity = if explained { Severity::Info } else { Severity::Error };
    let found =
        format!("{missing} resources only in the newer, {surplus} only in the older of list and dump");
    Some(Finding::new("CAP-9", severity, position, found, "the same set of resources in both"))
}

/// Returns the resources that changed while one of the snapshots was made: it may show them as before or after
/// (TIME-4).
fn changed_meanwhile(snapshots: &[&SnapshotCoverage], changes: &[ListedChange]) -> BTreeSet<u64> {
    let meanwhile = |time: DateTime| {
        snapshots.iter().any(|snapshot| {
            let end = snapshot.completed.unwrap_or(snapshot.at).end();
            time.instant() < end && snapshot.at.instant() < time.end()
        })
    };
    let open = changes.iter().filter(|change| change.datetime.is_some_and(meanwhile));
    open.map(|change| change.loc).collect()
}

//! The resources that a list and a dump of one set cover, compared with each other.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::{ListedChange, Report};
use crate::{
    document::Form,
    finding::{Finding, Position, Severity},
    value::{Change, DateTime, Uri},
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

/// The changes that are known beside two snapshots.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownChanges {
    pub(super) changes: Vec<ListedChange>,
    /// `true` if each change since the older of the snapshots is among them. A Source keeps changes for a while only,
    /// and a dump may be older.
    pub(super) are_complete: bool,
}

impl KnownChanges {
    /// Returns the changes of a Change List, or of the members of its index that `find` finds; they are complete if they
    /// reach back to a time.
    pub(super) fn of<'r>(
        list: &'r Report,
        since: DateTime,
        find: impl Fn(&Uri) -> Option<&'r Report>,
    ) -> Self {
        let header = list.header.as_ref();
        let from = header.and_then(|header| header.metadata.as_ref()?.from);
        let mut are_complete = from.is_some_and(|from| from.instant() < since.end());
        if header.is_none_or(|header| header.form == Form::List) {
            return Self { changes: list.changes.clone(), are_complete };
        }
        let mut changes = Vec::new();
        for child in &list.children {
            let until = child.metadata.until;
            match find(&child.loc) {
                Some(member) => changes.extend(member.changes.iter().cloned()),
                None => are_complete &= until.is_some_and(|until| until.end() <= since.instant()),
            }
        }
        Self { changes, are_complete }
    }
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

/// Returns the time of the older of two snapshots.
pub(super) fn older_time(one: &SnapshotCoverage, other: &SnapshotCoverage) -> DateTime {
    if one.at.instant() <= other.at.instant() { one.at } else { other.at }
}

/// Compares the resources of two snapshots of one set, after the changes between them (CAP-9). Unless all of these are
/// known, different times explain a difference.
pub(super) fn check_coverage(
    one: &SnapshotCoverage,
    other: &SnapshotCoverage,
    known: &KnownChanges,
    position: Position,
) -> Option<Finding> {
    let (older, newer) = if one.at.instant() <= other.at.instant() { (one, other) } else { (other, one) };
    let changes = &known.changes;
    let mut covered: BTreeMap<u64, bool> = older.locs.iter().map(|loc| (*loc, true)).collect();
    for change in changes {
        let time = change.datetime;
        let between =
            time.is_none_or(|time| older.at.instant() < time.end() && time.instant() < newer.at.end());
        if between {
            covered.insert(change.loc, change.change != Change::Deleted);
        }
    }
    let open = changed_meanwhile(&[one, other], changes);
    let deleted = deleted_later(newer, changes);
    let decided = |loc: &u64| !open.contains(loc) && !deleted.contains(loc);
    let gone = |loc: &u64| newer.locs.binary_search(loc).is_err();
    let surplus = covered.iter().filter(|(loc, there)| **there && gone(loc) && decided(loc)).count();
    let unknown = |loc: &u64| !covered.get(loc).copied().unwrap_or(false);
    let missing = newer.locs.iter().filter(|loc| unknown(loc) && decided(loc)).count();
    if surplus + missing == 0 {
        return None;
    }
    let explained = !known.are_complete && older.at != newer.at;
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

/// Returns the resources that were deleted after a snapshot. A deletion has the time at which the Source noticed it, so a
/// dump, which reads the files, may lack a resource that the lists have until then. Readers lose nothing by it.
fn deleted_later(snapshot: &SnapshotCoverage, changes: &[ListedChange]) -> BTreeSet<u64> {
    let is_later = |time: DateTime| snapshot.at.instant() < time.end();
    let deletions = changes.iter().filter(|change| change.change == Change::Deleted);
    deletions.filter(|change| change.datetime.is_some_and(is_later)).map(|change| change.loc).collect()
}

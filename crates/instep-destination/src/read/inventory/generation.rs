//! Generations of an inventory: decides if the parts of an index are of one state of the Source. If they are of two
//! states, a resource that no part names may still exist (D39).

use std::collections::BTreeMap;

use resourcesync::{DateTime, Uri, value::Precision};

use crate::{Error, documents::Document, plan::is_other_time, run::SyncRun};

/// The times that an index states of itself and its members.
#[derive(Debug, PartialEq)]
pub(super) struct Generation {
    at: Option<DateTime>,
    members: BTreeMap<Uri, Option<DateTime>>,
    /// The time of each member's state, or of its last modification.
    modified: Vec<Option<DateTime>>,
    /// The number of members without a usable `loc`, or with that of another one at another time.
    unusable: u64,
}

impl Generation {
    /// Returns the generation of an index, and its members in their order.
    pub(super) fn of(index: &Document) -> Result<(Self, Vec<Uri>), Error> {
        let at = index.header.metadata.as_ref().and_then(|root| root.at);
        let (mut members, mut modified, mut order) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut repeated = 0;
        let unusable = index.for_each_usable(|entry| {
            // A member that is named twice counts once. With two times, one of the entries should name another member (O967).
            match members.insert(entry.loc.clone(), entry.metadata.at) {
                None => order.push(entry.loc.clone()),
                Some(at) => repeated += u64::from(is_other_time(at, entry.metadata.at)),
            }
            modified.push(entry.metadata.at.or(entry.lastmod));
        })?;
        Ok((Self { at, members, modified, unusable: unusable + repeated }, order))
    }

    /// Returns the number of its members that cannot be read, because they have no usable `loc` of their own.
    pub(super) fn unusable(&self) -> u64 {
        self.unusable
    }

    /// Returns the time that the index states for a member.
    pub(super) fn stated(&self, member: &Uri) -> Option<DateTime> {
        self.members.get(member).copied().flatten()
    }

    /// Returns the time that the index states for a member, or for all of them.
    pub(super) fn time_of(&self, member: &Uri) -> Option<DateTime> {
        self.stated(member).or(self.at)
    }

    /// Returns `true` if a member has a later state than the index states.
    pub(super) fn is_before(&self, member: &Uri, at: Option<DateTime>) -> bool {
        matches!((self.stated(member), at), (Some(stated), Some(at)) if stated.end() <= at.instant())
    }

    /// Returns `true` if it does not state the time of each member.
    pub(super) fn is_silent(&self) -> bool {
        self.members.values().any(Option::is_none)
    }

    /// Returns `true` if the index itself changes whenever a member does: it has a time, or states one for each member.
    pub(super) fn tells_changes(&self) -> bool {
        let is_exact =
            |time: Option<DateTime>| time.is_some_and(|time| time.precision() >= Precision::Second);
        is_exact(self.at) || !self.modified.is_empty() && self.modified.iter().all(|time| is_exact(*time))
    }

    /// Returns `true` if the index is unchanged since before its members were read.
    pub(super) async fn stands(&self, run: &mut SyncRun<'_>, index: &Document) -> bool {
        match run.network.open(&index.uri, Some(&index.uri), None).await {
            Ok(Some(now)) => Self::of(&now).is_ok_and(|(now, _)| now == *self),
            _ => false,
        }
    }
}

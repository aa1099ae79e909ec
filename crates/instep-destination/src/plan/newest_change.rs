//! The resource of the newest change in a list, for the run that reads the list next.

use resourcesync::{
    DateTime, Entry, Uri,
    document::{ChangeTimes, TimeSource},
};

/// The newest changes by each value of an entry that may be the time of its change: which one it is, is known only at the end
/// of the list.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NewestChanges {
    by_datetime: Option<NewestChange>,
    by_lastmod: Option<NewestChange>,
}

#[derive(Clone, Copy, Debug)]
struct NewestChange {
    time: DateTime,
    resource: u64,
}

impl NewestChanges {
    /// Takes the next entry, with its times that can be.
    pub(super) fn observe(&mut self, entry: &Entry, datetime: Option<DateTime>, lastmod: Option<DateTime>) {
        for (newest, time) in [(&mut self.by_datetime, datetime), (&mut self.by_lastmod, lastmod)] {
            let Some(time) = time else { continue };
            if newest.is_none_or(|newest| newest.time < time) {
                *newest = Some(NewestChange { time, resource: resource_digest(&entry.loc) });
            }
        }
    }

    /// Returns the digest of the resource that changed last; `None` if the list does not state the time.
    pub(super) fn resource(&self, times: &ChangeTimes) -> Option<u64> {
        let newest = match times.source {
            TimeSource::Datetime => self.by_datetime,
            TimeSource::LastMod => self.by_lastmod,
            _ => None,
        };
        newest.filter(|newest| Some(newest.time) == times.newest).map(|newest| newest.resource)
    }
}

/// Returns a digest of a resource's URI that is short enough for a note, and only compared with those of the same list.
pub(crate) fn resource_digest(uri: &Uri) -> u64 {
    let mut start = [0; 8];
    start.copy_from_slice(&blake3::hash(uri.as_str().as_bytes()).as_bytes()[..8]);
    u64::from_le_bytes(start)
}

//! Records the prior versions of resources as changes come (§14.6).

use std::mem;

use resourcesync::{Change, DateTime, Uri};

use super::{context::SourceContext, released::UnpackedStates};
use crate::{
    Error,
    catalogue::{Keep, ResourceVersion},
    content::StateSpool,
    records::VERSIONED,
};

/// Versions that are recorded together.
const GROUP: usize = 1_024;

impl SourceContext {
    /// Records the versions of the changes since the last time; at first, the present versions.
    pub(super) fn keep_versions(&self) -> Result<(), Error> {
        let (Some(options), Some(spool)) = (self.options.versions, StateSpool::of(&self.options)) else {
            return Ok(());
        };
        let snapshot = self.catalogue.snapshot()?;
        let head = snapshot.head();
        let age = i64::try_from(options.age.as_micros()).unwrap_or(i64::MAX);
        let since = DateTime::from_unix_micros(snapshot.at().unix_micros().saturating_sub(age));
        let keep = Keep { count: options.count, since };
        let unpacked = UnpackedStates::new(self, &snapshot);
        let mut recorder = VersionRecorder { source: self, spool, keep, unpacked, group: Vec::new() };
        let (sets, through) = VERSIONED.read(&snapshot)?.unwrap_or_default();
        let after = if sets == 0 { head.sequence } else { through };
        if sets != head.baselined {
            for resource in snapshot.resources(u64::MAX) {
                let resource = resource?;
                let known = resource.state.lastmod.filter(|lastmod| *lastmod < snapshot.at());
                let since = known.or(resource.history.since).unwrap_or(snapshot.at());
                let datetime = DateTime::from_unix_micros(since.unix_micros());
                if snapshot.version_since(&resource.uri)?.is_none() {
                    recorder.record(
                        resource.uri,
                        ResourceVersion::new(datetime, Some(resource.state)),
                        (sets, through),
                    )?;
                }
            }
            recorder.flush((head.baselined, after))?;
        }
        for change in snapshot.changes(u64::MAX, after) {
            let change = change?;
            let state = (change.change != Change::Deleted).then_some(change.state);
            let version = ResourceVersion::new(change.datetime, state);
            recorder.record(change.uri, version, (head.baselined, change.sequence - 1))?;
        }
        if (sets, through) == (head.baselined, head.sequence) {
            Ok(())
        } else {
            recorder.flush((head.baselined, head.sequence))
        }
    }
}

/// The sets whose present resources have versions, as a mask, and the last change that has one.
type VersionProgress = (u64, u64);

struct VersionRecorder<'a> {
    source: &'a SourceContext,
    spool: StateSpool,
    keep: Keep,
    unpacked: UnpackedStates<'a>,
    group: Vec<(Uri, ResourceVersion)>,
}

impl VersionRecorder<'_> {
    /// Takes a version; `done` is how far it is without it.
    fn record(&mut self, uri: Uri, version: ResourceVersion, done: VersionProgress) -> Result<(), Error> {
        if self.group.len() == GROUP {
            self.flush(done)?;
        }
        self.group.push((uri, version));
        Ok(())
    }

    fn flush(&mut self, done: VersionProgress) -> Result<(), Error> {
        let beside = VERSIONED.write(&done);
        let group = mem::take(&mut self.group);
        let failed = || Error::write(self.spool.folder());
        let dropped = self.source.catalogue.keep_versions(group, self.keep, beside)?;
        for digests in &dropped {
            // A state that a package still needs is removed with that package.
            if !self.unpacked.contains(digests)? {
                self.spool.remove(digests).map_err(failed())?;
            }
        }
        if !dropped.is_empty() {
            self.spool.trim().map_err(failed())?;
        }
        Ok(())
    }
}

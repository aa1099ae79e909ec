//! Bytes of present states, kept while they are there: a patch or a version needs them once they are past.

use super::context::SourceContext;
use crate::{
    Error, PublishMonitor, PublishProblem,
    catalogue::Resource,
    content::{SpoolUsage, StateSpool},
    records::{STATES_KEPT, STATES_ROOM},
};

impl SourceContext {
    /// Copies the states that are not copied yet: those of the first complete scan, and those from before patches or
    /// versions were enabled, also if they were enabled before that, or if more bytes may be kept (O433).
    pub(super) fn keep_present_states(&self, monitor: &dyn PublishMonitor) -> Result<(), Error> {
        let spool = StateSpool::of(&self.options).filter(|_| self.options.needs_present_states());
        let Some(spool) = spool else { return Ok(()) };
        let snapshot = self.catalogue.snapshot()?;
        // Once for each set: later changes are copied when they are hashed. With other bounds there may be more of them.
        let (sets, room) = (snapshot.head().baselined, spool.room());
        if STATES_KEPT.read(&snapshot)? == Some(sets) && STATES_ROOM.read(&snapshot)? == Some(room) {
            return Ok(());
        }
        let mut left = self.options.keep_bytes;
        for resource in snapshot.resources(u64::MAX) {
            let resource = resource?;
            let Some(length) = resource.state.length.filter(|length| spool.takes(*length)) else { continue };
            let Some(rest) = left.checked_sub(length) else {
                let what = "is not kept, as many later ones: all that may be kept is full; allow more bytes";
                monitor.problem(&PublishProblem::warning(resource.uri.as_str(), what));
                break;
            };
            left = rest;
            self.keep_state(&spool, &resource, monitor)?;
        }
        spool.trim().map_err(Error::write(spool.folder()))?;
        self.catalogue.set_meta(vec![STATES_KEPT.write(&sets), STATES_ROOM.write(&room)])?;
        Ok(())
    }

    /// Copies the bytes of a resource to the spool. If they differ from the digests, nothing is kept: the next scan sees
    /// the change.
    fn keep_state(
        &self,
        spool: &StateSpool,
        resource: &Resource,
        monitor: &dyn PublishMonitor,
    ) -> Result<(), Error> {
        let digests = &resource.state.digests;
        let held = spool.find_whole(digests, resource.state.length).map_err(Error::read(spool.folder()))?;
        if held.is_some() {
            return Ok(());
        }
        let kept = self.holdings.open(resource).and_then(|file| spool.keep(file, digests));
        if let Err(error) = kept {
            let what = format!("cannot be kept, so there is no patch from it and no version of it: {error}");
            monitor.problem(&PublishProblem::warning(resource.uri.as_str(), what));
        }
        Ok(())
    }

    /// Returns the size of past states on disk; `None` if they are not kept.
    pub(super) fn kept_states(&self) -> Result<Option<SpoolUsage>, Error> {
        let Some(spool) = StateSpool::of(&self.options) else { return Ok(None) };
        spool.kept().map(Some).map_err(Error::read(spool.folder()))
    }
}

//! The channels of followed Sources, and their announcements.

use std::sync::Arc;

use instep_destination::{SharedCallbacks, SyncOptions};
use tokio::task::JoinHandle;

use super::{BETWEEN_PUSHED, BETWEEN_PUSHED_FAILURES, FleetState};
use crate::{fleet::watching::SourceWatch, name::SourceName, standing::FleetSource};

impl FleetState {
    /// Returns the options by which the channels of a Source are found; `None` if they are not wanted, or listened to
    /// already.
    pub(in crate::fleet) fn to_watch(&self, source: &FleetSource) -> Option<SyncOptions> {
        let (definition, standing) = (&source.definition, &source.standing);
        if !self.follows {
            return None;
        }
        let is_well = standing.success.is_some() && standing.failures == 0 && !standing.paused;
        let is_watched = self.watches.get(&definition.name).is_some_and(|watch| !watch.task.is_finished());
        if !definition.follow || !is_well || is_watched {
            return None;
        }
        let mut options = definition.run_options(&self.options).ok()?;
        options.access.shared = Some(self.client.clone());
        Some(options)
    }

    /// Records that the channels of a Source are listened to.
    pub(in crate::fleet) fn watched(&mut self, watch: SourceWatch) {
        self.watches.insert(watch.definition.name.clone(), watch);
    }

    /// Lets channels be listened to from now on, until [`Self::end_watches`].
    pub(in crate::fleet) fn begin_watches(&mut self) {
        self.follows = true;
    }

    /// Takes over the server at which hubs deliver.
    pub(in crate::fleet) fn deliver_at(&mut self, callbacks: Option<SharedCallbacks>) {
        self.callbacks = callbacks;
    }

    pub(in crate::fleet) fn callbacks(&self) -> Option<SharedCallbacks> {
        self.callbacks.clone()
    }

    /// Requests the end of all watches, and returns them. A look that ends later begins none: nobody would end it.
    pub(in crate::fleet) fn end_watches(&mut self) -> Vec<JoinHandle<()>> {
        self.follows = false;
        let watches = std::mem::take(&mut self.watches).into_values();
        watches.inspect(|watch| watch.ending.request()).map(|watch| watch.task).collect()
    }

    /// Makes a Source due because it announced something. Returns the time; `None` if nothing should be done now.
    pub(in crate::fleet) fn push(&mut self, name: &SourceName, now: i64) -> Option<i64> {
        if self.looks.contains_key(name) {
            self.pushed.insert(name.clone());
            return None;
        }
        let mut source = FleetSource::clone(self.sources.get(name)?);
        // A Source that announces changes continuously is not visited more often than that.
        let between = if source.standing.failures == 0 { BETWEEN_PUSHED } else { BETWEEN_PUSHED_FAILURES };
        let earliest = source.standing.ended.unwrap_or(0).saturating_add(between);
        let due = earliest.clamp(now, now.saturating_add(between));
        source.standing.due = source.standing.due.min(due);
        self.sources.insert(Arc::new(source));
        self.enqueue(name);
        Some(due)
    }
}

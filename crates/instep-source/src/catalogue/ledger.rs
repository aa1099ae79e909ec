//! The rules by which an observation changes resources and the change log, within one transaction. They are the same
//! for each engine, which provides the rows.

use resourcesync::{Change, Digests, Uri};

#[cfg(feature = "postgres")]
use super::shared::SharedRows;
use super::{
    CatalogueError, Head, Keep, NamedValue, Observation, Patch, Recorded, Resource, ResourceState,
    ResourceVersion,
    codec::write_change,
    counters::Counters,
    engine::{CatalogueTransaction, LedgerRows, NewChange},
    moves::CatalogueMove,
    timeline::Timeline,
};

/// The tables while a transaction is open.
pub(super) struct ChangeLog<'a, R> {
    pub(super) rows: R,
    pub(super) timeline: &'a Timeline,
    pub(super) head: Head,
    pub(super) counters: Counters,
    /// `true` if the resource recorded last was a new one.
    expects_new: bool,
}

impl<'a, R: LedgerRows> ChangeLog<'a, R> {
    pub(super) fn new(rows: R, timeline: &'a Timeline, head: Head) -> Self {
        Self { rows, timeline, head, counters: Counters::new(), expects_new: false }
    }

    fn found(
        &mut self,
        resource: &Resource,
        recorded: &mut Recorded,
        same_bytes: impl FnOnce(&ResourceState) -> bool,
    ) -> Result<(), CatalogueError> {
        // New resources often follow each other, so a missing row is looked up only once.
        let held =
            if self.expects_new && self.insert(resource)? { None } else { self.rows.held(&resource.key)? };
        let Some(held) = held else {
            if !self.expects_new {
                self.insert(resource)?;
            }
            self.expects_new = true;
            recorded.created += 1;
            return self.log(&Change::Created, resource.sets, &resource.uri, None, &resource.state);
        };
        self.expects_new = false;
        if same_bytes(&held.state) {
            return self.same(held, resource, recorded);
        }
        recorded.updated += 1;
        self.replace(&held, resource, 1)?;
        self.log_membership(&held, resource)?;
        if held.uri == resource.uri {
            let (sets, before) = (held.sets & resource.sets, Some(&held.state));
            self.log(&Change::Updated, sets, &resource.uri, before, &resource.state)?;
        }
        Ok(())
    }

    /// Records a resource whose bytes are the known ones. It keeps its last modification: a new time for the same
    /// bytes is not a change.
    fn same(
        &mut self,
        held: Resource,
        seen: &Resource,
        recorded: &mut Recorded,
    ) -> Result<(), CatalogueError> {
        let mut next = seen.clone();
        next.history = held.history;
        next.state.lastmod = held.state.lastmod.or(next.state.lastmod);
        let described = next.state != held.state || next.uri != held.uri || next.sets != held.sets;
        if !described && next == held {
            return Ok(());
        }
        if described {
            recorded.described += 1
        } else {
            recorded.refreshed += 1
        }
        self.replace(&held, &next, 0)?;
        if described {
            self.head.revision += 1;
            self.log_membership(&held, &next)?;
        }
        Ok(())
    }

    /// Removes a resource that is gone, except for readers of the sets in which another one has its URI.
    fn gone(&mut self, key: &[u8], stays_in: u64, recorded: &mut Recorded) -> Result<(), CatalogueError> {
        let Some(held) = self.remove(key)? else { return Ok(()) };
        let left = held.sets & !stays_in;
        if left == 0 && stays_in != 0 {
            return Ok(());
        }
        recorded.deleted += 1;
        self.log(&Change::Deleted, left, &held.uri, Some(&held.state), &ResourceState::new())
    }

    /// Logs the changes of membership: in a set that the resource enters it is created, and in one that it leaves it
    /// is deleted. A new URI is both.
    fn log_membership(&mut self, held: &Resource, next: &Resource) -> Result<(), CatalogueError> {
        let (left, entered) = if held.uri == next.uri {
            (held.sets & !next.sets, next.sets & !held.sets)
        } else {
            (held.sets, next.sets)
        };
        self.log(&Change::Deleted, left, &held.uri, Some(&held.state), &ResourceState::new())?;
        self.log(&Change::Created, entered, &next.uri, None, &next.state)
    }

    /// Adds an entry to the change log for the sets whose baseline is complete, with the states before and after.
    fn log(
        &mut self,
        change: &Change,
        sets: u64,
        uri: &Uri,
        before: Option<&ResourceState>,
        state: &ResourceState,
    ) -> Result<(), CatalogueError> {
        if sets != 0 {
            self.head.revision += 1;
        }
        // A set has no changes during its first scan: everything found is its baseline.
        let sets = sets & self.head.baselined;
        if sets == 0 {
            return Ok(());
        }
        // The time is taken within the transaction, so that no change is older than a snapshot that does not show it
        // (S6).
        let datetime = self.timeline.next();
        let sequence = self.head.sequence + 1;
        self.rows.append(&NewChange { sequence, datetime, change, sets, uri, before, state })?;
        self.counters.change(write_change(change), datetime.unix_micros());
        self.head.sequence = sequence;
        self.head.datetime = Some(datetime);
        Ok(())
    }

    /// Adds the row of a resource. Returns `false` if there is a row already, which stays as it is.
    fn insert(&mut self, resource: &Resource) -> Result<bool, CatalogueError> {
        let is_new = self.rows.insert(resource, self.timeline.last())?;
        if is_new {
            self.counters.tally(resource, 1);
        }
        Ok(is_new)
    }

    fn replace(&mut self, held: &Resource, next: &Resource, changes: u8) -> Result<(), CatalogueError> {
        self.rows.replace(next, changes)?;
        self.counters.tally(held, -1);
        self.counters.tally(next, 1);
        Ok(())
    }

    /// Removes the row of a resource, and returns it.
    fn remove(&mut self, key: &[u8]) -> Result<Option<Resource>, CatalogueError> {
        let Some(held) = self.rows.held(key)? else { return Ok(None) };
        self.rows.remove(key)?;
        self.counters.tally(&held, -1);
        self.head.revision += 1;
        Ok(Some(held))
    }
}

impl<R: LedgerRows> CatalogueTransaction for ChangeLog<'_, R> {
    fn attempt(
        &mut self,
        work: &mut dyn FnMut(&mut dyn CatalogueTransaction) -> Result<(), CatalogueError>,
    ) -> Result<(), CatalogueError> {
        let (head, counters) = (self.head, self.counters.clone());
        // Several callers share a transaction, so the failure of one must not undo the work of the others.
        self.rows.save()?;
        let outcome = work(self);
        match outcome {
            Ok(()) => self.rows.release()?,
            Err(_) => {
                self.head = head;
                self.counters = counters;
                self.rows.undo()?;
            }
        }
        outcome
    }

    fn record(&mut self, observations: &[Observation]) -> Result<Recorded, CatalogueError> {
        let mut recorded = Recorded::default();
        self.rows.expect(observations)?;
        for observation in observations {
            match observation {
                Observation::Found(resource) => {
                    self.found(resource, &mut recorded, |held| held.same_bytes(&resource.state))?;
                }
                Observation::Rehashed { resource, also } => {
                    self.found(resource, &mut recorded, |held| held.digests.agrees_with(also) == Some(true))?;
                }
                Observation::Changed(resource) => self.found(resource, &mut recorded, |_| false)?,
                Observation::Gone { key } => self.gone(key, 0, &mut recorded)?,
                Observation::Moved { key, stays_in } => self.gone(key, *stays_in, &mut recorded)?,
            }
        }
        recorded.sequence = self.head.sequence;
        Ok(recorded)
    }

    fn complete_baseline(&mut self, sets: u64) {
        self.head.baselined |= sets;
    }

    fn set_meta(&mut self, values: &[NamedValue]) -> Result<(), CatalogueError> {
        self.rows.set_meta(values)
    }

    fn forget(&mut self, through: u64) -> Result<bool, CatalogueError> {
        // Limited, so that other callers do not wait for the removal of a long history.
        const AT_ONCE: u64 = 10_000;
        let through = through.min(self.head.sequence);
        let next = through.min(self.head.forgotten + AT_ONCE);
        self.rows.drop_changes(next)?;
        self.head.forgotten = self.head.forgotten.max(next);
        Ok(next < through)
    }

    fn move_all(&mut self, moved: &CatalogueMove) -> Result<(), CatalogueError> {
        self.rows.move_all(moved)?;
        if let CatalogueMove::Sets(moves) = moved {
            let before = self.head.baselined;
            self.head.baselined =
                moves.iter().fold(0, |sets, (from, to)| sets | ((before >> from) & 1) << to);
        }
        self.head.revision += 1;
        Ok(())
    }

    fn set_patches(&mut self, patches: &[(u64, Patch)]) -> Result<(), CatalogueError> {
        self.rows.set_patches(patches)
    }

    fn keep_versions(
        &mut self,
        versions: &[(Uri, ResourceVersion)],
        keep: Keep,
    ) -> Result<Vec<Digests>, CatalogueError> {
        let dropped = self.rows.keep_versions(versions, keep)?;
        self.rows.unreferenced(&dropped)
    }

    fn unreferenced(&mut self, digests: &[Digests]) -> Result<Vec<Digests>, CatalogueError> {
        self.rows.unreferenced(digests)
    }

    #[cfg(feature = "postgres")]
    fn share(&mut self, rows: &SharedRows) -> Result<(), CatalogueError> {
        self.rows.share(rows)
    }
}

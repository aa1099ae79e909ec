//! One list to its end, and the consequences for records that it does not have.

mod parts;
mod requests;

use super::{
    Harvest, HarvestError,
    identity::{DeletionPolicy, RepositoryIdentity},
    now,
    state::ListPosition,
};
use parts::ListVerb;
use requests::OVERLAP;

/// If a response has neither a date nor a record, the next list begins this many seconds before this one.
const UNKNOWN_CLOCK: i64 = 86_400;
/// A time of the last comparison that makes the next harvest compare again.
const AT_ONCE: i64 = 0;

impl Harvest<'_> {
    /// Reads the list of a format. If it is the rest of a list that an earlier harvest began, the repository may have kept it as
    /// it was then: the list of what is new since is read too (O997).
    pub(super) async fn list_up_to_now(
        &mut self,
        format: &str,
        identity: &mut RepositoryIdentity,
    ) -> Result<(), HarvestError> {
        let before = self.state.position(format)?;
        let is_old = |(began, now): (i64, i64)| began + OVERLAP < now;
        let is_old = before.is_open && before.started_at.zip(identity.answered_at).is_some_and(is_old);
        self.list(format, identity).await?;
        if is_old && !(self.ends)() { self.list(format, identity).await } else { Ok(()) }
    }

    /// Reads the list of a format: records that are new since the last one, or all.
    pub(super) async fn list(
        &mut self,
        format: &str,
        identity: &mut RepositoryIdentity,
    ) -> Result<(), HarvestError> {
        let mut at = self.state.position(format)?;
        if !at.is_open {
            let run = self.state.next_run()?;
            at = ListPosition {
                run,
                is_open: true,
                is_whole: at.next_from.is_none(),
                is_ordered: true,
                began_from: at.next_from,
                next_from: at.next_from,
                inventoried_at: at.inventoried_at,
                ..ListPosition::default()
            };
        }
        if !self.parts(format, ListVerb::Records, &mut at, identity).await? {
            return Ok(());
        }
        let mut commit = self.state.begin(&mut self.folder)?;
        if at.is_whole {
            let (unseen, held) = commit.count_unseen(format, at.run)?;
            let is_refused = self.options.guard.refuses(unseen, held);
            if !is_refused {
                self.report.changed += commit.remove_unseen(format, at.run)?;
            }
            // If the list lacks too many records, the list of identifiers is read next, and that decides.
            at.inventoried_at = Some(if is_refused { AT_ONCE } else { now() });
        }
        commit.forget_deletions(format)?;
        at.is_open = false;
        at.token = None;
        let begun = at.started_at.map(|started| started - OVERLAP);
        // A datestamp in the future or a wrong clock must not hide records of today from the next list.
        let reached = at.reached_at.map(|reached| reached.min(now() - UNKNOWN_CLOCK));
        let next = begun.map(|begun| begun.min(now() - OVERLAP)).or(reached).or(at.next_from);
        at.next_from = next.or_else(|| Some(now() - UNKNOWN_CLOCK));
        commit.finish(Some((format, &at)))
    }

    /// Returns `true` if the repository does not list deletions, records may have left the set that is harvested, or a list
    /// may have lacked records, and the last comparison is too long ago.
    pub(super) fn inventory_is_due(
        &self,
        format: &str,
        identity: &RepositoryIdentity,
    ) -> Result<bool, HarvestError> {
        let last = self.state.position(format)?.inventoried_at;
        if last == Some(AT_ONCE) {
            return Ok(true);
        }
        let every = i64::try_from(self.options.inventory_every.as_secs()).unwrap_or(i64::MAX);
        // A record that leaves a set is in no list of the set, not even as deleted.
        let leaves_sets = self.repository.url.set.is_some();
        let may_lack_records = last.is_some_and(i64::is_negative);
        let every = match identity.deletions {
            DeletionPolicy::No => every,
            DeletionPolicy::Persistent if !leaves_sets && !may_lack_records => return Ok(false),
            // Some repositories state more records than they ever send: each list of theirs may lack some.
            DeletionPolicy::Persistent | DeletionPolicy::Transient => every.saturating_mul(7),
        };
        Ok(last.is_none_or(|last| now().saturating_sub(last.abs()) >= every))
    }

    /// Compares the held records with the identifiers of all records: missing ones are deleted. If there are records
    /// that are not held, the next list reads everything.
    pub(super) async fn take_inventory(
        &mut self,
        format: &str,
        identity: &mut RepositoryIdentity,
    ) -> Result<(), HarvestError> {
        let held = self.state.position(format)?;
        // A list that only has to show missing records continues at its last datestamp if it loses its token; one that
        // decides about deletions begins again.
        let is_ordered =
            identity.deletions == DeletionPolicy::Persistent && self.repository.url.set.is_none();
        let mut at = ListPosition {
            run: self.state.next_run()?,
            is_whole: true,
            is_ordered,
            inventoried_at: Some(now()),
            ..ListPosition::default()
        };
        if !self.parts(format, ListVerb::Identifiers, &mut at, identity).await? {
            return Ok(());
        }
        let mut after = ListPosition {
            run: at.run,
            next_from: held.next_from.filter(|_| !at.has_strangers),
            inventoried_at: at.inventoried_at,
            ..held
        };
        let mut commit = self.state.begin(&mut self.folder)?;
        let (unseen, all) = commit.count_unseen(format, at.run)?;
        let is_refused = at.is_whole && self.options.guard.refuses(unseen, all);
        if is_refused {
            after.inventoried_at = Some(AT_ONCE);
        } else if at.is_whole {
            self.report.changed += commit.remove_unseen(format, at.run)?;
        }
        commit.finish(Some((format, &after)))?;
        if is_refused {
            // The deletion of all needs more than a higher limit.
            let (too_many, allowed) = match unseen == all && !self.options.guard.allow_empty {
                true => ("so that none would be left", "this is"),
                false => ("more than may be deleted at once", "as many deletions are"),
            };
            let what = format!(
                "no longer has {unseen} of the {all} records that are held in {format}, {too_many}; they stay published until \
                 {allowed} allowed"
            );
            self.lost(self.repository.url.base.clone(), what);
        }
        if at.has_strangers { Box::pin(self.list(format, identity)).await } else { Ok(()) }
    }
}

//! One list to its end, part by part: each part and the token of the next are committed together.

mod requests;

use instep_source::{PublishPhase, PublishProblem, PublishProgress};

use super::{
    Harvest, HarvestError,
    circle::Circle,
    identity::{DeletionPolicy, RepositoryIdentity},
    list_size::ListSize,
    now,
    owed::unusable_because,
    state::{ListPosition, RecordEffect},
};
use crate::{datestamp::seconds, response::OaiResponse};
use requests::{Answered, OVERLAP};

/// If a response has neither a date nor a record, the next list begins this many seconds before this one.
const UNKNOWN_CLOCK: i64 = 86_400;
/// The most parts without a record in a row; after that the list is given up.
const MOST_EMPTY: u32 = 1_000;
/// A time of the last comparison that makes the next harvest compare again.
const AT_ONCE: i64 = 0;
/// The most times that a list begins again at the same datestamp.
const MOST_EXPIRED: u32 = 3;

/// The verb of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListVerb {
    Records,
    Identifiers,
}

impl ListVerb {
    fn verb(self) -> &'static str {
        match self {
            Self::Records => "ListRecords",
            Self::Identifiers => "ListIdentifiers",
        }
    }
}

impl Harvest<'_> {
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
        at.is_open = false;
        at.token = None;
        let begun = at.started_at.map(|started| started - OVERLAP);
        // A datestamp in the future or a wrong clock must not hide records of today from the next list.
        let reached = at.reached_at.map(|reached| reached.min(now() - UNKNOWN_CLOCK));
        let next = begun.map(|begun| begun.min(now() - OVERLAP)).or(reached).or(at.next_from);
        at.next_from = next.or_else(|| Some(now() - UNKNOWN_CLOCK));
        commit.finish(Some((format, &at)))
    }

    /// Returns `true` if the repository does not list deletions, or records may have left the set that is harvested, and
    /// the last comparison is too long ago.
    pub(super) fn inventory_is_due(
        &self,
        format: &str,
        identity: &RepositoryIdentity,
    ) -> Result<bool, HarvestError> {
        let last = self.state.position(format)?.inventoried_at;
        let every = i64::try_from(self.options.inventory_every.as_secs()).unwrap_or(i64::MAX);
        // A record that leaves a set is in no list of the set, not even as deleted.
        let leaves_sets = self.repository.url.set.is_some();
        let every = match identity.deletions {
            DeletionPolicy::Persistent if leaves_sets => every.saturating_mul(7),
            DeletionPolicy::Persistent => return Ok(last == Some(AT_ONCE)),
            DeletionPolicy::Transient => every.saturating_mul(7),
            DeletionPolicy::No => every,
        };
        Ok(last.is_none_or(|last| now().saturating_sub(last) >= every))
    }

    /// Compares the held records with the identifiers of all records: missing ones are deleted. If there are records
    /// that are not held, the next list reads everything.
    pub(super) async fn take_inventory(
        &mut self,
        format: &str,
        identity: &mut RepositoryIdentity,
    ) -> Result<(), HarvestError> {
        let held = self.state.position(format)?;
        let mut at = ListPosition { run: self.state.next_run()?, is_whole: true, ..ListPosition::default() };
        if !self.parts(format, ListVerb::Identifiers, &mut at, identity).await? {
            return Ok(());
        }
        let mut after = ListPosition {
            run: at.run,
            next_from: held.next_from.filter(|_| !at.has_strangers),
            inventoried_at: Some(now()),
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
            let what = format!(
                "no longer has {unseen} of the {all} records that are held in {format}, more than may be deleted at once; they \
                 stay published until as many deletions are allowed"
            );
            self.lost(self.repository.url.base.clone(), what);
        }
        if at.has_strangers { Box::pin(self.list(format, identity)).await } else { Ok(()) }
    }

    /// Reads the parts of a list from its present position on; returns `false` if it ended early because it is no
    /// longer needed.
    async fn parts(
        &mut self,
        format: &str,
        listing: ListVerb,
        at: &mut ListPosition,
        identity: &mut RepositoryIdentity,
    ) -> Result<bool, HarvestError> {
        let (mut circle, mut empty) = (Circle::default(), 0);
        let (mut expired, mut begun_again_from) = (0, None);
        let mut size = ListSize::begin(at.token.is_none());
        loop {
            if (self.ends)() {
                return Ok(false);
            }
            let arguments = self.arguments(format, at, identity);
            let arguments: Vec<(&str, &str)> =
                arguments.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let (response, url) = self.repository.ask(listing.verb(), &arguments).await?;
            // Set even if nothing is new: the next list begins at a time of the repository's clock, never of this machine's.
            at.started_at = at.started_at.or_else(|| seconds(&response.date));
            if !response.errors.is_empty() && response.records.is_empty() {
                match self.answered(&response, &url, at, identity).await? {
                    // The list began again at the datestamp of its last record, which was there a moment ago: the answer
                    // "no records" is wrong, and the list is read from its beginning.
                    Answered::End if at.is_ordered && begun_again_from == Some(at.began_from) => {
                        (at.is_ordered, at.began_from) = (false, at.next_from);
                        circle = Circle::default();
                    }
                    Answered::End => {
                        // "No records" in answer to a token may mean that the rest of the list was lost.
                        at.is_whole &= at.token.is_none();
                        return Ok(true);
                    }
                    Answered::Again => {
                        let is_further = begun_again_from.replace(at.began_from) != Some(at.began_from);
                        expired = if is_further { 0 } else { expired + 1 };
                        if expired == MOST_EXPIRED {
                            return Err(HarvestError::Tokens { url });
                        }
                        circle = Circle::default();
                    }
                }
                continue;
            }
            if circle.is_closed_by(&response) && response.token.is_some() {
                return Err(HarvestError::Circle {
                    format: format.to_owned(),
                    records: self.report.seen,
                    url,
                });
            }
            if response.is_whole && !response.has_list {
                // An answer without a list is not an empty list: taken for one, it would delete all records (B34).
                return Err(HarvestError::Unusable {
                    url,
                    what: "no list: it has neither a list nor an error",
                });
            }
            // If the last part has no records, the rest of the list may have been lost.
            at.is_whole &= at.token.is_none() || !response.records.is_empty() || response.token.is_some();
            empty = if response.records.is_empty() { empty + 1 } else { 0 };
            if empty > MOST_EMPTY {
                return Err(HarvestError::Empty { format: format.to_owned(), url });
            }
            self.part(format, listing, &response, &url, at)?;
            if !response.is_whole {
                // The received records are held; without the end of the response it is unknown if there is a token.
                let what =
                    "half a list: the response is truncated; the next harvest requests the rest of the list";
                return Err(HarvestError::Unusable { url, what });
            }
            size.count(&response);
            if at.token.is_none() {
                if let Some(what) = size.shortage() {
                    at.is_whole = false;
                    self.monitor.problem(&PublishProblem::warning(url, what));
                }
                return Ok(true);
            }
        }
    }

    /// Commits a part of a list with the place after it.
    fn part(
        &mut self,
        format: &str,
        listing: ListVerb,
        response: &OaiResponse,
        url: &str,
        at: &mut ListPosition,
    ) -> Result<(), HarvestError> {
        for fault in &response.faults {
            let subject = format!("{} in {url}", fault.record);
            // An incomplete list deletes nothing.
            at.is_whole &= !fault.is_lost;
            if fault.is_lost && listing == ListVerb::Records {
                self.lost(subject, &fault.what)
            } else {
                self.monitor.problem(&PublishProblem::warning(subject, &fault.what))
            }
        }
        for error in &response.errors {
            at.is_whole = false;
            let what = format!("answers {} beside records: the list may be incomplete", error.code);
            self.lost(url, what);
        }
        let is_of_records = listing == ListVerb::Records;
        let mut unusable = Vec::new();
        let mut commit = self.state.begin(&mut self.folder)?;
        if is_of_records {
            commit.owe_damaged(format, &response.faults)?;
        }
        for record in &response.records {
            if let Some(what) = unusable_because(record, is_of_records) {
                commit.owe(format, &record.identifier)?;
                unusable.push((record.identifier.clone(), what));
                continue;
            }
            if let Some(datestamp) = seconds(&record.datestamp) {
                at.is_ordered &= at.reached_at.is_none_or(|reached| reached <= datestamp);
                at.reached_at = at.reached_at.max(Some(datestamp));
            } else {
                at.is_ordered = false;
            }
            match listing {
                ListVerb::Records => {
                    let taken = commit.take(format, record, at.run, self.options.full_texts)?;
                    self.report.changed += u64::from(taken != RecordEffect::Same);
                }
                ListVerb::Identifiers => at.has_strangers |= !commit.note(format, record, at.run)?,
            }
            self.report.bytes += record.metadata.as_ref().map_or(0, |metadata| metadata.len() as u64);
        }
        self.report.seen += response.records.len() as u64;
        at.is_whole &= unusable.is_empty();
        if response.is_whole {
            at.token.clone_from(&response.token);
        }
        commit.finish(is_of_records.then_some((format, &*at)))?;
        for (identifier, what) in unusable {
            let subject = if identifier.is_empty() { "a record".to_owned() } else { identifier };
            self.lost(format!("{subject} in {url}"), what);
        }
        let (seen, bytes) = (self.report.seen, self.report.bytes);
        self.monitor.progress(PublishProgress::new(PublishPhase::Scan, seen, bytes));
        Ok(())
    }
}

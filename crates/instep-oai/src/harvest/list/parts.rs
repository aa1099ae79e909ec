//! A list part by part: each part and the token of the next are committed together, and a list without an end is
//! given up.

use instep_source::{PublishPhase, PublishProblem, PublishProgress};

use super::{
    super::{
        Harvest, HarvestError,
        circle::Circle,
        identity::RepositoryIdentity,
        list_size::ListSize,
        owed::unusable_because,
        state::{ListPosition, RecordEffect},
    },
    requests::{Answered, OVERLAP},
};
use crate::{
    datestamp::seconds,
    response::{OaiRecord, OaiResponse},
};

/// The most parts without a record in a row; after that the list is given up.
const MOST_EMPTY: u32 = 1_000;
/// The most times that a list begins again at the same datestamp.
const MOST_EXPIRED: u32 = 3;

/// The verb of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListVerb {
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

/// The signs by which a list that never ends is recognized.
#[derive(Default)]
struct EndlessList {
    circle: Circle,
    /// The parts without a record, up to the present one.
    empty: u32,
    /// The times that the list began again at the same datestamp.
    expired: u32,
    /// The datestamp at which the list began again last; `None` if it never did.
    begun_again_from: Option<Option<i64>>,
}

impl EndlessList {
    /// Takes an answer that is an error; returns `true` if the list is at its end. Otherwise it is requested again.
    fn ends_with(
        &mut self,
        answered: Answered,
        at: &mut ListPosition,
        url: &str,
    ) -> Result<bool, HarvestError> {
        match answered {
            // The list began again at the datestamp of its last record, which was there a moment ago: the answer
            // "no records" is wrong, and the list is read from its beginning.
            Answered::End if at.is_ordered && self.begun_again_from == Some(at.began_from) => {
                at.begin_unordered();
            }
            Answered::End => return Ok(true),
            Answered::Again => {
                let is_further = self.begun_again_from.replace(at.began_from) != Some(at.began_from);
                self.expired = if is_further { 0 } else { self.expired + 1 };
                if self.expired == MOST_EXPIRED {
                    return Err(HarvestError::Tokens { url: url.to_owned() });
                }
            }
        }
        self.circle = Circle::default();
        Ok(false)
    }

    /// Checks a part before its records are taken; `seen` is the number of records before it.
    fn check(
        &mut self,
        response: &OaiResponse,
        format: &str,
        url: &str,
        seen: u64,
    ) -> Result<(), HarvestError> {
        if self.circle.is_closed_by(response) && response.token.is_some() {
            return Err(HarvestError::Circle {
                format: format.to_owned(),
                records: seen,
                url: url.to_owned(),
            });
        }
        if response.is_whole && !response.has_list {
            // An answer without a list is not an empty list: taken for one, it would delete all records (B34).
            let what = "no list: it has neither a list nor an error";
            return Err(HarvestError::Unusable { url: url.to_owned(), what });
        }
        self.empty = if response.records.is_empty() { self.empty + 1 } else { 0 };
        if self.empty > MOST_EMPTY {
            return Err(HarvestError::Empty { format: format.to_owned(), url: url.to_owned() });
        }
        Ok(())
    }
}

impl Harvest<'_> {
    /// Reads the parts of a list from its present position on; returns `false` if it ended early because it is no
    /// longer needed.
    pub(super) async fn parts(
        &mut self,
        format: &str,
        listing: ListVerb,
        at: &mut ListPosition,
        identity: &mut RepositoryIdentity,
    ) -> Result<bool, HarvestError> {
        let mut endless = EndlessList::default();
        let mut size = ListSize::resume(at);
        let mut has_errors = false;
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
                let began_from = at.began_from;
                let answered = self.answered(&response, &url, at, identity).await?;
                if endless.ends_with(answered, at, &url)? {
                    // "No records" in answer to a token may mean that the rest of the list was lost.
                    let is_cut = at.token.is_some();
                    self.end(at, &size, &url, is_cut, has_errors);
                    return Ok(true);
                }
                if !at.has_begun_later() {
                    size = ListSize::begin();
                } else if at.began_from == began_from {
                    size.begin_again();
                } else {
                    size.begin_later();
                }
                continue;
            }
            endless.check(&response, format, &url, self.report.seen)?;
            has_errors |= !response.errors.is_empty();
            // If the last part has no records, and does not say that it is the last one, the rest may have been lost.
            let has_more = !response.records.is_empty() || response.token.is_some() || response.has_end;
            let is_cut = at.token.is_some() && !has_more;
            self.part(format, listing, &response, &url, at)?;
            if !response.is_whole {
                // The received records are held; without the end of the response it is unknown if there is a token.
                let what =
                    "half a list: the response is truncated; the next harvest requests the rest of the list";
                return Err(HarvestError::Unusable { url, what });
            }
            size.count(&response, identity.granularity);
            if at.token.is_none() {
                if size.lacks_rest() && at.has_begun_later() {
                    // Its records are in another order than that of their datestamps: the older ones are still to come.
                    at.begin_unordered();
                    (endless.circle, size) = (Circle::default(), ListSize::begin());
                    continue;
                }
                self.end(at, &size, &url, is_cut, has_errors);
                return Ok(true);
            }
        }
    }

    /// Judges a list at its end. One that may lack records deletes nothing, and the records are compared.
    fn end(&self, at: &mut ListPosition, size: &ListSize, url: &str, is_cut: bool, has_errors: bool) {
        let shortage = size.shortage();
        // A list that began again at its last datestamp lacks older records if it is in another order.
        let is_suspect = has_errors || at.has_begun_later();
        let is_complete = size.is_complete();
        // Some repositories cut each list off: one comparison is enough for them.
        let is_first_cut = is_cut && at.inventoried_at.is_none();
        if shortage.is_some() || (!is_complete && (is_suspect || is_first_cut)) {
            at.doubt();
        }
        at.is_whole &= is_complete || !is_cut;
        if let Some(what) = shortage {
            self.monitor.problem(&PublishProblem::warning(url, what));
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
        self.report_faults(listing, response, url, at);
        let is_of_records = listing == ListVerb::Records;
        // A record that changed while the lists were read comes with the next list of records.
        let next = self.state.position(format)?.next_from.map(|next| next + OVERLAP);
        let comes_next =
            |record: &OaiRecord| next.is_some_and(|next| seconds(&record.datestamp) >= Some(next));
        // Reported when the part is committed.
        let mut unusable = Vec::new();
        let mut commit = self.state.begin(&mut self.folder)?;
        if is_of_records {
            commit.owe_damaged(format, &response.faults)?;
        }
        for record in &response.records {
            if let Some(what) = unusable_because(record, is_of_records) {
                commit.owe(format, &record.identifier)?;
                unusable.push((&*record.identifier, what));
                continue;
            }
            at.pass(seconds(&record.datestamp));
            match listing {
                ListVerb::Records => {
                    let taken = commit.take(format, record, at.run, self.options.full_texts)?;
                    self.report.changed += u64::from(taken != RecordEffect::Same);
                }
                ListVerb::Identifiers => match commit.note(format, record, at.run)? {
                    Some(noted) => self.report.changed += u64::from(noted != RecordEffect::Same),
                    None => at.has_strangers |= !comes_next(record),
                },
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
            self.lost_record(identifier, url, what);
        }
        let (seen, bytes) = (self.report.seen, self.report.bytes);
        self.monitor.progress(PublishProgress::new(PublishPhase::Scan, seen, bytes));
        Ok(())
    }

    /// Reports a record of a part that cannot be used.
    fn lost_record(&mut self, identifier: &str, url: &str, what: &str) {
        let subject = if identifier.is_empty() { "a record" } else { identifier };
        self.lost(format!("{subject} in {url}"), what);
    }

    /// Reports the faults of a part. A list that lost records is incomplete, and deletes nothing.
    fn report_faults(&mut self, listing: ListVerb, response: &OaiResponse, url: &str, at: &mut ListPosition) {
        for fault in &response.faults {
            let subject = format!("{} in {url}", fault.record);
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
    }
}

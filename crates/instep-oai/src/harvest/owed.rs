//! Records that an earlier harvest had to leave out, requested again one by one: the repository may have repaired them
//! without a new datestamp, and then no list has them again.

use instep_store::error_chain;

use super::{Harvest, HarvestError};
use crate::response::{OaiRecord, OaiResponse};

/// Records that a harvest requests again, those that waited longest first.
const MOST_REQUESTS: usize = 100;

impl Harvest<'_> {
    /// Requests the records of a format that were left out before. Those that are still damaged are reported again, so
    /// that nobody takes the harvest for complete.
    pub(super) async fn retry_owed(&mut self, format: &str) -> Result<(), HarvestError> {
        let run = self.state.position(format)?.run;
        let (owed, more) = self.state.owed(format, MOST_REQUESTS)?;
        let mut waiting = owed.into_iter();
        while let Some(identifier) = waiting.next() {
            if (self.ends)() {
                return Ok(());
            }
            let arguments = [("identifier", &*identifier), ("metadataPrefix", format)];
            let (response, url) = match self.repository.ask("GetRecord", &arguments).await {
                Ok(answer) => answer,
                Err(HarvestError::Http(error)) => {
                    // One failed request ends them all: each attempt takes long, and the list of new records should not
                    // wait. The record goes to the end of the queue, so that the others come before it next time.
                    let commit = self.state.begin(&mut self.folder)?;
                    commit.owe(format, &identifier)?;
                    commit.finish(None)?;
                    let others = match waiting.len() as u64 + more {
                        0 => String::new(),
                        others => format!(
                            "; {others} more records of {format} are left out and wait for the next harvest"
                        ),
                    };
                    self.lost(identifier, format!("cannot be requested: {}{others}", error_chain(&error)));
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            let verdict = RetriedRecord::of(&response, &identifier);
            let mut commit = self.state.begin(&mut self.folder)?;
            match &verdict {
                RetriedRecord::Arrived(record) => {
                    commit.take(format, record, run, self.options.full_texts)?;
                    self.report.changed += 1;
                }
                RetriedRecord::Gone => commit.no_longer_owed(format, &identifier)?,
                RetriedRecord::Damaged(_) => commit.owe(format, &identifier)?,
            }
            commit.finish(None)?;
            if let RetriedRecord::Damaged(what) = verdict {
                self.lost(format!("{identifier} in {url}"), what);
            }
        }
        if more > 0 {
            self.lost(
                self.repository.url.base.clone(),
                format!("{more} more records of {format} are left out"),
            );
        }
        Ok(())
    }
}

/// The state of a record that was requested again.
enum RetriedRecord<'r> {
    Arrived(&'r OaiRecord),
    /// The repository no longer has it, or not in this format.
    Gone,
    Damaged(String),
}

impl<'r> RetriedRecord<'r> {
    fn of(response: &'r OaiResponse, identifier: &str) -> Self {
        let record = response.records.iter().find(|record| record.identifier == identifier);
        if let Some(record) = record {
            return match unusable_because(record, true) {
                Some(what) => Self::Damaged(what.to_owned()),
                None => Self::Arrived(record),
            };
        }
        let is_gone = |code: &str| ["idDoesNotExist", "cannotDisseminateFormat"].contains(&code);
        match (response.errors.first(), response.faults.first()) {
            (Some(error), _) if is_gone(&error.code) => Self::Gone,
            (Some(error), _) => Self::Damaged(format!("the repository answers {}", error.code)),
            (None, Some(fault)) => Self::Damaged(fault.what.clone()),
            (None, None) => Self::Damaged("the answer does not have the record".to_owned()),
        }
    }
}

/// Returns the reason why a record cannot be held; `None` if it can.
pub(super) fn unusable_because(record: &OaiRecord, needs_metadata: bool) -> Option<&'static str> {
    if record.identifier.is_empty() {
        return Some("has no identifier");
    }
    let is_empty = needs_metadata && !record.is_deleted && record.metadata.is_none();
    is_empty.then_some("has no metadata and is not deleted")
}

//! A repository's description of itself.

use super::{HarvestError, requests::Repository};
use crate::datestamp::{Granularity, seconds};

/// The treatment of deleted records by a repository (OAI-PMH §2.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeletionPolicy {
    /// Each deletion is listed for ever.
    Persistent,
    /// Deletions are listed for a while.
    Transient,
    /// Deletions are not listed, or this is unknown.
    No,
}

/// The answer to `Identify`, as far as a harvest depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RepositoryIdentity {
    pub(crate) granularity: Granularity,
    pub(crate) deletions: DeletionPolicy,
    /// The first datestamp; some repositories refuse an earlier one.
    pub(crate) earliest: Option<i64>,
    /// The time at which it answered, by its own clock.
    pub(crate) answered_at: Option<i64>,
}

impl RepositoryIdentity {
    /// Requests the identity of a repository (`Identify`).
    ///
    /// # Errors
    /// If it does not answer, or answers with an error.
    pub(crate) async fn ask(repository: &Repository) -> Result<Self, HarvestError> {
        let (response, url) = repository.ask("Identify", &[]).await?;
        if let Some(error) = response.errors.first().cloned() {
            return Err(HarvestError::Refused { url, error });
        }
        if response.identity.is_empty() {
            let what = "nothing: the response identifies no repository";
            return Err(HarvestError::Unusable { url, what });
        }
        let deletions = match response.field("deletedRecord").to_ascii_lowercase().as_str() {
            "persistent" => DeletionPolicy::Persistent,
            "transient" => DeletionPolicy::Transient,
            _ => DeletionPolicy::No,
        };
        Ok(Self {
            granularity: Granularity::parse(response.field("granularity")),
            deletions,
            earliest: seconds(response.field("earliestDatestamp")),
            answered_at: seconds(&response.date),
        })
    }
}

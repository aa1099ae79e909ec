//! A harvest: identify the repository, read each list to its end, find deleted records, fetch full texts.
//! [`Harvest::run`] owns that order.
//!
//! A part of a list is one commit: new files are written and replaced ones staged, everything is synced, the state
//! commits records, the next token and the pending names, then files are named and removed. A kill in between is
//! resolved at the next start. A lost token is replaced by the last datestamp, provided that the datestamps of the
//! list only grew. Deletions come from the protocol, or from a list of everything without damage.

mod circle;
mod error;
mod folder;
mod full_texts;
mod identity;
mod list;
mod list_size;
mod owed;
mod requests;
mod state;

use std::{
    path::Path,
    time::{Duration, SystemTime},
};

use instep_net::Client;
use instep_source::{DeletionGuard, PublishMonitor, PublishProblem};
use instep_store::LockError;
use resourcesync::DateTime;

pub(crate) use error::HarvestError;
use folder::HarvestFolder;
use identity::RepositoryIdentity;
pub(crate) use requests::Repository;
use state::HarvestState;
pub(crate) use state::{HarvestStateView, HarvestedFile, HarvestedKind};

use crate::RepositoryUrl;

/// Options of harvesting a repository.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HarvestOptions {
    /// Fetches the full texts that records name.
    pub full_texts: bool,
    /// The interval of harvests of a Source that is served; 1 h.
    pub every: Duration,
    /// The interval at which the held records are compared with those of a repository that does not record deletions;
    /// 24 h. A repository that records them for a while, or of which a set is harvested, is compared after seven times
    /// this.
    pub inventory_every: Duration,
    /// The held records that may be missing in a list of all records: if there are more, none of them is deleted.
    pub guard: DeletionGuard,
}

impl Default for HarvestOptions {
    fn default() -> Self {
        let hour = Duration::from_secs(3_600);
        let guard = DeletionGuard::default();
        Self { full_texts: false, every: hour, inventory_every: 24 * hour, guard }
    }
}

/// The outcome of a harvest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HarvestReport {
    /// Records in the lists.
    pub(crate) seen: u64,
    /// Records and full texts that are held in another state now, or no longer.
    pub(crate) changed: u64,
    /// Records and full texts that are left out for a fault.
    pub(crate) lost: u64,
    /// Bytes of the metadata seen.
    pub(crate) bytes: u64,
}

/// A harvest that is under way.
pub(crate) struct Harvest<'a> {
    repository: Repository,
    options: &'a HarvestOptions,
    folder: HarvestFolder,
    state: HarvestState,
    monitor: &'a dyn PublishMonitor,
    /// Returns `true` when the harvest is no longer needed.
    ends: &'a dyn Fn() -> bool,
    /// The outcome so far, which is also that of a harvest that failed.
    pub(crate) report: HarvestReport,
}

impl<'a> Harvest<'a> {
    /// Opens the folder and the state of a harvest; `None` if another process harvests into the folder now.
    ///
    /// # Errors
    /// If the folder or the state cannot be opened.
    pub(crate) fn open(
        repository: Repository,
        place: &Path,
        options: &'a HarvestOptions,
        monitor: &'a dyn PublishMonitor,
        ends: &'a dyn Fn() -> bool,
    ) -> Result<Option<Self>, HarvestError> {
        let mut folder = match HarvestFolder::open(place) {
            Ok(folder) => folder,
            Err(LockError::Held { .. }) => return Ok(None),
            Err(error) => return Err(std::io::Error::other(error).into()),
        };
        let mut state = HarvestState::open(place)?;
        state.settle(&mut folder)?;
        Ok(Some(Self { repository, options, folder, state, monitor, ends, report: HarvestReport::default() }))
    }

    /// Requests the identity of a repository.
    ///
    /// # Errors
    /// If it cannot be reached, or does not answer as a repository.
    pub(crate) async fn probe(url: &RepositoryUrl, client: Client) -> Result<(), HarvestError> {
        RepositoryIdentity::ask(&Repository { url: url.clone(), client }).await.map(drop)
    }

    /// Harvests records that are new since the last time, or all records the first time.
    ///
    /// # Errors
    /// If a list cannot be read to its end. Records read until then are held, and the next harvest continues from
    /// there. The lists of other formats and full texts are requested all the same, unless the repository is out of reach.
    pub(crate) async fn run(&mut self) -> Result<(), HarvestError> {
        let key = self.repository.url.key();
        if self.state.key()?.as_deref() != Some(&key) {
            self.state.begin_anew(&key)?;
        }
        let mut commit = self.state.begin(&mut self.folder)?;
        commit.want_full_texts(self.options.full_texts)?;
        commit.finish(None)?;
        let mut identity = RepositoryIdentity::ask(&self.repository).await?;
        let formats = self.repository.url.formats.clone();
        let mut listed = Ok(());
        for format in &formats {
            match self.records_of(format, &mut identity).await {
                Err(error) if error.is_of_one_list() && listed.is_ok() => listed = Err(error),
                Err(error) if error.is_of_one_list() => self.lost(format, error.in_words()),
                ended => ended?,
            }
        }
        if (self.ends)() {
            return listed;
        }
        let mut commit = self.state.begin(&mut self.folder)?;
        commit.keep_formats(&formats)?;
        commit.finish(None)?;
        if self.options.full_texts {
            self.fetch_full_texts().await?;
        }
        listed
    }

    /// Harvests the records of one format.
    async fn records_of(
        &mut self,
        format: &str,
        identity: &mut RepositoryIdentity,
    ) -> Result<(), HarvestError> {
        self.retry_owed(format).await?;
        self.list_up_to_now(format, identity).await?;
        if !(self.ends)() && self.inventory_is_due(format, identity)? {
            self.take_inventory(format, identity).await?;
        }
        Ok(())
    }

    fn lost(&mut self, subject: impl Into<String>, what: impl Into<String>) {
        self.report.lost += 1;
        self.monitor.problem(&PublishProblem::skipped(subject, what));
    }
}

/// Returns the time of this machine in seconds since 1970.
pub(crate) fn now() -> i64 {
    DateTime::from(SystemTime::now()).instant().0
}

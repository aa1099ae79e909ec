//! Help for the run of another worker: carries out slices of a large plan that it shares. The protocol is described in
//! `slices.rs`.

use crate::{
    Error, Monitor, Shutdown, SyncOptions, SyncReport,
    run::{HelpedCopy, LocalCopy, RunLimits, SyncRun},
    state::{StateError, WaitingPlans},
};

/// Claims slices of the plan that another run over the same copy shares, until none is free, and commits their
/// results. The options are those of that run, except for the folder, which only stages incoming files. Returns the
/// result; `None` if no plan is shared. The run that shares the plan also reports it.
///
/// # Errors
/// If the state, the storage or the network cannot be used, or this worker's share has ended.
pub async fn help(options: &SyncOptions, monitor: &dyn Monitor) -> Result<Option<SyncReport>, Error> {
    let Some(HelpedCopy { copy, set, board }) = LocalCopy::take_share(options)? else { return Ok(None) };
    let mut run = SyncRun::begin(options, monitor, RunLimits::of(options), |_| Ok(copy))?;
    let wait_reporter = run.wait_reporter();
    let result = wait_reporter.during(Box::pin(run.fetch_slices(set, board))).await;
    run.end(result).map(Some)
}

/// The plans of all copies in a database that are shared by their runs.
#[derive(Debug)]
pub struct SharedPlans(WaitingPlans);

impl SharedPlans {
    /// Returns the shared plans at the URL of a state. After the shutdown the server is not waited for any more.
    ///
    /// # Errors
    /// If it is not a PostgreSQL URL.
    pub fn at(url: &str, shutdown: &Shutdown) -> Result<Self, Error> {
        Ok(Self(WaitingPlans::at(url, shutdown.token()).map_err(StateError::from)?))
    }

    /// Returns the names of the copies whose plans have unclaimed slices.
    ///
    /// # Errors
    /// If the server cannot be reached, or fails.
    pub fn waiting(&mut self) -> Result<Vec<String>, Error> {
        Ok(self.0.names().map_err(StateError::from)?)
    }

    /// Ends the shares that a process had in plans of others, so that their slices are free at once. The process, named
    /// as in `process 7 on host`, must have ended.
    ///
    /// # Errors
    /// If the server cannot be reached, or fails.
    pub fn end_shares_of(&mut self, process: &str) -> Result<(), Error> {
        Ok(self.0.end_shares_of(process).map_err(StateError::from)?)
    }
}

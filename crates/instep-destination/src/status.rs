//! The status of a copy, read from its state alone.

use std::{collections::BTreeMap, path::Path};

use instep_store::{Lock, RootFolder};

use crate::{
    CopyLocation, Coverage, Error, ObjectsStatus, RunStatus, Shutdown, SourceStatus, Status, Strategy,
    records,
    run::{LocalCopy, storage},
    state::{LoggedProblem, Owed, ReadState, SetId, SourceId},
    store::FolderStore,
    versions::resources_held,
};

/// Rows read at a time.
const PAGE: usize = 1_000;

/// Returns the status of the copy in a folder: its resources, its pending retries, its checkpoint and its last run. It
/// does not use the network, and works while a run uses the copy.
///
/// ```no_run
/// let status = instep_destination::status("/srv/copy".as_ref())?;
/// println!("{} resources held, {} owed", status.held, status.owed);
/// # Ok::<(), instep_destination::Error>(())
/// ```
///
/// # Errors
/// If the folder holds no copy, or the state cannot be read.
pub fn status(dir: &Path) -> Result<Status, Error> {
    CopyLocation::in_folder(dir).status()
}

/// The size of a copy, or of a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopySize {
    /// The number of resources.
    pub resources: u64,
    /// The number of their bytes.
    pub bytes: u64,
}

impl CopySize {
    /// Returns the size of a number of resources with a number of bytes.
    pub fn new(resources: u64, bytes: u64) -> Self {
        Self { resources, bytes }
    }
}

impl CopyLocation {
    /// Returns the status of the copy, also if its state is in PostgreSQL and this machine has never run it.
    ///
    /// # Errors
    /// If there is no copy, or the state cannot be read.
    pub fn status(&self) -> Result<Status, Error> {
        let state = LocalCopy::state_at(self)?.open_beside()?;
        let dir = &*self.dir;
        let mut status = Status::new(dir);
        status.url = state.setting(LocalCopy::URL)?;
        status.held = resources_held(&*state)?;
        status.bytes = state.held_bytes()?;
        status.owed = state.owed_count()?;
        let sets: Vec<_> = state.sets()?.into_iter().map(|(set, _)| set).collect();
        status.checkpoint = state.reached(&sets)?;
        status.problems = problems(&*state, &sets)?;
        if let Some(run) = last_run(&*state, None)? {
            (status.last_run, status.last_exit_code) = (run.ended, run.exit_code);
            (status.last_summary, status.last_problems) = (run.summary, run.problems);
        }
        for (source, url) in state.sources()? {
            status.sources.push(status_of(&*state, source, url)?);
        }
        status.objects = objects(&*state)?;
        // For a copy in object storage the folder has only the state.
        status.free = if status.objects.is_some() { None } else { FolderStore::free_bytes(dir) };
        status.running = is_locked(&LocalCopy::own_folder(dir));
        Ok(status)
    }

    /// Returns the size of the copy. It costs less than [`CopyLocation::status`], and a fleet calls it after each look
    /// that changed something. After the shutdown a database is not waited for any more.
    ///
    /// # Errors
    /// If there is no copy, or the state cannot be read.
    pub fn size(&self, shutdown: &Shutdown) -> Result<CopySize, Error> {
        let state = LocalCopy::state_at(self)?.until(shutdown).open_beside()?;
        Ok(CopySize::new(resources_held(&*state)?, state.held_bytes()?))
    }
}

/// Returns the totals of a copy in object storage; `None` if its bytes are in the folder.
fn objects(state: &dyn ReadState) -> Result<Option<ObjectsStatus>, Error> {
    let Some(place) = storage::place_of(state)? else { return Ok(None) };
    let totals = state.pack_totals()?;
    let (packs, bytes, dead) = (totals.objects, totals.bytes, totals.dead);
    Ok(Some(ObjectsStatus { place: place.to_string(), packs, bytes, dead }))
}

/// Returns the held and owed resources of one Source, and the result of its last run.
fn status_of(state: &dyn ReadState, source: SourceId, url: String) -> Result<SourceStatus, Error> {
    let sets = state.sets_of(source)?;
    let problems = problems(state, &sets)?;
    let mut coverage: Option<Coverage> = None;
    let mut kept = 0;
    for set in &sets {
        kept += records::kept::read(state, *set)?.all;
        if let Some(known) = records::coverage::read(state, *set)? {
            coverage = Some(coverage.map_or(known, |least| least.least(known)));
        }
    }
    Ok(SourceStatus {
        url,
        held: state.held_in(&sets)?,
        owed: problems.values().sum(),
        problems,
        kept,
        checkpoint: state.reached(&sets)?,
        coverage,
        last_run: last_run(state, Some(source))?,
    })
}

/// Returns the last finished run, over one Source or over any.
fn last_run(state: &dyn ReadState, source: Option<SourceId>) -> Result<Option<RunStatus>, Error> {
    let Some((run, problems)) = state.last_ended_run(source)? else { return Ok(None) };
    let documents = Strategy::parse(&run.what).and_then(Strategy::documents);
    let summary = run.summary.map(|summary| match documents {
        Some(documents) => format!("using {documents}: {summary}"),
        None => summary,
    });
    let counted = |problem: LoggedProblem| (problem.kind, (problem.count, problem.message));
    let problems = problems.into_iter().map(counted).collect();
    Ok(Some(RunStatus { ended: run.finished, exit_code: run.exit_code, summary, problems }))
}

/// Returns the number of pending resources of some sets, by the kind of problem.
fn problems(state: &dyn ReadState, sets: &[SetId]) -> Result<BTreeMap<String, u64>, Error> {
    let mut problems: BTreeMap<String, u64> = BTreeMap::new();
    for set in sets {
        let mut after: Option<String> = None;
        loop {
            let page = state.owed_after(*set, after.as_deref(), PAGE)?;
            let Some(last) = page.last() else { break };
            after = Some(last.desired.uri.as_str().to_owned());
            for Owed { why, .. } in page {
                let kind = why.split(':').next().unwrap_or_default().to_owned();
                *problems.entry(kind).or_default() += 1;
            }
        }
    }
    Ok(problems)
}

/// Returns `true` if a run uses the copy. A lock that cannot be opened counts as free, because no run could take it
/// either.
fn is_locked(own: &Path) -> bool {
    RootFolder::open(own).is_ok_and(|own| Lock::is_taken(own).unwrap_or(false))
}

#[cfg(all(test, feature = "postgres"))]
mod tests {
    use std::{
        net::TcpListener,
        time::{Duration, Instant},
    };

    use super::*;

    #[test]
    fn o711_the_size_of_a_copy_in_a_database_is_not_waited_for_after_the_shutdown() {
        // It takes connections and says nothing.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let state = format!("postgres://me@{}/copies?copy=a", silent.local_addr().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let copy = CopyLocation::in_folder(folder.path()).with_state(state);
        let shutdown = Shutdown::new();
        shutdown.request();
        let began = Instant::now();
        assert!(copy.size(&shutdown).is_err());
        assert!(began.elapsed() < Duration::from_secs(20), "it waited as long as a run does");
    }
}

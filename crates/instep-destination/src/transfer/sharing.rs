//! Sharing of large plans: the run that has the copy writes its plan as slices. The protocol is described in
//! `slices.rs`.

use std::sync::Arc;

use instep_net::Origin;

use super::pipeline::PAGE;
use crate::{
    Error,
    map::Mapper,
    records::slice,
    run::{SetRun, SyncRun},
    slices::{CutSlice, SliceCutter},
    state::{Action, ActionKind, NewSlice, SharePlan, SliceBoard},
};

/// The least number of fetches of a plan that is shared. With fewer, one worker is done before others could help much.
const LEAST_SHARED: u64 = 4_096;

/// The number of slices that are written together.
const AT_A_TIME: usize = 32;

impl SyncRun<'_> {
    /// Returns `true` if other workers could help with the fetches of a plan, and these are many.
    pub(super) fn may_share(&self, set: &SetRun) -> bool {
        let options = self.options;
        // Other workers support neither a past state nor versions, write no archive, and deliver no changes. A Source
        // that requests a pause between requests is fetched by one worker.
        let is_plain = options.as_of.is_none()
            && self.versions.is_none()
            && options.archive.is_none()
            && options.changes.is_none()
            && !self.is_paced;
        let kinds = [ActionKind::Create, ActionKind::Update, ActionKind::Check];
        options.shares_plan
            && is_plain
            && self.copy.store.packs().is_some()
            && set.with(|draft| kinds.iter().map(|kind| draft.actions().count_of(*kind)).sum::<u64>())
                >= LEAST_SHARED
    }

    /// Shares the fetches of a plan with other workers; `None` if the state cannot. Actions that stay in the plan are
    /// for this run only.
    pub(super) fn share(&mut self, set: &SetRun) -> Result<Option<Box<dyn SliceBoard>>, Error> {
        self.copy.keep_base()?;
        let mapper = Arc::clone(&self.copy.mapper);
        let Some(sharing) = self.copy.state_mut()?.sharing() else { return Ok(None) };
        note_folders(set, &mapper)?;
        sharing.begin_plan(set.id)?;
        let mut sealing = Sealing { sharing, set, slices: Vec::new() };
        let (mut cutter, mut before) = (SliceCutter::default(), String::new());
        let mut after = (String::new(), 0);
        while let Some(page) = next_page(set, &mut after)? {
            if self.options.shutdown.is_requested() {
                // The slices written so far are invisible to other workers, and the next run removes them.
                return Ok(None);
            }
            for action in page {
                let uri = action.desired.uri.as_str();
                let is_named_twice = before == uri;
                uri.clone_into(&mut before);
                if is_named_twice || stays(set, &mapper, &action)? {
                    continue;
                }
                let origin = Origin::parse(uri).map(|origin| origin.to_string()).unwrap_or_default();
                if let Some(cut) = cutter.push(action, &origin) {
                    sealing.add(&cut)?;
                }
            }
        }
        if let Some(cut) = cutter.finish() {
            sealing.add(&cut)?;
        }
        sealing.flush()?;
        let board = sealing.sharing.seal_plan()?;
        self.reporter.note("The plan is large: other workers of the fleet take slices of it");
        Ok(Some(board))
    }
}

/// Returns the next fetches in the order of their URIs; `None` at the end.
fn next_page(set: &SetRun, after: &mut (String, i64)) -> Result<Option<Vec<Action>>, Error> {
    let page = set.with(|draft| draft.actions().fetches_after((&after.0, after.1), PAGE))?;
    let Some(last) = page.last() else { return Ok(None) };
    *after = (last.desired.uri.as_str().to_owned(), last.sequence);
    Ok(Some(page))
}

/// Records the folders that the paths of fetches need.
fn note_folders(set: &SetRun, mapper: &Mapper) -> Result<(), Error> {
    set.with(|draft| draft.actions().begin_folders())?;
    let (mut after, mut last) = ((String::new(), 0), String::new());
    while let Some(page) = next_page(set, &mut after)? {
        for path in page.iter().filter_map(|action| mapper.map(&action.desired.uri).ok()) {
            if path.folder() != last {
                path.folder().clone_into(&mut last);
                set.with(|draft| path.folders().try_for_each(|folder| draft.actions().add_folder(folder)))?;
            }
        }
    }
    Ok(())
}

/// Returns `true` if a fetch stays with the run that shares the plan, because its path is that of a folder which other
/// fetches need. If two workers committed such names at the same time, neither would see that the name is taken. A
/// resource without a path stays too, and fails there.
fn stays(set: &SetRun, mapper: &Mapper, action: &Action) -> Result<bool, Error> {
    match mapper.map(&action.desired.uri) {
        Ok(path) => Ok(set.with(|draft| draft.actions().is_folder(path.as_str()))?),
        Err(_) => Ok(true),
    }
}

/// A plan while it is written as slices.
struct Sealing<'s> {
    sharing: &'s mut dyn SharePlan,
    set: &'s SetRun,
    slices: Vec<NewSlice>,
}

impl Sealing<'_> {
    fn add(&mut self, cut: &CutSlice) -> Result<(), Error> {
        let unwritable = |error: std::io::Error| Error::Invariant {
            what: format!("a slice of a plan cannot be written: {error}"),
        };
        self.slices.push(cut.written(slice::to_bytes(&cut.actions).map_err(unwritable)?));
        // From now on the actions belong to the worker that claims the slice.
        self.set.with(|draft| draft.actions().give_away(&cut.actions))?;
        if self.slices.len() == AT_A_TIME { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.sharing.add_slices(&self.slices)?;
        self.slices.clear();
        Ok(())
    }
}

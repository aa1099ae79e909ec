//! Is the copy right?

pub(crate) mod hash;

use std::{sync::Arc, time::Instant};

use crate::{
    AuditOptions, AuditReport, Error, Event, Item, Letter, Monitor, Phase, Problem, ProblemKind, SyncOptions,
    discover::CapabilitySet,
    draft::Draft,
    read::{Changes, Inventory},
    run::{LocalCopy, Run, SetRun},
    state::{ActionKind, Checkpoint, State, StateError},
};
use hash::{Hashed, Hashing, Verdict};
use tempfile::TempDir;

/// Compares the copy with its Source (DST-5): what the Resource List and the changes since then promise with what is
/// held, and what is held with the bytes on disk. Without a URL only the latter.
///
/// # Errors
/// What ends the whole audit; what concerns one resource goes to the monitor.
pub async fn audit(options: &AuditOptions, monitor: &dyn Monitor) -> Result<AuditReport, Error> {
    let started = Instant::now();
    if !LocalCopy::is_at(&options.dir) {
        let what = format!("{} holds no copy; instep sync makes one", options.dir.display());
        return Err(Error::Usage { what });
    }
    let report = AuditReport::default();
    let mut audit = Audit { monitor, report, plans: Vec::new(), origins: None, pending: None };
    let as_sync = audit_as_sync(options);
    let (hashed, _copy) = match &options.url {
        Some(_) => audit.compare_with_source(&as_sync, options).await?,
        None => {
            let copy = LocalCopy::open(&as_sync)?;
            (hash(options, &copy, copy.state().reader()?), copy)
        }
    };
    monitor.event(Event::Phase(Phase::Hashing));
    audit.compare_with_disk(hashed).await?;
    audit.report.elapsed = started.elapsed();
    Ok(audit.report)
}

/// An audit looks as a sync would that deletes and does nothing.
fn audit_as_sync(options: &AuditOptions) -> SyncOptions {
    let mut sync = SyncOptions::new(options.url.clone().unwrap_or_default(), &options.dir);
    sync.delete = true;
    sync.dry_run = true;
    sync.selection = options.selection.clone();
    sync.access = options.access.clone();
    sync.shutdown = options.shutdown.clone();
    sync
}

/// Reads the Source's Resource List, or the manifests of its Resource Dump, and the changes since then. Returns `true` if
/// that is the complete inventory; then the held resources that it does not name, and nothing else is to name, are surplus.
async fn read_inventory(
    run: &mut Run<'_>,
    found: &CapabilitySet,
    set: &mut SetRun,
    names_all: bool,
) -> Result<bool, Error> {
    let Some(inventory) = Inventory::read_any(run, found, set, true).await? else { return Ok(false) };
    inventory.followed_by_changes(run, found, set, None).await?;
    if inventory.complete && names_all && set.with(|draft| draft.inventory.unusable) == 0 {
        let at = inventory.at;
        set.work(move |draft| draft.infer_deletions(at)).await?;
    }
    Ok(inventory.complete)
}

/// Begins to hash what a state says is held; the lists of the Source are read beside it.
fn hash(options: &AuditOptions, copy: &LocalCopy, state: State) -> Hashed {
    let hashing = Hashing {
        store: Arc::clone(&copy.store),
        verify: options.verify,
        sample: options.sample,
        shutdown: options.shutdown.token().clone(),
    };
    hashing.begin(state)
}

/// Returns the resources that a run's copy holds, by the URIs of their originals.
fn origins(run: &Run<'_>) -> Result<(State, TempDir), Error> {
    let spool = run.copy.spool();
    let failed = |source| StateError::Scratch { path: spool.to_owned(), source };
    let folder = TempDir::with_prefix_in("origins-", spool).map_err(failed)?;
    Ok((run.state().by_origin(&folder.path().join("held.sqlite"))?, folder))
}

struct Audit<'a> {
    monitor: &'a dyn Monitor,
    report: AuditReport,
    plans: Vec<SetRun>,
    /// The held resources by the URIs of their originals while they are compared, and the folder of that temporary state.
    origins: Option<(State, TempDir)>,
    /// The state, if anything is pending: that is not known to be right, although the lists may give nothing to compare (O4).
    pending: Option<State>,
}

impl Audit<'_> {
    async fn compare_with_source(
        &mut self,
        as_sync: &SyncOptions,
        options: &AuditOptions,
    ) -> Result<(Hashed, LocalCopy), Error> {
        let mut run = Run::begin(as_sync, self.monitor)?;
        if options.origin {
            self.origins = Some(origins(&run)?);
        }
        let held = match &self.origins {
            None => run.state().reader()?,
            Some((origins, _)) => origins.reader()?,
        };
        if self.origins.is_none() && run.state().owed_count()? > 0 {
            self.pending = Some(run.state().reader()?);
        }
        let hashed = hash(options, &run.copy, held);
        let source = run.discover().await?;
        run.reporter.enter(Phase::Reading);
        let (mut complete, mut named) = (true, None);
        for (number, found) in (1..).zip(&source.sets) {
            let mut set = match &mut self.origins {
                None => {
                    let set = run.copy.set(found)?;
                    run.new_plan(set, false)?
                }
                Some((origins, _)) => run.new_plan_over(origins, found)?,
            };
            // Of an original with several sets nobody here knows which resource came from which: surplus is what none of them names.
            let by_origin = self.origins.is_some();
            if let Some(marks) = named.take() {
                set.with(|draft| draft.go_on_from(marks));
            }
            let names_all = !by_origin || (complete && number == source.sets.len());
            complete &= match found.has_inventory() {
                true => read_inventory(&mut run, found, &mut set, names_all).await?,
                false => self.read_changes(&mut run, found, &mut set).await.map(|()| false)?,
            };
            named = by_origin.then(|| set.with(Draft::named));
            self.report_plan(&set)?;
            // A plan without actions names no resource that a later check of files must leave out.
            if set.with(|draft| draft.actions().last())? > 0 {
                self.plans.push(set);
            }
        }
        self.report.failed += run.reporter.report.skipped;
        Ok((hashed, run.copy))
    }

    /// Audits the resources that changes name, if the Source has no inventory: others cannot be audited.
    async fn read_changes(
        &mut self,
        run: &mut Run<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
    ) -> Result<(), Error> {
        let changes = Changes::look(run, found, &Checkpoint::new(), true).await?;
        changes.read(run, found, set, Checkpoint::new()).await?;
        let unnamed = set.with(|draft| draft.count_unnamed(None))?;
        run.reporter.note(&format!(
            "the Source offers no inventory: {unnamed} held resources that its changes do not name are compared with the disk only"
        ));
        self.report.unauditable += unnamed;
        Ok(())
    }

    fn report_plan(&mut self, set: &SetRun) -> Result<(), Error> {
        set.each_action(&mut |action| {
            let letter = match action.kind {
                ActionKind::Create => Letter::New,
                ActionKind::Update => Letter::Changed,
                ActionKind::Delete => Letter::Gone,
                ActionKind::Note | ActionKind::Leave => return,
                ActionKind::Check => {
                    self.report.unauditable += 1;
                    return;
                }
            };
            self.found(letter, action.desired.uri.as_str(), None);
        })
    }

    fn found(&mut self, letter: Letter, uri: &str, detail: Option<&str>) {
        match letter {
            Letter::New => self.report.missing += 1,
            Letter::Changed => self.report.differing += 1,
            Letter::Gone => self.report.surplus += 1,
            Letter::Same => self.report.same += 1,
            Letter::Failed => self.report.failed += 1,
        }
        let mut item = Item::new(letter, uri, None);
        item.detail = detail;
        self.monitor.event(Event::Itemized(item));
    }

    async fn compare_with_disk(&mut self, hashed: Hashed) -> Result<(), Error> {
        let complete = hashed
            .each(&mut |looked| {
                self.report.bytes += looked.bytes;
                self.monitor.event(Event::Progress { bytes: looked.bytes });
                self.judge(&looked.uri, looked.verdict)
            })
            .await?;
        self.report.interrupted = !complete;
        Ok(())
    }

    /// Reports the result for one held file, unless a difference of its resource from the Source was reported already.
    fn judge(&mut self, uri: &str, verdict: Verdict) -> Result<(), Error> {
        for plan in &self.plans {
            if plan.with(|draft| draft.changes_bytes_of(uri))? {
                return Ok(());
            }
        }
        match verdict {
            Verdict::Same => {
                let is_pending = self.pending.as_ref().map(|state| state.is_owed(uri)).transpose()?;
                match is_pending {
                    Some(true) => self.found(Letter::Failed, uri, Some("it could not be had and is pending")),
                    _ => self.report.same += 1,
                }
            }
            Verdict::Missing => self.found(Letter::New, uri, Some("its file is gone")),
            Verdict::Differs(what) => self.found(Letter::Changed, uri, Some(&what)),
            Verdict::Failed(what) => {
                self.monitor.event(Event::Problem(Problem::new(ProblemKind::Storage, uri, &what)));
                self.found(Letter::Failed, uri, Some(&what));
            }
        }
        Ok(())
    }
}

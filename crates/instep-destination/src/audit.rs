//! The audit: compares a copy with the documents of its Sources, and with the bytes on the disk. It changes nothing.

mod documents;
pub(crate) mod hash;
mod rehash;

use std::time::Instant;

use crate::{
    AuditOptions, AuditReport, Error, Event, Item, Letter, Monitor, Phase, Problem, ProblemKind, SourceAudit,
    SyncOptions,
    error::BesideUrl as _,
    plan::{Coverage, DesiredPresence, Selection},
    run::{LocalCopy, RunLimits, SetRun, SyncRun},
    state::{ActionKind, CopyState, Owed, ReadState, StateError, by_origin},
};
use hash::{Hashed, Hashing, Verdict};
use tempfile::TempDir;

/// Compares the copy with its Source (DST-5): the Resource List and the changes since then with the state of the copy,
/// and the state with the bytes on disk. Without a URL, only the second comparison is made.
///
/// ```no_run
/// use instep_destination::{AuditOptions, VoidMonitor, audit};
///
/// # async fn run() -> Result<(), instep_destination::Error> {
/// let report = audit(&AuditOptions::new(None, "/srv/copy"), &VoidMonitor).await?;
/// println!("{} resources are the same, {} differ", report.same, report.differing);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If the audit as a whole fails. A problem with one resource is reported to the monitor.
pub async fn audit(options: &AuditOptions, monitor: &dyn Monitor) -> Result<AuditReport, Error> {
    let started = Instant::now();
    LocalCopy::check_is_at(&options.dir)?;
    let report = AuditReport::default();
    let mut audit = Audit { monitor, report, plans: Vec::new(), originals: None, pending: None };
    match audit.compare(options).await {
        // If the audit was shut down, a Source that did not answer is not at fault (B12).
        Err(Error::Interrupted | Error::NotResourceSync { .. }) if options.shutdown.is_requested() => {
            audit.report.interrupted = true;
        }
        compared => compared?,
    }
    audit.report.elapsed = started.elapsed();
    Ok(audit.report)
}

/// Returns the options of the dry run that reads the same as the audit: a run that may delete, so that surplus
/// resources are found.
fn audit_as_sync(options: &AuditOptions, url: &str) -> SyncOptions {
    let mut sync = SyncOptions::new(url, &options.dir);
    sync.delete = true;
    sync.dry_run = true;
    sync.selection = options.selection.clone();
    sync.access = options.access.clone();
    sync.shutdown = options.shutdown.clone();
    sync
}

/// Begins to hash the selected files that a state records as held; the lists of the Source are read concurrently.
///
/// # Errors
/// [`Error::Usage`] if the operator's patterns cannot be read.
fn hash(options: &AuditOptions, copy: &LocalCopy, state: Box<dyn ReadState>) -> Result<Hashed, Error> {
    let sources = match &options.url {
        Some(url) => vec![url.clone()],
        None => copy.state().sources()?.into_iter().map(|(_, url)| url).collect(),
    };
    let selections = sources.iter().map(|url| Selection::new(&options.selection, url));
    let hashing = Hashing {
        store: copy.store.clone(),
        verify: options.verify,
        sample: options.sample,
        selections: selections.collect::<Result<_, _>>()?,
        stop: options.shutdown.token().clone(),
    };
    Ok(hashing.begin(state))
}

/// Returns the resources that a run's copy holds, by the URIs of their originals.
fn originals(copy: &LocalCopy) -> Result<(Box<dyn CopyState>, TempDir), Error> {
    let spool = copy.spool();
    let failed = |source| StateError::Scratch { path: spool.to_owned(), source };
    let folder = TempDir::with_prefix_in("origins-", spool).map_err(failed)?;
    Ok((by_origin(copy.state(), &folder.path().join("held.sqlite"))?, folder))
}

/// Returns the URLs that a copy is compared with.
fn urls(options: &AuditOptions, copy: &LocalCopy) -> Result<Vec<String>, Error> {
    if !options.every_source {
        return Ok(options.url.iter().cloned().collect());
    }
    if options.compares_originals {
        return Err(Error::Usage { what: "an original Source is compared by its own URL".to_owned() });
    }
    Ok(copy.state().sources()?.into_iter().map(|(_, url)| url).collect())
}

struct Audit<'a> {
    monitor: &'a dyn Monitor,
    report: AuditReport,
    plans: Vec<SetRun>,
    /// The held resources by the URIs of their originals while they are compared, and the folder of that temporary
    /// state.
    originals: Option<(Box<dyn CopyState>, TempDir)>,
    /// The state, if resources are pending: they are reported as unchecked, even if the lists give nothing to compare
    /// them with (O4). `None` if nothing is pending.
    pending: Option<Box<dyn ReadState>>,
}

impl Audit<'_> {
    async fn compare(&mut self, options: &AuditOptions) -> Result<(), Error> {
        let copy = LocalCopy::take_to_audit(&audit_as_sync(options, ""))?;
        let store = copy.store.clone();
        let compared = self.compare_copy(options, copy).await;
        // After a failure some files may still be being hashed. They must not keep the copy locked for the next run.
        store.staging().let_go();
        compared
    }

    async fn compare_copy(&mut self, options: &AuditOptions, mut copy: LocalCopy) -> Result<(), Error> {
        let urls = urls(options, &copy)?;
        if options.compares_originals {
            self.originals = Some(originals(&copy)?);
        }
        let held = match &self.originals {
            None => copy.state().reader()?,
            Some((originals, _)) => originals.reader()?,
        };
        if !urls.is_empty() && self.originals.is_none() && copy.state().owed_count()? > 0 {
            self.pending = Some(copy.state().reader()?);
        }
        let hashed = hash(options, &copy, held)?;
        for url in &urls {
            copy = self.compare_with_source(&audit_as_sync(options, url), copy, urls.len()).await?;
        }
        self.monitor.event(Event::Phase(Phase::Hashing));
        self.compare_with_disk(hashed).await
    }

    /// Compares the copy with one of several Sources. If one cannot be compared, the others still are.
    async fn compare_with_source(
        &mut self,
        as_sync: &SyncOptions,
        copy: LocalCopy,
        sources: usize,
    ) -> Result<LocalCopy, Error> {
        let take = |sync: &SyncOptions| copy.led_to_from(&sync.url);
        let mut run = SyncRun::begin(as_sync, self.monitor, RunLimits::of(as_sync), take)?;
        let before = self.report.clone();
        let wait_reporter = run.wait_reporter();
        let compared = wait_reporter.during(Box::pin(self.compare_with_documents(&mut run))).await;
        if compared.is_ok() {
            run.note_selection(true);
        }
        self.report.failed += run.reporter.report.skipped;
        let now = &self.report;
        let mut source = SourceAudit {
            url: as_sync.url.clone(),
            missing: now.missing - before.missing,
            differing: now.differing - before.differing,
            surplus: now.surplus - before.surplus,
            failed: now.failed - before.failed,
            unauditable: now.unauditable - before.unauditable,
            coverage: run.reporter.report.coverage,
            error: None,
        };
        match compared {
            Err(error) if sources > 1 && !matches!(error, Error::Interrupted) => {
                let what = error.beside(&as_sync.url);
                run.reporter.problem(ProblemKind::Document, &as_sync.url, &what);
                (source.coverage, source.error) = (Some(Coverage::Unknown), Some((error.exit_code(), what)));
            }
            compared => compared?,
        }
        if let Some(coverage) = source.coverage {
            let least = self.report.coverage.map_or(coverage, |least| least.least(coverage));
            self.report.coverage = Some(least);
        }
        self.report.sources.push(source);
        Ok(run.copy)
    }

    fn report_plan(&mut self, set: &SetRun) -> Result<(), Error> {
        set.each_action(&mut |action| {
            let letter = match action.kind {
                ActionKind::Create => Letter::New,
                ActionKind::Update => Letter::Changed,
                ActionKind::Delete => Letter::Gone,
                ActionKind::Note | ActionKind::Keep | ActionKind::Leave | ActionKind::Owe => return,
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
        if complete {
            self.report_pending()?;
        }
        Ok(())
    }

    /// Reports pending resources that are not held and that the documents did not show as missing.
    fn report_pending(&mut self) -> Result<(), Error> {
        let Some(state) = self.pending.take() else { return Ok(()) };
        for (set, _) in state.sets()? {
            let mut after: Option<String> = None;
            loop {
                let page = state.owed_after(set, after.as_deref(), 1_000)?;
                let Some(last) = page.last() else { break };
                after = Some(last.desired.uri.as_str().to_owned());
                for Owed { desired, .. } in page {
                    let uri = desired.uri.as_str();
                    let is_wanted = desired.presence != DesiredPresence::Absent;
                    if is_wanted && state.held(uri)?.is_none() && !self.is_reported(uri)? {
                        self.found(Letter::Failed, uri, Some("it could not be fetched and is pending"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns `true` if a difference of a resource from the Source was reported.
    fn is_reported(&self, uri: &str) -> Result<bool, Error> {
        for plan in &self.plans {
            if plan.with(|draft| draft.changes_bytes_of(uri))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reports the result for one held file, unless a difference of its resource from the Source was reported already.
    fn judge(&mut self, uri: &str, verdict: Verdict) -> Result<(), Error> {
        if self.is_reported(uri)? {
            return Ok(());
        }
        match verdict {
            Verdict::Same => {
                let is_pending = self.pending.as_ref().map(|state| state.is_owed(uri)).transpose()?;
                match is_pending {
                    Some(true) => {
                        self.found(Letter::Failed, uri, Some("it could not be fetched and is pending"))
                    }
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

//! The reporting of a run: events to the monitor, counts to the report, problems to the log of runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::{Duration, Instant},
};

use instep_net::Client;
use resourcesync::{Change, Uri};

use super::set::SetRun;
use crate::{
    Error, Event, Item, Letter, Monitor, Phase, Problem, ProblemKind, Strategy, SyncReport, VoidMonitor,
    commit::Flushed,
    discover::Trouble,
    error::{BesideUrl as _, error_chain},
    plan::VersionKey,
    state::{LoggedProblem, ShareCounts},
};

/// The shortest interval at which the requests to hosts are reported.
const TRAFFIC_EVERY: Duration = Duration::from_secs(1);

/// Reports one run.
pub(crate) struct Reporter<'a> {
    pub(crate) monitor: &'a dyn Monitor,
    pub(crate) report: SyncReport,
    /// The operator's URL.
    url: &'a str,
    client: Client,
    /// The problems of this run, by kind.
    problems: BTreeMap<ProblemKind, LoggedProblem>,
    /// The documents that could not be used. Each is reported once, even if it is read several times.
    lost: BTreeSet<String>,
    /// The sentences that are reported once, although several plans lead to them.
    noted: BTreeSet<String>,
    /// `true` if a resource was reported whose completeness cannot be known. One report is enough.
    has_warned_of_open_end: bool,
    /// `true` if resources arrived and could not be placed in the copy.
    pub(crate) has_unplaced: bool,
    /// The number of bytes of resources that were reported as progress.
    fetched: u64,
    started: Instant,
    traffic_reported: Instant,
}

impl<'a> Reporter<'a> {
    /// Begins to report a run.
    pub(crate) fn new(monitor: &'a dyn Monitor, url: &'a str, client: Client) -> Self {
        Self {
            monitor,
            // Each set that is compared replaces this reason.
            report: SyncReport::new(Strategy::Nothing, "nothing was compared"),
            url,
            client,
            problems: BTreeMap::new(),
            lost: BTreeSet::new(),
            noted: BTreeSet::new(),
            has_warned_of_open_end: false,
            has_unplaced: false,
            fetched: 0,
            started: Instant::now(),
            traffic_reported: Instant::now(),
        }
    }

    /// Returns a reporter of the same run that reports nothing to the monitor, for work that is done again later.
    pub(crate) fn unheard(&self) -> Self {
        Self::new(&VoidMonitor, self.url, self.client.clone())
    }

    /// Returns the time since the run began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Reports that the work enters a phase.
    pub(crate) fn enter(&self, phase: Phase) {
        self.monitor.event(Event::Phase(phase));
    }

    /// Reports a sentence for the operator.
    pub(crate) fn note(&self, text: &str) {
        self.monitor.event(Event::Note(text));
    }

    /// Reports a sentence for the operator, unless the run has reported it.
    pub(crate) fn note_once(&mut self, text: String) {
        if !self.noted.contains(&text) {
            self.note(&text);
            self.noted.insert(text);
        }
    }

    /// Reports a fault through which nothing is lost.
    pub(crate) fn warn(&self, kind: ProblemKind, uri: &str, what: &dyn fmt::Display) {
        self.monitor.event(Event::Warning(Problem::new(kind, uri, what)));
    }

    /// Reports a resource that ended with its connection and for which the Source lists neither length nor digest. Only
    /// the first one is reported.
    pub(crate) fn open_end(&mut self, uri: &str) {
        if !std::mem::replace(&mut self.has_warned_of_open_end, true) {
            let what = "the server states no length and the Source lists none, so that nobody can know if it is complete; \
                        there may be more such resources";
            self.warn(ProblemKind::Mismatch, uri, &what);
        }
    }

    /// Reports a fault through which an entry or a document is lost.
    pub(crate) fn problem(&mut self, kind: ProblemKind, uri: &str, what: &dyn fmt::Display) {
        self.report.skipped += 1;
        self.log_problem(Problem::new(kind, uri, what));
    }

    /// Reports a fault that did not end the search for documents.
    pub(crate) fn trouble(&mut self, trouble: &Trouble) {
        let kind = if trouble.is_out_of_scope { ProblemKind::OutOfScope } else { ProblemKind::Document };
        let problem = Problem::new(kind, trouble.uri.as_str(), &trouble.what).lacking(trouble.lacks);
        if trouble.costs_a_set || trouble.costs_entries {
            self.report.skipped += 1;
            self.log_problem(problem);
        } else {
            self.monitor.event(Event::Warning(problem));
        }
    }

    /// Reports a resource that could not be fetched.
    pub(crate) fn failed(&mut self, problem: Problem<'_>) {
        self.report.failed += 1;
        self.log_problem(problem);
    }

    fn log_problem(&mut self, problem: Problem<'_>) {
        self.monitor.event(Event::Problem(problem));
        let Problem { kind, uri, what, .. } = problem;
        let first = || LoggedProblem::new(kind.as_str(), 0, Uri::parse(uri).ok(), what.to_string());
        self.problems.entry(kind).or_insert_with(first).count += 1;
    }

    /// Reports a document that could not be used.
    pub(crate) fn lost_document(&mut self, uri: &Uri, error: &Error) {
        if self.lost.insert(uri.as_str().to_owned()) {
            self.problem(ProblemKind::Document, uri.as_str(), &error.beside(uri.as_str()));
        }
    }

    /// Reports documents that could not be used.
    pub(crate) fn lost_documents(&mut self, lost: &[(Uri, Error)]) {
        for (uri, error) in lost {
            self.lost_document(uri, error);
        }
    }

    /// Reports the problems of single entries that were met while a plan was made.
    pub(crate) fn problems_of(&mut self, set: &SetRun) {
        self.report.skipped += set.with(|draft| draft.problems.report(self.monitor));
    }

    /// Reports bytes that arrived; `bytes` is the sum so far.
    pub(crate) fn progress(&mut self, bytes: u64) {
        let more = bytes.saturating_sub(self.fetched);
        self.fetched = bytes;
        self.report.bytes += more;
        if more > 0 {
            self.monitor.event(Event::Progress { bytes: more });
        }
        if self.traffic_reported.elapsed() >= TRAFFIC_EVERY {
            self.traffic();
        }
    }

    fn traffic(&mut self) {
        self.traffic_reported = Instant::now();
        for (host, traffic) in self.client.take_traffic() {
            self.monitor.event(Event::Traffic { host: &host, traffic: &traffic });
        }
    }

    /// Reports the results of other workers for the plan.
    pub(crate) fn done_by_others(&mut self, more: &ShareCounts) {
        self.report.created += more.created;
        self.report.updated += more.updated;
        self.report.unchanged += more.unchanged;
        self.report.unverified += more.unverified;
        self.report.bytes += more.bytes;
        if more.bytes > 0 {
            self.monitor.event(Event::Progress { bytes: more.bytes });
        }
    }

    /// Reports a group that is committed.
    pub(crate) fn committed(&mut self, group: Flushed) {
        for done in group.committed {
            if VersionKey::parse(&done.uri).is_some() {
                self.report.versions += 1;
                continue;
            }
            let letter = match done.change {
                Change::Created => Letter::New,
                Change::Deleted => Letter::Gone,
                _ => Letter::Changed,
            };
            match letter {
                Letter::New => self.report.created += 1,
                Letter::Gone => self.report.deleted += 1,
                _ => self.report.updated += 1,
            }
            let mut item = Item::new(letter, done.uri.as_str(), Some(done.length));
            item.path = Some(done.path.as_str());
            self.monitor.event(Event::Committed(item));
        }
        self.has_unplaced |= group.has_unplaced;
        for (uri, error) in group.refused {
            self.failed(Problem::new(ProblemKind::Storage, uri.as_str(), &error_chain(&error)));
        }
        if let Some(error) = group.undelivered {
            let what = format!(
                "Changes of the copy could not be delivered, and the next run delivers them: {error}"
            );
            self.problem(ProblemKind::Storage, self.url, &what);
        }
    }

    /// Reports everything that no event has shown yet, and sets the time.
    pub(crate) fn conclude(&mut self) {
        self.traffic();
        self.report.requests = self.client.requests();
        self.report.elapsed = self.elapsed();
    }

    /// Reports the end of the run with its exit code.
    pub(crate) fn ended(&self, exit_code: u8) {
        self.monitor.event(Event::Ended { exit_code });
    }

    /// Takes the problems for the log of runs.
    pub(crate) fn take_problems(&mut self) -> Vec<LoggedProblem> {
        std::mem::take(&mut self.problems).into_values().collect()
    }
}

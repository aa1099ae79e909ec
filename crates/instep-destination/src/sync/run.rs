//! One run over one copy: what all its steps share.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use resourcesync::{DateTime, Relation, Uri};

use super::{copy::Copy, draft::Policy, set::SetRun, wall::Wall};
use crate::{
    Error, Event, Monitor, Outcome, Phase, Problem, ProblemKind, Strategy, SyncOptions, SyncReport,
    discover::{Discovered, discover},
    documents::{Document, Documents, Fetched},
    error::story,
    fetch::Fetcher,
    http::{Client, Origin, Validators},
    package::Packages,
    plan::{Condition, Selection},
    state::{DocumentRecord, Problem as LoggedProblem, SetId, State},
};

/// How often it is told what hosts were asked for, while resources arrive.
const TRAFFIC_EVERY: Duration = Duration::from_secs(1);

/// A run.
pub(crate) struct Run<'a> {
    pub(crate) options: &'a SyncOptions,
    pub(crate) monitor: &'a dyn Monitor,
    pub(crate) client: Client,
    pub(crate) documents: Documents,
    pub(crate) fetcher: Fetcher,
    pub(crate) copy: Copy,
    pub(crate) policy: Policy,
    pub(crate) report: SyncReport,
    /// Held resources whose files are not what the state says.
    pub(crate) broken: BTreeSet<String>,
    /// The set that holds versions, where they are kept.
    pub(crate) versions: Option<SetId>,
    /// What seems to stand in front of the Source.
    pub(crate) wall: Wall,
    /// The problems of this run, by kind.
    problems: BTreeMap<ProblemKind, LoggedProblem>,
    /// Bytes that the fetcher has told of.
    pub(crate) fetched: u64,
    pub(crate) started: Instant,
    /// When it was told last what hosts were asked for.
    told_traffic: Instant,
    /// What a request took while the Source was looked at.
    pub(crate) latency: Duration,
}

impl<'a> Run<'a> {
    /// Takes the copy, after a look at whether the options make sense.
    pub(crate) fn begin(options: &'a SyncOptions, monitor: &'a dyn Monitor) -> Result<Self, Error> {
        refuse_unoffered(options)?;
        let http = options.access.http_options(&options.url)?;
        let scope = http.scope.clone();
        let client = Client::new(http)?;
        let copy = Copy::open(options)?;
        let mut documents = Documents::new(client.clone(), copy.spool())
            .ending(options.shutdown.clone(), options.max_duration);
        if options.url.starts_with("file:") {
            documents = documents.with_files();
        }
        let selection = &options.selection;
        let policy = Policy {
            selection: Selection::new(selection, &options.url)?,
            scope,
            limit: selection.limit,
            as_of: options.as_of,
            with_links: selection.with_links.iter().map(|rel| Relation::parse(rel)).collect(),
            delete: options.delete,
            prefer_types: selection.prefer_types.clone(),
            condition: selection.where_metadata.as_deref().map(condition).transpose()?,
        };
        let fetcher = Fetcher::new(client.clone(), Arc::clone(&copy.store), options.verify);
        let report = SyncReport::new(Strategy::Nothing, "nothing is new");
        Ok(Self {
            options,
            monitor,
            client,
            documents,
            fetcher,
            copy,
            policy,
            report,
            broken: BTreeSet::new(),
            versions: None,
            wall: Wall::default(),
            problems: BTreeMap::new(),
            fetched: 0,
            started: Instant::now(),
            told_traffic: Instant::now(),
            latency: Duration::ZERO,
        })
    }

    /// What the operator's URL leads to.
    pub(crate) async fn discover(&mut self) -> Result<Discovered, Error> {
        self.enter(Phase::Discovering);
        let unusable = |error| Error::Usage { what: format!("{:?} is not a URL: {error}", self.options.url) };
        let url = Uri::parse(&self.options.url).map_err(unusable)?;
        let began = Instant::now();
        let found = discover(&url, &self.options.selection.sets, &self.documents).await?;
        self.latency = began.elapsed() / u32::try_from(self.client.requests()).unwrap_or(u32::MAX).max(1);
        for trouble in &found.troubles {
            self.warn(ProblemKind::Document, trouble.uri.as_str(), &trouble.what);
        }
        Ok(found)
    }

    /// Brings packages.
    pub(crate) fn packages(&self) -> Packages {
        Packages::new(self.fetcher.clone(), self.documents.clone())
    }

    /// The state, to read.
    pub(crate) fn state(&self) -> &State {
        self.copy.state()
    }

    /// Brings a document unless it is what the record stands for.
    pub(crate) async fn open(
        &mut self,
        uri: &Uri,
        speaker: Option<&Uri>,
        record: Option<&DocumentRecord>,
    ) -> Result<Option<Document>, Error> {
        let speaker = speaker.and_then(|speaker| Origin::parse(speaker.as_str()).ok());
        let held =
            record.map(|record| Validators::new(record.etag.as_deref(), record.last_modified.as_deref()));
        match self.documents.fetch(uri, speaker.as_ref(), held.as_ref()).await? {
            Fetched::Unchanged => Ok(None),
            Fetched::Arrived(download) => Ok(Some(download.document()?)),
        }
    }

    /// What is remembered of a document once its plan is done.
    pub(crate) fn record(&self, uri: &Uri, document: &Document) -> DocumentRecord {
        let mut record = DocumentRecord::new(uri.clone());
        record.etag.clone_from(&document.validators.etag);
        record.last_modified.clone_from(&document.validators.last_modified);
        record
    }

    /// Whether the run is to end before its work is done.
    pub(crate) fn ending(&self) -> Option<Outcome> {
        if self.options.shutdown.is_cancelled() {
            return Some(Outcome::Interrupted);
        }
        if self.wall.stands().is_some() {
            return Some(Outcome::Complete);
        }
        let time = self.options.max_duration.is_some_and(|most| self.started.elapsed() >= most);
        let bytes = self.options.max_transfer.is_some_and(|most| self.report.bytes >= most);
        (time || bytes).then_some(Outcome::BudgetSpent)
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.monitor.event(Event::Phase(phase));
    }

    pub(crate) fn note(&self, text: &str) {
        self.monitor.event(Event::Note(text));
    }

    pub(crate) fn warn(&self, kind: ProblemKind, uri: &str, what: &dyn std::fmt::Display) {
        self.monitor.event(Event::Warning(Problem::new(kind, uri, what)));
    }

    /// Something that costs an entry or a document.
    pub(crate) fn problem(&mut self, kind: ProblemKind, uri: &str, what: &dyn std::fmt::Display) {
        self.report.skipped += 1;
        self.log_problem(kind, uri, what);
    }

    /// A resource that was not had.
    pub(crate) fn failed(&mut self, kind: ProblemKind, uri: &str, what: &str) {
        self.report.failed += 1;
        self.log_problem(kind, uri, &what);
    }

    fn log_problem(&mut self, kind: ProblemKind, uri: &str, what: &dyn std::fmt::Display) {
        self.monitor.event(Event::Problem(Problem::new(kind, uri, what)));
        let first = || LoggedProblem::new(kind.as_str(), 0, Uri::parse(uri).ok(), what.to_string());
        self.problems.entry(kind).or_insert_with(first).count += 1;
    }

    /// A document that could not be used.
    pub(crate) fn lost_document(&mut self, uri: &Uri, error: &Error) {
        self.problem(ProblemKind::Document, uri.as_str(), &story(error));
    }

    /// Tells what went wrong while a plan was made.
    pub(crate) fn tell(&mut self, set: &SetRun) {
        self.report.skipped += set.with(|draft| draft.troubles.tell(self.monitor));
    }

    /// Tells what hosts were asked for, now and then.
    pub(crate) fn tell_traffic(&mut self) {
        if self.told_traffic.elapsed() >= TRAFFIC_EVERY {
            self.tell_all_traffic();
        }
    }

    fn tell_all_traffic(&mut self) {
        self.told_traffic = Instant::now();
        for (host, traffic) in self.client.take_traffic() {
            self.monitor.event(Event::Traffic { host: &host, traffic: &traffic });
        }
        let (requests, waiting) = (self.client.under_way(), self.client.waiting());
        self.monitor.event(Event::UnderWay { requests: &requests, waiting: &waiting });
    }

    /// The report, once everything is done; how the run ended is written down either way, and the copy is free for the next.
    pub(crate) fn end(mut self, result: Result<(), Error>) -> Result<SyncReport, Error> {
        self.tell_all_traffic();
        // A document that did not arrive is no fault of the Source if the run is ending anyway (B12).
        let result = match (result, self.ending()) {
            (Err(Error::Unreachable { .. } | Error::NotResourceSync { .. }), Some(outcome))
                if outcome != Outcome::Complete =>
            {
                self.report.outcome = outcome;
                Ok(())
            }
            (result, _) => result,
        };
        let (store, monitor) = (Arc::clone(&self.copy.store), self.monitor);
        let ended = self.write_end(result);
        store.let_go();
        let exit_code = ended.as_ref().map_or_else(Error::exit_code, SyncReport::exit_code);
        monitor.event(Event::Ended { exit_code });
        ended
    }

    fn write_end(mut self, result: Result<(), Error>) -> Result<SyncReport, Error> {
        if let Err(error) = result {
            let ended = (error.exit_code(), story(&error));
            let problems: Vec<_> = self.problems.into_values().collect();
            // The error is what the operator hears of, not what keeps it from being written down.
            if let Err(unwritten) = self.copy.finish(self.report.strategy, ended, &problems) {
                tracing::debug!(%unwritten, "the end of the run is not written down");
            }
            return Err(error);
        }
        self.report.owed = self.state().owed_count()?;
        if let (listed @ 1.., 0) = self.policy.selection.counts() {
            // A pattern that matches nothing is most often a mistake, and looks like success otherwise (D8).
            self.note(&format!("{listed} listed, 0 selected: nothing of the Source matches the filters"));
        }
        self.report.requests = self.client.requests();
        self.report.elapsed = self.started.elapsed();
        let problems: Vec<_> = self.problems.into_values().collect();
        let ended = (self.report.exit_code(), self.report.reason.clone());
        self.copy.finish(self.report.strategy, ended, &problems)?;
        Ok(self.report)
    }
}

fn condition(text: &str) -> Result<Condition, Error> {
    text.parse().map_err(|what| Error::Usage { what })
}

/// What the options can say and no run can do is said before anything is done.
fn refuse_unoffered(options: &SyncOptions) -> Result<(), Error> {
    let refuse = |what: &str| Err(Error::Usage { what: what.to_owned() });
    if options.as_of.is_some() && options.follow {
        return refuse("A copy of one moment cannot follow the Source");
    }
    Ok(())
}

/// Now, by this machine's clock: for the log of runs and the age of a Source, never for what is newer.
pub fn now() -> DateTime {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    DateTime::from_unix_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

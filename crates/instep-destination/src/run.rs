//! One run over one copy: the data that its steps share, its beginning and its end. `sync.rs` defines the order of
//! the steps.

mod copy;
mod limits;
mod login_page;
mod network;
mod other_plans;
mod policy;
mod read_before;
mod reporter;
mod selected;
mod set;
mod tally;
mod times;
mod wait_reporter;

use std::sync::Arc;

use instep_net::{ExchangeObserver, Origin};
use resourcesync::Uri;

use crate::{
    Error, Monitor, Outcome, Phase, ProblemKind, SyncOptions, SyncReport,
    discover::{CapabilitySet, Discovered, discover_again},
    documents::Documents,
    draft::{Draft, Policy},
    error::error_chain,
    plan::Strategy,
    state::{CopyState, ReadState, RowSet, SetId},
    transfer::fetch::Fetcher,
    versions::VersionNames,
    web_archive::WebArchive,
};

#[cfg(feature = "postgres")]
pub(crate) use copy::joining::HelpedCopy;
pub(crate) use copy::{LocalCopy, UnnamedSet, storage};
pub(crate) use limits::{RunLimits, RunStop};
use login_page::LoginPage;
pub(crate) use network::{Network, record_of};
pub(crate) use other_plans::OtherPlans;
pub(crate) use reporter::Reporter;
pub(crate) use set::SetRun;
pub(crate) use tally::{TransferTally, is_outcome};
use wait_reporter::WaitReporter;

/// A run over one copy, with the data that its steps share.
pub(crate) struct SyncRun<'a> {
    pub(crate) options: &'a SyncOptions,
    pub(crate) policy: Policy,
    limits: RunLimits,
    /// The signal that ends every wait of the run.
    pub(crate) stop: RunStop,
    pub(crate) reporter: Reporter<'a>,
    pub(crate) network: Network,
    pub(crate) copy: LocalCopy,
    /// The archive that also stores fetched resources as WARC; `None` if it was not requested.
    pub(crate) archive: Option<Arc<WebArchive>>,
    /// The held resources whose files are missing or differ from the state.
    pub(crate) damaged: Arc<RowSet>,
    /// `true` if damaged files were found of which some may be of resources that the Source no longer has.
    pub(crate) may_be_beyond_repair: bool,
    /// The set that holds versions; `None` if versions are not kept.
    pub(crate) versions: Option<SetId>,
    pub(crate) version_names: VersionNames,
    /// `true` if versions did not come that the next run may get: the checkpoint stays, so that it asks again.
    pub(crate) lacks_versions: bool,
    pub(crate) login_page: LoginPage,
    /// The plans of the other sets.
    pub(crate) other_plans: OtherPlans,
    /// The number of actions of the plan, and of their results so far.
    pub(crate) tally: TransferTally,
    /// `true` if the Source requests a pause between requests.
    pub(crate) is_paced: bool,
}

impl<'a> SyncRun<'a> {
    /// Checks the options, and takes the copy for this run.
    pub(crate) fn begin(
        options: &'a SyncOptions,
        monitor: &'a dyn Monitor,
        limits: RunLimits,
        take: impl FnOnce(&SyncOptions) -> Result<LocalCopy, Error>,
    ) -> Result<Self, Error> {
        options.check()?;
        let stop = RunStop::new(&options.shutdown, limits);
        let archive = options.archive.as_ref().filter(|_| !options.dry_run);
        let archive = archive.map(WebArchive::open).transpose()?.map(Arc::new);
        let observer =
            archive.as_ref().map(|archive| Arc::new(archive.observer()) as Arc<dyn ExchangeObserver>);
        let client = options.access.observed_client(&options.url, observer)?;
        let scope = client.options().scope.clone();
        let mut copy = take(options)?;
        copy.archive_first(archive.clone());
        let mut documents = Documents::new(client.clone(), copy.spool())
            .ending(stop.token().clone())
            .observed_by(options.document_observer.clone());
        if options.url.starts_with("file:") {
            documents = documents.with_files();
        }
        let policy = policy::of(options, scope)?;
        let fetcher = Fetcher::new(client.clone(), Arc::clone(copy.store.staging()), options.verify);
        let reporter = Reporter::new(monitor, &options.url, client.clone());
        let network = Network { client, documents, fetcher, latency: std::time::Duration::ZERO };
        Ok(Self {
            options,
            policy,
            limits,
            stop,
            reporter,
            network,
            copy,
            archive,
            damaged: Arc::new(RowSet::empty()),
            may_be_beyond_repair: false,
            versions: None,
            version_names: VersionNames::default(),
            lacks_versions: false,
            login_page: LoginPage::default(),
            other_plans: OtherPlans::default(),
            tally: TransferTally::default(),
            is_paced: false,
        })
    }

    /// Notes if the maps of this run are not those of the last one. An audit has no maps: what is held has its paths.
    pub(crate) fn note_other_maps(&mut self) -> Result<(), Error> {
        if self.copy.has_other_maps(self.options)? {
            self.reporter.note(
                "The maps of URIs are not those of the last run: what the copy holds stays at its paths, and only new \
                 resources get theirs by the new maps",
            );
        }
        Ok(())
    }

    /// Finds the documents for the operator's URL.
    pub(crate) async fn discover(&mut self) -> Result<Discovered, Error> {
        self.reporter.enter(Phase::Discovering);
        let unusable = |error| Error::Usage { what: format!("{:?} is not a URL: {error}", self.options.url) };
        let url = Uri::parse(&self.options.url).map_err(unusable)?;
        let began = std::time::Instant::now();
        let network = &mut self.network;
        let former = self.copy.former_documents()?;
        let sets = &self.options.selection.sets;
        let found = discover_again(&url, sets, &network.documents, &former).await?;
        let requests = u32::try_from(network.client.requests()).unwrap_or(u32::MAX).max(1);
        network.latency = began.elapsed() / requests;
        if let (Some(pause), Ok(origin)) = (found.crawl_delay, Origin::parse(url.as_str())) {
            network.client.keep_pause(&origin, pause);
            self.is_paced = true;
        }
        for (capability, uri) in found.sets.iter().flat_map(CapabilitySet::unread) {
            let what = format!("the Capability List names another {capability} before it: it is not read");
            self.reporter.problem(ProblemKind::Document, uri.as_str(), &what);
        }
        for set in found.sets.iter().filter(|set| set.unusable > 0) {
            let what =
                format!("entries without a usable loc or a capability, which are lost: {}", set.unusable);
            self.reporter.problem(ProblemKind::Document, set.name(), &what);
        }
        for trouble in &found.troubles {
            self.reporter.trouble(trouble);
        }
        Ok(found)
    }

    /// Returns the reporter of the hosts for which the run waits.
    pub(crate) fn wait_reporter(&self) -> WaitReporter<'a> {
        WaitReporter::new(self.reporter.monitor, self.network.client.clone())
    }

    /// Returns the state for reading.
    pub(crate) fn state(&self) -> &dyn ReadState {
        self.copy.state()
    }

    /// Returns a new plan for a set, with its pending retries and the deletions that are left to do.
    pub(crate) fn new_plan(&mut self, id: SetId) -> Result<SetRun, Error> {
        let mut draft = self.new_draft(id)?;
        draft.plan_owed()?;
        draft.plan_kept_deletions()?;
        self.plan_of(id, draft)
    }

    /// Returns a new plan for a set, without what is pending: an earlier plan of the run has it, or nothing is fetched.
    pub(crate) fn new_plan_without_pending(&mut self, id: SetId) -> Result<SetRun, Error> {
        let draft = self.new_draft(id)?;
        self.plan_of(id, draft)
    }

    /// Returns an empty plan over another state than that of the copy.
    pub(crate) fn new_plan_over(
        &mut self,
        state: &mut dyn CopyState,
        found: &CapabilitySet,
    ) -> Result<SetRun, Error> {
        let id = state.set(found.name())?;
        Ok(SetRun::new(id, self.empty_draft(state.reader()?, id)?))
    }

    fn new_draft(&mut self, id: SetId) -> Result<Draft, Error> {
        let mut draft = self.empty_draft(self.state().reader()?, id)?;
        if let Some(ends) = self.copy.unrecorded_gap(id) {
            draft.history.meet_gap(ends);
        }
        draft.repair(&self.damaged);
        Ok(draft)
    }

    /// Returns the plan of a draft. It records links to versions if versions are kept, also if it replaces another plan or
    /// is one of notifications.
    fn plan_of(&mut self, id: SetId, draft: Draft) -> Result<SetRun, Error> {
        let set = SetRun::new(id, draft);
        self.note_versions(&set)?;
        Ok(set)
    }

    fn empty_draft(&mut self, reader: Box<dyn ReadState>, id: SetId) -> Result<Draft, Error> {
        let (clocks, actions) = (self.network.documents.clocks().clone(), self.copy.new_actions()?);
        let mut draft = Draft::new(reader, id, self.policy.clone(), actions, clocks)?;
        draft.end_with(self.stop.token().clone());
        Ok(draft)
    }

    /// Returns the outcome of the run if it should end before its work is done.
    pub(crate) fn ending(&self) -> Option<Outcome> {
        if self.options.shutdown.is_requested() {
            return Some(Outcome::Interrupted);
        }
        if self.login_page.is_recognised() {
            return Some(Outcome::Complete);
        }
        self.limits.are_reached(self.reporter.report.bytes).then_some(Outcome::BudgetSpent)
    }

    /// Ends the run: records its result, also if it failed, and frees the copy for the next run.
    pub(crate) fn end(mut self, result: Result<(), Error>) -> Result<SyncReport, Error> {
        self.reporter.conclude();
        // The archive is closed last, so that it has the exchanges that belong to no group: documents, and answers for
        // unchanged resources.
        let result =
            result.and(self.archive.as_ref().map_or(Ok(()), |archive| archive.close()).map_err(Error::from));
        // If the run is ending anyway, a document that did not arrive is not a fault of the Source (B12).
        let result = match (result, self.ending()) {
            (Err(Error::Interrupted | Error::NotResourceSync { .. }), Some(outcome))
                if outcome != Outcome::Complete =>
            {
                self.reporter.report.outcome = outcome;
                Ok(())
            }
            (result, _) => result,
        };
        let ended = self.write_end(result).map_err(|error| error.below(&self.options.dir));
        self.copy.store.staging().let_go();
        self.reporter.ended(ended.as_ref().map_or_else(Error::exit_code, SyncReport::exit_code));
        ended
    }

    fn write_end(&mut self, result: Result<(), Error>) -> Result<SyncReport, Error> {
        let deleted = self.reporter.report.deleted;
        let result = result.and(self.copy.add_deletions(self.options.max_delete, deleted));
        let problems = self.reporter.take_problems();
        let strategy = self.reporter.report.strategy;
        if let Err(error) = result {
            // A failure to record the error is only logged, because the operator should see the error itself.
            if let Err(unwritten) =
                self.copy.finish(strategy, error.exit_code(), error_chain(&error), &problems)
            {
                tracing::debug!(%unwritten, "the end of the run is not written down");
            }
            return Err(error);
        }
        self.reporter.report.owed = self.copy.owed()?;
        let report = &self.reporter.report;
        let is_whole = matches!(report.strategy, Strategy::List | Strategy::Dump | Strategy::Batch);
        self.note_selection(is_whole && report.outcome != Outcome::Interrupted);
        let report = &self.reporter.report;
        let figures = format!("+{} ~{} -{}", report.created, report.updated, report.deleted);
        let (exit_code, summary) = (report.exit_code(), format!("{figures}; {}", report.reason));
        self.copy.finish(strategy, exit_code, summary, &problems)?;
        Ok(self.reporter.report.clone())
    }
}

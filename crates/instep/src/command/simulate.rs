//! `instep simulate`: serves a Source that changes at a given rate and fails on request, to test clients. The resources
//! and the faults are in `simulation/`.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context;
use clap::{Args, ValueEnum};
use instep_source::{
    DumpPolicy, PatchOptions,
    serve::{self, ServeOptions, Source},
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::{
    args::values,
    exit::Exit,
    pages::SourcePages,
    runtime,
    simulation::{Faults, Generated, SimulatedChanges},
    ui::{Output, publishing::Publishing},
};

/// Serve generated resources that change, with faults on request, to test clients
///
/// The seed determines the resources, their bytes, the changes and the faults. Bytes are generated on each request;
/// the catalogue and the documents are in a temporary folder, or in --state.
#[derive(Debug, Args)]
#[command(after_help = HINT, after_long_help = EXAMPLES)]
pub(crate) struct SimulateCommand {
    /// Kind of Source; other options override it
    #[arg(long, value_name = "PROFILE")]
    profile: Option<SimulationProfile>,
    /// Resources at the start [default: 1000; arxiv 2400000; dbpedia-live 3770000]
    #[arg(long, value_name = "N", value_parser = values::number::<u32>)]
    resources: Option<u32>,
    /// Smallest and largest resource [default: 1KiB,4KiB; dbpedia-live 200,2000]
    #[arg(long, value_parser = sizes, value_name = "FROM,TO")]
    size: Option<(u64, u64)>,
    /// Changes per second; a tenth creates, a tenth deletes [default: 1/s; dbpedia-live 2/s]
    #[arg(long, value_parser = values::rate, conflicts_with = "burst")]
    rate: Option<f64>,
    /// Changes at once, every --burst-every, instead of --rate [default: arxiv 2000]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = values::number::<u32>)]
    burst: Option<u32>,
    /// Time between bursts
    #[arg(long, hide_short_help = true, default_value = "24h", value_parser = values::duration, value_name = "DURATION")]
    burst_every: Duration,
    /// Factor by which changes come faster
    #[arg(long, hide_short_help = true, default_value_t = 1.0, value_parser = factor, value_name = "TIMES")]
    speed: f64,
    /// Stop changing after N changes [default: never]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = values::number::<u64>)]
    changes: Option<u64>,
    /// Start as after N changes of a run with the same seed
    #[arg(long, hide_short_help = true, default_value_t = 0, value_name = "N", value_parser = values::number::<u64>)]
    past_changes: u64,
    /// Entries at which a Change List is closed
    #[arg(long, hide_short_help = true, default_value_t = 5_000, value_name = "N", value_parser = values::at_least_one::<usize>)]
    list_entries: usize,
    /// latency=DURATION, error=5%, truncate=5%, corrupt=5%, gap=N, restart=DURATION
    ///
    /// error answers 503; truncate ends a body early; corrupt changes a byte; gap removes every Nth closed Change List;
    /// restart goes away for a second this often.
    #[arg(long, value_name = "FAULT=VALUE")]
    fault: Vec<String>,
    /// Seed of everything generated
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = values::number::<u64>)]
    seed: u64,
    /// Address and port; port 0 for any free one
    #[arg(long, default_value = "127.0.0.1:8080", value_parser = values::address, value_name = "ADDRESS")]
    listen: String,
    /// End after this time [default: at a signal]
    #[arg(long, value_parser = values::duration, value_name = "DURATION")]
    duration: Option<Duration>,
    /// Folder for catalogue and documents, kept afterwards [default: a temporary one]
    #[arg(long, hide_short_help = true, value_name = "DIR")]
    state: Option<PathBuf>,
}

const HINT: &str = "All options and examples: instep simulate --help";

const EXAMPLES: &str = "\
Examples:
  instep simulate --resources 100000 --rate 50/s
  instep simulate --profile arxiv --resources 24000 --burst 20 --speed 1440
  instep simulate --profile dbpedia-live --resources 10000 --fault latency=50ms --fault error=2%
  instep simulate --fault corrupt=1% --fault truncate=1% --fault gap=2 --fault restart=30s --seed 7";

/// A Source that the simulation resembles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SimulationProfile {
    /// Many resources, a burst of changes a day; Resource List, Resource Dump, Change List
    Arxiv,
    /// Many small resources, a steady stream of changes; dumps with patches, no Resource List
    DbpediaLive,
}

/// Reads a factor. Refuses 0 and less: changes do not come backwards.
fn factor(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("{text:?} is not a factor; write a number above 0, such as 1440"))
}

fn sizes(text: &str) -> Result<(u64, u64), String> {
    let (from, to) = text.split_once(',').unwrap_or((text, text));
    let (from, to) = (values::size(from)?, values::size(to)?);
    if from <= to { Ok((from, to)) } else { Err(format!("{text:?}: write the smaller size first")) }
}

impl SimulateCommand {
    /// Runs the command.
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let home = TempDir::with_prefix("instep-simulate-").context("Cannot create a temporary folder")?;
        let state = self.state.clone().unwrap_or_else(|| home.path().to_owned());
        let faults = Arc::new(Faults::parse(&self.fault, self.seed)?);
        let runtime = runtime::start()?;
        let shutdown = CancellationToken::new();
        let ending = "requests in flight are finished";
        let signals = runtime::Signals::listen(&runtime, shutdown.clone(), *output, ending);
        // SIGHUP must not end a server. It has no further effect: there is no configuration to read again.
        let _hangups = runtime::Hangups::listen(&runtime);
        let monitor = Arc::new(Publishing::new(*output));
        let simulated = self.simulate(&state, &faults, &monitor, &shutdown);
        let by_signal = runtime.block_on(simulated)?;
        monitor.finish();
        Ok(if by_signal { signals.exit() } else { Exit::Done })
    }

    /// Publishes, then serves while resources change. Returns `true` if a signal ended it.
    async fn simulate(
        &self,
        state: &std::path::Path,
        faults: &Arc<Faults>,
        monitor: &Arc<Publishing>,
        shutdown: &CancellationToken,
    ) -> anyhow::Result<bool> {
        let mut listener = tokio::net::TcpListener::bind(&self.listen)
            .await
            .map_err(|source| instep_source::Error::Listen { address: self.listen.clone(), source })?;
        let address = listener.local_addr()?;
        let generated = Arc::new(self.generated(state)?);
        let options = self.serve_options(state, &generated, faults, &format!("http://{address}/"));
        let limits = options.limits.clone();
        let events = Arc::clone(monitor) as Arc<dyn instep_source::PublishMonitor>;
        let source = Source::start(options, events).await?;
        let router = faults.around(source.router());
        let ended = shutdown.child_token();
        let changing = tokio::spawn(Arc::clone(&generated).change(self.changes(), ended.clone()));
        instep_source::PublishMonitor::serving(&**monitor, &source.base_url(), address);
        let ending = ended.clone();
        let duration = self.duration;
        tokio::spawn(async move {
            match duration {
                Some(duration) => tokio::time::sleep(duration).await,
                None => ending.cancelled().await,
            }
            ending.cancel();
        });
        loop {
            let pause = faults.until_restart(&ended);
            serve::run(listener, router.clone(), limits.clone(), pause).await?;
            if ended.is_cancelled() {
                break;
            }
            tokio::time::sleep(Faults::AWAY).await;
            listener = tokio::net::TcpListener::bind(address).await?;
        }
        changing.abort();
        source.end().await;
        Ok(shutdown.is_cancelled())
    }

    /// Returns the resources, whose number and sizes are those of the profile unless options name others.
    fn generated(&self, state: &std::path::Path) -> anyhow::Result<Generated> {
        let resources = self.resources.unwrap_or(match self.profile {
            None => 1_000,
            Some(SimulationProfile::Arxiv) => 2_400_000,
            Some(SimulationProfile::DbpediaLive) => 3_770_000,
        });
        let sizes = self.size.unwrap_or(match self.profile {
            Some(SimulationProfile::DbpediaLive) => (200, 2_000),
            _ => (1 << 10, 4 << 10),
        });
        let folder = state.join("empty");
        std::fs::create_dir_all(&folder)?;
        let generated = Generated::new(folder.canonicalize()?, self.seed, resources, sizes);
        Ok(generated.after(self.past_changes))
    }

    fn serve_options(
        &self,
        state: &std::path::Path,
        generated: &Arc<Generated>,
        faults: &Faults,
        base_url: &str,
    ) -> ServeOptions {
        let mut options = ServeOptions::new(state);
        options.publish.base_url = base_url.to_owned();
        options.publish.state = state.join("source");
        options.publish.out = state.join("documents");
        options.publish.sets[0].content = vec![Arc::clone(generated).into_content()];
        match self.profile {
            Some(SimulationProfile::Arxiv) => options.publish.dumps.policy = DumpPolicy::Always,
            Some(SimulationProfile::DbpediaLive) => {
                options.publish.dumps.policy = DumpPolicy::Always;
                options.publish.dumps.changes = true;
                options.publish.patches = Some(PatchOptions::default());
                options.publish.sets[0].resource_list = false;
            }
            None => {}
        }
        options.publish.lists.rotation.entries = self.list_entries as u64;
        if faults.has_gaps() {
            // A Destination that meets a gap in the Change Lists needs a current Resource List to continue.
            options.publish.lists.small_snapshot_every = Duration::ZERO;
        }
        options.limits.grace = Duration::from_millis(200);
        options.live.watch = false;
        // All changes are reported by the generator, so no scan is needed.
        options.live.scan_every = Duration::from_secs(365 * 24 * 3_600);
        options.admin = None;
        options.pages = Some(Arc::new(SourcePages::default()));
        options
    }

    fn changes(&self) -> SimulatedChanges {
        let burst = self
            .burst
            .or((self.profile == Some(SimulationProfile::Arxiv) && self.rate.is_none()).then_some(2_000));
        let changes = match burst {
            Some(count) => {
                // At most a year, since a small speed would be more than a duration can hold.
                let every = (self.burst_every.as_secs_f64() / self.speed).min(365.0 * 86_400.0);
                SimulatedChanges::bursts(count, Duration::from_secs_f64(every))
            }
            None => {
                let usual = if self.profile == Some(SimulationProfile::DbpediaLive) { 2.0 } else { 1.0 };
                SimulatedChanges::at_rate(self.rate.unwrap_or(usual) * self.speed)
            }
        };
        SimulatedChanges { first: self.past_changes, most: self.changes, ..changes }
    }
}

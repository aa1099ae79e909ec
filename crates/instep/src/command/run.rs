//! `instep run`: keeps many Sources current, alone or with other workers.

use std::{path::PathBuf, pin::pin, sync::Arc, time::Duration};

use anyhow::bail;
use clap::Args;
use http::HeaderName;
use instep_destination::{CallbackOptions, CopyPlace, SharedCallbacks, Shutdown};
use instep_fleet::{
    Fleet, FleetMonitor, FleetOptions, FleetRecord, LONGEST_PAUSE, PacingRules, SourceDefinition,
};
use serde_json::json;

use crate::{
    args::{
        access::{LimitArgs, RouteArgs},
        callbacks::CallbackArgs,
        fleet::FleetArgs,
        headings::{ALERTS, SCHEDULE, SERVING, WHAT_TO_COPY},
        values,
    },
    config::Config,
    exit::Exit,
    fleet::{FleetDisplay, configured, opened},
    pages::{FleetListener, FleetServer, OperatorAccess},
    runtime::{self, Hangups, Reload},
    service,
    ui::{LineLevel, Output, format::counted},
};

/// Keep many Sources current: visit each when it is due, in one process or many
///
/// Several processes can keep one fleet together, on one machine or more, if they have the same --state and separate
/// folders.
///
/// Sources are the `[[source]]` tables of the configuration and those added with `instep source`. A new one with
/// `approve` is measured by a dry run, and copied once an operator approves it. Limits hold for all Sources together.
///
/// SIGHUP reads the configuration again, except addresses, the places of the fleet and its copies, the file of the
/// operators and their header. SIGINT or SIGTERM ends the process after transfers in flight are committed.
#[derive(Clone, Debug, Args)]
#[command(after_help = HINT, after_long_help = EXAMPLES)]
pub(crate) struct RunCommand {
    #[command(flatten)]
    fleet: FleetArgs,
    /// Keep the bytes of all copies in object storage, s3://bucket/prefix, each below its name
    #[arg(long, value_name = "URL", help_heading = WHAT_TO_COPY, hide_short_help = true)]
    store: Option<CopyPlace>,
    /// Serve a dashboard, an API and metrics at this address; port 0 for any free one
    #[arg(long, value_parser = values::address, value_name = "ADDRESS", help_heading = SERVING)]
    listen: Option<String>,
    /// File with operators who may act on the dashboard and by the API: NAME TOKEN a line; read again when it changes
    #[arg(long, value_name = "FILE", requires = "listen", help_heading = SERVING)]
    operators: Option<PathBuf>,
    /// Header in which a proxy on this machine names the operator it has signed in
    #[arg(long, value_name = "HEADER", requires = "listen", help_heading = SERVING, hide_short_help = true)]
    operator_header: Option<HeaderName>,
    /// Sources to process at the same time
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = looks, help_heading = SCHEDULE)]
    runs: usize,
    /// Sources of one host to process at the same time, by all workers together
    #[arg(long, value_name = "N", value_parser = values::at_least_one::<usize>, default_value_t = 4, help_heading = SCHEDULE, hide_short_help = true)]
    runs_per_host: usize,
    /// Shortest time between two runs of a Source without its own schedule
    #[arg(long, value_parser = values::duration, value_name = "DURATION", default_value = "15m",
        help_heading = SCHEDULE, hide_short_help = true)]
    shortest: Duration,
    /// Longest time between two runs of such a Source
    #[arg(long, value_parser = values::duration, value_name = "DURATION", default_value = "720h",
        help_heading = SCHEDULE, hide_short_help = true)]
    longest: Duration,
    /// Failures in a row after which a Source runs only once a week
    #[arg(long, value_name = "N", value_parser = values::at_least_one::<u32>, default_value_t = 8, help_heading = SCHEDULE, hide_short_help = true)]
    quarantine_after: u32,
    /// Most bytes of all copies together, such as 2TiB [default: unlimited]
    #[arg(long, value_parser = values::size, value_name = "SIZE", help_heading = SCHEDULE)]
    disk: Option<u64>,
    /// Bytes to keep free on the disk
    #[arg(long, value_parser = values::size, value_name = "SIZE", default_value = "0", help_heading = SCHEDULE,
        hide_short_help = true)]
    min_free: u64,
    #[command(flatten)]
    callbacks: CallbackArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    route: RouteArgs,
    /// URL that alerts are posted to, as JSON
    #[arg(long, value_name = "URL", help_heading = ALERTS)]
    alert_webhook: Option<String>,
    /// Address that alerts are mailed to, by sendmail
    #[arg(long, value_name = "ADDRESS", value_parser = mail_address, help_heading = ALERTS, hide_short_help = true)]
    alert_mail: Option<String>,
    /// Failures in a row after which an alert is sent
    #[arg(long, value_name = "N", value_parser = values::at_least_one::<u32>, default_value_t = 3, help_heading = ALERTS, hide_short_help = true)]
    alert_after: u32,
}

const HINT: &str = "\
Sources come from `instep source add URL`, or from [[source]] tables of instep.toml.
All options and examples: instep run --help";

const EXAMPLES: &str = "\
Examples:
  instep source add https://example.org/
  instep run
  instep run --listen 127.0.0.1:8090 --operators operators.txt
  instep run --fleet /srv/fleet --transfers 64 --bwlimit 50MiB --disk 2TiB
  instep run --state postgres://me@db.example/copies --store s3://bucket/copies";

/// Reads the number of Sources that are processed at the same time. Each has a thread of its own and uses threads of
/// the runtime, so there is a limit.
fn looks(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=256).contains(number));
    number.ok_or_else(|| format!("{text:?} is not a number from 1 to 256"))
}

fn mail_address(text: &str) -> Result<String, String> {
    if text.contains('@') && !text.contains(char::is_control) {
        Ok(text.to_owned())
    } else {
        Err(format!("{text:?} is not an address; write ops@example.org"))
    }
}

/// The settings of a fleet, from command line and configuration.
struct FleetSetup {
    options: FleetOptions,
    sources: Vec<SourceDefinition>,
    pages: PagesSetup,
    access: OperatorAccess,
}

/// The settings of the dashboard and of the server for hubs. A SIGHUP does not change them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PagesSetup {
    listen: Option<String>,
    operators: Option<PathBuf>,
    operator_header: Option<HeaderName>,
    callbacks: Option<CallbackOptions>,
}

impl RunCommand {
    /// Runs the command until a signal.
    pub(crate) fn run(
        self,
        config: &Config,
        reload: Reload<'_, (Self, Config)>,
        output: &Output,
    ) -> anyhow::Result<Exit> {
        let setup = self.setup(config)?;
        let runtime = runtime::start()?;
        let shutdown = Shutdown::new();
        let ending = "transfers in flight are committed, and the next start continues";
        let signals = runtime::Signals::listen(&runtime, shutdown.clone(), *output, ending);
        let hangups = Hangups::listen(&runtime);
        let again = |is_forced| reload(is_forced)?.map(|(run, config)| run.setup(&config)).transpose();
        let ended = runtime.block_on(service::watched(keep(setup, &hangups, &again, shutdown, output)));
        runtime::end(runtime);
        ended?;
        Ok(signals.exit())
    }

    fn setup(self, config: &Config) -> anyhow::Result<FleetSetup> {
        let place = self.fleet.place();
        let mut options = FleetOptions::new(place.dir);
        (options.state, options.store) = (place.state, self.store);
        (options.runs, options.runs_per_host) = (self.runs, self.runs_per_host);
        for (option, pause) in [("--shortest", self.shortest), ("--longest", self.longest)] {
            if pause.as_secs() > LONGEST_PAUSE {
                bail!("{option}: at most {}d, a hundred years", LONGEST_PAUSE / 86_400);
            }
        }
        if self.shortest > self.longest {
            bail!("--shortest is longer than --longest, which is 720h if it is not given");
        }
        let mut pacing = PacingRules::default();
        pacing.shortest = self.shortest.as_secs().max(1);
        pacing.longest = self.longest.as_secs().max(pacing.shortest);
        pacing.quarantine_after = self.quarantine_after;
        options.pacing = pacing;
        (options.disk, options.min_free) = (self.disk, self.min_free);
        options.webhook = self
            .alert_webhook
            .map(|url| values::url(&url))
            .transpose()
            .map_err(anyhow::Error::msg)?
            .map(|url| url.into_string());
        (options.mail, options.alert_after) = (self.alert_mail, self.alert_after);
        options.access = self.limits.for_fleet(self.route, config)?;
        let access = OperatorAccess::new(self.operators.as_deref(), self.operator_header.clone())?;
        let Self { listen, operators, operator_header, callbacks, .. } = self;
        let callbacks = callbacks.options();
        let pages = PagesSetup { listen, operators, operator_header, callbacks };
        Ok(FleetSetup { options, sources: configured(config)?, pages, access })
    }
}

/// Keeps the fleet until the shutdown, and applies the changes of a SIGHUP.
async fn keep(
    setup: FleetSetup,
    hangups: &Hangups,
    reload: Reload<'_, FleetSetup>,
    shutdown: Shutdown,
    output: &Output,
) -> anyhow::Result<()> {
    let display = Arc::new(FleetDisplay::new(*output));
    let dir = setup.options.dir.clone();
    let pages = setup.pages;
    // Otherwise a second process would only say that its addresses are in use, and not by whom.
    FleetRecord::expect_free(&dir)?;
    // The listeners come first: if one fails, no folder and no record are left behind.
    let listener = match &pages.listen {
        Some(address) => Some(FleetListener::bind(address, &setup.access).await?),
        None => None,
    };
    let callbacks = match &pages.callbacks {
        Some(callbacks) => Some(SharedCallbacks::open(callbacks).await?),
        None => None,
    };
    let monitor = Arc::clone(&display) as Arc<dyn FleetMonitor>;
    let Some(fleet) = opened(setup.options, setup.sources, monitor, &shutdown).await? else {
        return Ok(());
    };
    if let Some(callbacks) = callbacks {
        fleet.deliver_at(callbacks);
    }
    let number = fleet.sources().len() as u64;
    let server =
        listener.map(|listener| FleetServer::new(listener, &dir, setup.access, fleet.clone(), display));
    output.closing(format!("Fleet in {}: {}", dir.display(), counted(number, "Source")));
    if number == 0 {
        output.note("Add a Source with: instep source add URL (with the same --fleet or --state)");
    }
    let url = server.as_ref().map(|server| server.url().to_owned());
    if let Some(url) = &url {
        fleet.serves_at(url);
    }
    output.object("ready", json!({ "fleet": dir, "sources": number, "url": url }));
    service::status(&counted(number, "Source"));
    service::ready();
    let mut running = pin!(keep_and_serve(&fleet, server, shutdown, output));
    loop {
        tokio::select! {
            ended = &mut running => return ended,
            next = runtime::reloaded(hangups, reload, false, output) => {
                // The fleet goes on meanwhile, because its record may have to be waited for.
                tokio::select! {
                    ended = &mut running => return ended,
                    () = apply(&fleet, next, &pages, hangups, output) => service::ready(),
                }
            }
        }
    }
}

/// Runs the fleet, and its server if it has one. The end of one of them ends the other.
async fn keep_and_serve(
    fleet: &Fleet,
    server: Option<FleetServer>,
    shutdown: Shutdown,
    output: &Output,
) -> anyhow::Result<()> {
    let Some(server) = server else { return Ok(fleet.run(shutdown).await?) };
    let keeping = async {
        let ended = fleet.run(shutdown.clone()).await;
        shutdown.request();
        ended
    };
    let serving = async {
        let served = server.run(shutdown.requested(), output).await;
        shutdown.request();
        served
    };
    let (kept, served) = tokio::join!(keeping, serving);
    served?;
    Ok(kept?)
}

/// Applies the configuration of a SIGHUP, and names settings that need another start.
async fn apply(fleet: &Fleet, next: FleetSetup, pages: &PagesSetup, hangups: &Hangups, output: &Output) {
    let stays = |which: &str| {
        let what = format!("SIGHUP: {which} stay as they are until instep run is started again");
        output.log(LineLevel::Warn, &what);
    };
    if next.pages != *pages {
        stays("listen, operators, operator-header and the callbacks");
    }
    if !fleet.is_at(&next.options) {
        stays("fleet, state and store");
    }
    match fleet.reload(next.options, &next.sources).await {
        Ok(()) => output.note(format!("{} now", counted(fleet.sources().len() as u64, "Source"))),
        Err(error) => runtime::restored(hangups, &error.into(), output),
    }
}

//! The output of `instep run`: a line for each failed run over a Source (a *look*), for all of them with `-v`, and JSON
//! lines for programs. It also keeps the figures that the dashboard shows.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use instep_destination::{Monitor, Traffic, VoidMonitor, now};
use instep_fleet::{FleetMonitor, FleetSource, SourceName};
use serde_json::json;

use crate::{
    pages::{CopyMonitor, copy::HostThroughput},
    service,
    ui::{LineLevel, Output, format::name},
};

/// The most hosts with figures of their own. All further hosts share one entry, so that memory is bounded.
const MOST_HOSTS: usize = 200;

/// The looks in progress, by Source.
type LooksUnderWay = BTreeMap<SourceName, Arc<CopyMonitor<'static>>>;

/// Prints the events of a fleet, and stores the data for its pages: the looks in progress and the traffic with hosts.
pub(crate) struct FleetDisplay {
    output: Output,
    looks: Mutex<LooksUnderWay>,
    hosts: Mutex<BTreeMap<String, HostThroughput>>,
}

impl FleetDisplay {
    /// Creates a display without looks and traffic.
    pub(crate) fn new(output: Output) -> Self {
        Self { output, looks: Mutex::default(), hosts: Mutex::default() }
    }

    fn looks(&self) -> MutexGuard<'_, LooksUnderWay> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the look at a Source that is in progress.
    pub(crate) fn look(&self, source: &SourceName) -> Option<Arc<CopyMonitor<'static>>> {
        self.looks().get(source).map(Arc::clone)
    }

    /// Returns the traffic with each host.
    pub(crate) fn hosts(&self) -> BTreeMap<String, HostThroughput> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl FleetMonitor for FleetDisplay {
    fn begins(&self, source: &SourceName, copy: &Path) -> Arc<dyn Monitor> {
        let look = Arc::new(CopyMonitor::new(&VoidMonitor).shared_in(copy));
        self.looks().insert(source.clone(), Arc::clone(&look));
        look
    }

    fn ended(&self, source_name: &SourceName, source: Option<&FleetSource>) {
        self.looks().remove(source_name);
        let Some(source) = source else { return };
        let standing = &source.standing;
        let seconds = now().unix_micros().div_euclid(1_000_000);
        let state = source.state(seconds);
        let code = standing.exit_code.unwrap_or_default();
        self.output.object(
            "look",
            json!({
                "source": source_name, "url": source.definition.url, "state": state.as_str(), "exit_code": code,
                "summary": standing.summary, "pending": standing.pending, "due": standing.due,
            }),
        );
        let line = format!("{source_name}: {state}: {}", name(&standing.summary));
        service::status(&format!("Last run: {line}"));
        if self.output.json {
            return;
        }
        match standing.failures {
            0 if self.output.verbose => self.output.note(line),
            0 => {}
            _ => self.output.log(LineLevel::Warn, &line),
        }
    }

    fn traffic(&self, host: &str, traffic: &Traffic) {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = hosts.contains_key(host) || hosts.len() < MOST_HOSTS;
        hosts
            .entry(if is_known { host } else { "other hosts" }.to_owned())
            .or_default()
            .add(traffic, Instant::now());
    }

    fn note(&self, text: &str) {
        self.output.log(LineLevel::Warn, &name(text));
    }
}

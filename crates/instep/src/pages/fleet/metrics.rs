//! Metrics of a fleet in the Prometheus text format. No label grows with the number of Sources; hosts have at most fifty.

use std::collections::BTreeMap;

use instep_fleet::{FleetFigures, SourceState};

use crate::{pages::copy::HostThroughput, ui::metrics::text::Text};

/// The most hosts with metrics: those with the most bytes.
const MOST_HOSTS: usize = 50;

/// Returns the metrics.
pub(super) fn text(
    fleet: &str,
    states: &BTreeMap<SourceState, usize>,
    figures: &FleetFigures,
    workers: usize,
    hosts: &BTreeMap<String, HostThroughput>,
) -> String {
    let mut text = Text::about_fleet(fleet);
    let number = |state: SourceState| states.get(&state).copied().unwrap_or_default();
    text.family(
        "instep_fleet_sources",
        "gauge",
        SourceState::ALL.map(|state| ([("state", state.as_str().to_owned())], number(state))),
    );
    text.one("instep_fleet_running", "gauge", figures.running as f64);
    text.one("instep_fleet_workers", "gauge", workers as f64);
    let due = [("known", figures.ready), ("new", figures.ready_new)];
    text.family("instep_fleet_due", "gauge", due.map(|(kind, number)| ([("kind", kind.to_owned())], number)));
    let looks = figures.looks.iter().map(|(code, number)| ([("code", code.to_string())], *number));
    text.family("instep_fleet_looks_total", "counter", looks);
    text.one("instep_fleet_changes_total", "counter", figures.changed as f64);
    text.one("instep_fleet_transferred_bytes_total", "counter", figures.transferred as f64);
    text.one("instep_fleet_bytes", "gauge", figures.bytes as f64);
    text.one("instep_fleet_held_back", "gauge", f64::from(u8::from(figures.held_back.is_some())));
    text.one("instep_fleet_record_fault", "gauge", f64::from(u8::from(figures.record_fault.is_some())));
    text.one("instep_fleet_outage", "gauge", f64::from(u8::from(figures.outage.is_some())));
    let mut largest: Vec<_> = hosts.iter().collect();
    largest.sort_by_key(|(_, host)| std::cmp::Reverse(host.bytes()));
    largest.truncate(MOST_HOSTS);
    let bytes = largest.iter().map(|(host, throughput)| ([("host", (*host).clone())], throughput.bytes()));
    text.family("instep_fleet_host_bytes_total", "counter", bytes);
    text.into_string()
}

//! The job `cluster`: one worker and several over the same engines, and a fleet of very many Sources.

mod fleet;
mod kills;
mod processes;

use std::{thread, time::Duration};

use anyhow::Result;

use super::push::quantile;
use crate::{Options, measure::BenchReport, results::MeasuredMachine};
use fleet::{BenchFleet, BenchWorker, FleetWork, NEAR, name};
pub use kills::kills;

/// The time for workers to finish the work after the last look.
const SETTLING: Duration = Duration::from_secs(5);

/// Requests for each page.
const PAGES: usize = 20;

/// Resources a second that the CPU of the engine is stated for.
const PACE: f64 = 5_000.0;

pub fn cluster(options: &Options, report: &mut BenchReport) -> Result<()> {
    println!("| | wall s | resources/s | engine, % of a core at {PACE:.0}/s |\n|---|---:|---:|---:|");
    let machine = MeasuredMachine::this();
    let is_quiet = machine.load < machine.cores as f64 / 2.0;
    let mut rates = Vec::new();
    for workers in [1, options.workers] {
        let fleet = BenchFleet::new(options.large_sources, NEAR)?;
        let (work, _workers) = fleet.work(workers, options)?;
        let (rate, engine) =
            row(report, &format!("large Sources, workers: {workers}"), options.large_sources, work);
        rates.push(rate);
        report.goal(&format!("engine, % of a core at {PACE:.0}/s, workers: {workers}"), engine, 12.0);
    }
    let ratio = rates[1] / rates[0];
    let least = options.workers as f64 * if is_quiet { 0.9 } else { 0.8 };
    let machine = if is_quiet { "quiet" } else { "busy" };
    let what = format!(
        "{} workers over one: {ratio:.2} times on a {machine} machine, at least {least:.1}",
        options.workers
    );
    report.conclude(what, ratio >= least);

    let fleet = BenchFleet::new(options.small_sources, NEAR)?;
    let (work, workers) = fleet.work(options.workers, options)?;
    let (_, engine) =
        row(report, &format!("small Sources, workers: {}", options.workers), options.small_sources, work);
    report.number("engine, small Sources", "% of a core at 5,000/s", engine);
    let sources = options.small_sources.0 as f64 / work.seconds;
    report.number("small Sources", "Sources/s", sources);
    report.conclude(format!("{sources:.0} Sources a second, at least 100"), sources >= 100.0);
    let [mean, most] = fleet.waits()?;
    // Times of the record are whole seconds: both ends of a wait are rounded.
    let what = format!("longest wait of a Source: {most:.0} s, at most twice the mean of {mean:.1} s");
    report.conclude(what, most <= 2.0 * mean + 1.0);
    idle(report, &workers, options.idle)?;
    pages(report, &workers[0])
}

/// Adds the results; returns resources per second, and the engine's share of a core at [`PACE`].
fn row(
    report: &mut BenchReport,
    what: &str,
    (sources, resources): (usize, usize),
    work: FleetWork,
) -> (f64, f64) {
    let all = (sources * resources) as f64;
    let (rate, engine) = (all / work.seconds, work.engine / all * PACE * 100.0);
    println!("| {what} | {:.1} | {rate:.0} | {engine:.1} |", work.seconds);
    report.number(what, "resources/s", rate);
    report.number(&format!("engine, {what}"), "% of a core at 5,000/s", engine);
    (rate, engine)
}

/// Watches workers that have nothing to do.
fn idle(report: &mut BenchReport, workers: &[BenchWorker], watched: u64) -> Result<()> {
    thread::sleep(SETTLING);
    let before = workers.iter().map(BenchWorker::cpu).collect::<Result<Vec<_>>>()?;
    thread::sleep(Duration::from_secs(watched));
    let mut most = 0.0_f64;
    for (worker, before) in workers.iter().zip(before) {
        most = most.max((worker.cpu()? - before) / watched as f64 * 100.0);
    }
    report.number("idle worker", "% of a core", most);
    report.goal("% of a core of a worker whose Sources are all idle", most, 1.0);
    Ok(())
}

/// Fetches pages of the dashboard.
fn pages(report: &mut BenchReport, worker: &BenchWorker) -> Result<()> {
    let source = format!("/source/{}/", name(0));
    for target in ["/", "/?page=7", "/?q=s0000", &source, "/hosts", "/log", "/api/v1/sources"] {
        worker.page(target)?;
        let mut times = (0..PAGES).map(|_| worker.page(target)).collect::<Result<Vec<_>>>()?;
        let late = quantile(&mut times, 0.95);
        report.number(&format!("page {target}"), "ms", late);
        report.goal(&format!("ms of the page {target}, 95 of 100"), late, 100.0);
    }
    Ok(())
}

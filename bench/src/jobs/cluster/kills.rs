//! The job `kills`: workers are killed and the database is stopped while they copy one Source. It counts the requests that
//! this costs.

use std::{
    sync::mpsc::{RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::fleet::{BenchFleet, get, url};
use crate::{Options, data, limits::sources::COUNTED, measure::BenchReport};

/// The round trip to the Source, in milliseconds. With eight transfers to it, that is the number of resources a minute.
const FAR: u32 = 50;
const RESOURCES_A_MINUTE: usize = 9_600;

/// The transfers to a host at the same time, by all workers together: the default of the program.
const PER_HOST: f64 = 8.0;

const WORKERS: usize = 3;

/// The time between two faults.
const PAUSE: Duration = Duration::from_secs(10);

/// One fault in this number stops the database, the others kill a worker.
const STOPS: usize = 4;

pub fn kills(options: &Options, report: &mut BenchReport) -> Result<()> {
    let resources = options.minutes.max(1) as usize * RESOURCES_A_MINUTE;
    let fleet = BenchFleet::new((1, resources), FAR)?;
    data::empty("workers")?;
    let began = Instant::now();
    let [killed, stopped] = copy_under_faults(&fleet, options)?;
    let seconds = began.elapsed().as_secs_f64();
    let (requests, most) = counted(fleet.port)?;
    let again = (requests / resources as f64 - 1.0) * 100.0;
    println!(
        "{resources} resources in {seconds:.0} s, {killed} workers killed, the database stopped {stopped} times"
    );
    report.number("faults", "faults", (killed + stopped) as f64);
    report.number("fetched again", "%", again);
    report.goal("% of the resources fetched again", again, 2.0);
    report.goal("requests to the host at the same time", most, PER_HOST);
    report.conclude("the copy is whole: every held byte is as the Source says".to_owned(), is_whole(&fleet)?);
    Ok(())
}

/// Copies the Source with a fault in each pause. Returns the number of workers killed, and of stops of the database.
fn copy_under_faults(fleet: &BenchFleet, options: &Options) -> Result<[usize; 2]> {
    let (sender, lines) = channel();
    let begin = |folder| fleet.worker(folder, options, &sender).map(|worker| (folder, worker));
    let mut workers = (0..WORKERS).map(begin).collect::<Result<Vec<_>>>()?;
    let (mut killed, mut stopped, mut next) = (0, 0, Instant::now() + PAUSE);
    loop {
        match lines.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok((_, line)) => {
                let line: Value = serde_json::from_str(&line)?;
                if line["type"] == "look" && line["state"] == "in-step" {
                    return Ok([killed, stopped]);
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                if (killed + stopped) % STOPS == STOPS - 1 {
                    fleet.database.stop_at_once();
                    fleet.database.begin();
                    stopped += 1;
                } else {
                    // The one that has run longest. It is started again at once, with its folder, as a service manager
                    // does.
                    let (folder, worker) = workers.remove(0);
                    drop(worker);
                    workers.push(begin(folder)?);
                    killed += 1;
                }
                next = Instant::now() + PAUSE;
            }
            Err(error) => return Err(error).context("the workers say nothing more"),
        }
    }
}

/// Returns the number of requests for resources, and the most of them at the same time.
fn counted(port: u16) -> Result<(f64, f64)> {
    let answer = get(port, COUNTED)?;
    let line = answer.lines().last().context("no figures")?;
    let (requests, most) = line.split_once(' ').context("no two figures")?;
    Ok((requests.parse()?, most.parse()?))
}

/// Returns `true` if a further run finds nothing to do, and every held file has the digest that the Source states.
fn is_whole(fleet: &BenchFleet) -> Result<bool> {
    let folder = data::empty("copy-of-fleet")?.display().to_string();
    let (url, [state, store]) = (url(0, fleet.port), fleet.places(0));
    let sync =
        fleet.command(&["sync", &url, &folder, "--state", &state, "--store", &store, "-q"]).status()?;
    ensure!(sync.success(), "a further run ends with {sync}");
    Ok(fleet.command(&["audit", &url, &folder, "-q"]).status()?.success())
}

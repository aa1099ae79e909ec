//! The job `endure`: following for a long time while the Source is killed now and then.

use std::{
    fs,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::Result;

use super::{Follower, Served, memory, name, quantile};
use crate::{Options, measure::BenchReport, programs::instep};

const FILES: usize = 2_000;
const CHANGES_A_SECOND: u32 = 50;
const RESTARTS: u32 = 3;

/// Follows a Source that changes all the time and is killed three times.
pub fn endure(options: &Options, report: &mut BenchReport) -> Result<()> {
    let mut served = Served::start(FILES, "1s")?;
    let mut follower = Follower::start(&served)?;
    follower.wait_for(FILES - 1, "at first")?;
    let seconds = u32::try_from(options.minutes * 60)?;
    let (began, mut samples, mut restarts) = (Instant::now(), Vec::new(), 0);
    for change in 0..seconds * CHANGES_A_SECOND {
        let due = Duration::from_secs(1) * change / CHANGES_A_SECOND;
        sleep(due.saturating_sub(began.elapsed()));
        let number = change as usize * 7 % FILES;
        match change % 10 {
            9 => drop(fs::remove_file(served.files.join(name(number)))),
            _ => served.write(number, &format!("change {change}"))?,
        }
        if change % CHANGES_A_SECOND == 0 {
            samples.push(memory(follower.child.id())?[0]);
        }
        if restarts < RESTARTS && due >= Duration::from_secs(1) * seconds / (RESTARTS + 1) * (restarts + 1) {
            restarts += 1;
            served.kill()?;
            served.restart()?;
        }
    }
    let written = began.elapsed().as_secs_f64();
    served.write(0, "the last change")?;
    follower.wait_for(0, "the last change")?;
    let behind = began.elapsed().as_secs_f64() - written;
    follower.end()?;
    let copy = follower.copy.display().to_string();
    let audit = instep(&["audit", &served.url(), &copy, "-q"]).status()?;

    let points = (0..).map(f64::from).zip(samples.iter().copied()).collect();
    report.curve("sync --follow", "s", "MiB", points);
    let quarter = samples.len() / 4;
    let early = quantile(&mut samples[quarter..2 * quarter].to_vec(), 0.5);
    let late = quantile(&mut samples[3 * quarter..].to_vec(), 0.5);
    println!(
        "| minutes | last change behind s | MiB in the second quarter | in the last |\n|---:|---:|---:|---:|"
    );
    println!("| {} | {behind:.3} | {early:.1} | {late:.1} |\n", options.minutes);
    report.conclude(format!("the copy audits clean: {audit}"), audit.success());
    report.goal("MiB that following grew by from the second quarter to the last", late - early, 2.0);
    Ok(())
}

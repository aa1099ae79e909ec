//! The job `lag`: the time from a written file at the Source to the verified file at a Destination.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::Result;
use rand::Rng as _;

use super::{Follower, Served, quantile};
use crate::{Options, measure::BenchReport};

/// Measures the time from a file that is written at the Source to the verified file at a Destination that follows.
pub fn lag(options: &Options, report: &mut BenchReport) -> Result<()> {
    println!("| | median s | 90 % s | most s |\n|---|---:|---:|---:|");
    for (interval, most) in [("1s", 1.5), ("50ms", 0.010)] {
        let served = Served::start(100, interval)?;
        let follower = Follower::start(&served)?;
        follower.wait_for(99, "at first")?;
        let mut lags = Vec::new();
        for round in 0..(options.rounds * 8) {
            // At any moment of the interval.
            sleep(Duration::from_millis(rand::rng().random_range(20..1_500)));
            let text = format!("round {round}");
            let began = Instant::now();
            served.write(round % 100, &text)?;
            follower.wait_for(round % 100, &text)?;
            lags.push(began.elapsed().as_secs_f64());
        }
        let [median, tenth, last] = [0.5, 0.9, 1.0].map(|share| quantile(&mut lags, share));
        println!("| `--interval {interval}` | {median:.3} | {tenth:.3} | {last:.3} |");
        let lags: Vec<_> = lags.iter().map(|seconds| seconds * 1_000.0).collect();
        report.distribution(&format!("--interval {interval}"), "ms", &lags);
        report.goal(&format!("median with --interval {interval}, s"), median, most);
    }
    Ok(())
}

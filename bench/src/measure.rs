//! Runs, medians and goals.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::{
    data,
    results::{JobResults, MeasuredCurve, MeasuredNumber, SampledRow},
};

/// One run of one contender: seconds of the clock, seconds of user and system time of the process and its children, and the
/// most memory that one of them had, in MiB.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub struct Sample {
    #[serde(rename = "wall_s")]
    pub wall: f64,
    #[serde(rename = "cpu_s")]
    pub cpu: f64,
    pub peak_mib: f64,
}

type MeasuredStep<'a> = Box<dyn FnMut() -> Result<()> + 'a>;
type MeasuredRun<'a> = Box<dyn FnMut() -> Result<Sample> + 'a>;

/// Something that does the job: this program, a peer, or a bare loop.
pub struct Contender<'a> {
    name: String,
    prepare: MeasuredStep<'a>,
    run: MeasuredRun<'a>,
}

impl<'a> Contender<'a> {
    /// Returns a contender. Before each run, `prepare` restores the state before the job, which is not measured.
    pub fn new(
        name: &str,
        prepare: impl FnMut() -> Result<()> + 'a,
        run: impl FnMut() -> Result<Sample> + 'a,
    ) -> Self {
        Self { name: name.into(), prepare: Box::new(prepare), run: Box::new(run) }
    }

    /// Returns a command that needs nothing prepared.
    pub fn command(name: &str, mut command: impl FnMut() -> Command + 'a) -> Self {
        Self::new(name, || Ok(()), move || time(&mut command()))
    }
}

/// Medians and goals of one job.
#[derive(Debug, Default)]
pub struct BenchReport {
    pub measured: JobResults,
    goals: Vec<(String, bool)>,
}

impl BenchReport {
    /// Runs the contenders in alternation and prints their medians.
    pub fn compare(&mut self, rounds: usize, mut contenders: Vec<Contender<'_>>) -> Result<()> {
        let mut samples: Vec<Vec<Sample>> = contenders.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds {
            for (contender, samples) in contenders.iter_mut().zip(&mut samples) {
                (contender.prepare)().with_context(|| format!("preparing {}", contender.name))?;
                samples.push((contender.run)().with_context(|| contender.name.clone())?);
            }
        }
        println!("| | wall s | CPU s | peak MiB |\n|---|---:|---:|---:|");
        for (contender, samples) in contenders.iter().zip(samples) {
            self.samples(&contender.name, samples);
        }
        println!();
        Ok(())
    }

    /// Adds the runs of a contender, and prints their medians as a row.
    pub fn samples(&mut self, name: &str, samples: Vec<Sample>) {
        let Sample { wall, cpu, peak_mib } = median_of(&samples);
        println!("| {name} | {wall:.3} | {cpu:.3} | {peak_mib:.1} |");
        self.measured.rows.push(SampledRow { name: name.into(), samples });
    }

    /// Adds a single run.
    pub fn row(&mut self, name: &str, sample: Sample) {
        self.samples(name, vec![sample]);
    }

    /// Keeps a number that is no run.
    pub fn number(&mut self, name: &str, unit: &str, value: f64) {
        self.measured.numbers.push(MeasuredNumber { name: name.into(), unit: unit.into(), value });
    }

    /// Keeps the points of a curve.
    pub fn curve(&mut self, name: &str, across: &str, up: &str, points: Vec<(f64, f64)>) {
        let (across, up) = (across.to_owned(), up.to_owned());
        self.measured.curves.push(MeasuredCurve { name: name.into(), across, up, points });
    }

    /// Keeps the part of the values that are at most each of them, as a curve.
    pub fn distribution(&mut self, name: &str, unit: &str, values: &[f64]) {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        let count = values.len() as f64;
        // A hundred points draw as well as a million.
        let step = (values.len() / 100).max(1);
        let point = |(number, value): (usize, &f64)| (*value, (number + 1) as f64 / count);
        let mut points: Vec<_> = values.iter().enumerate().step_by(step).map(point).collect();
        points.extend(values.last().map(|most| (*most, 1.0)));
        self.curve(name, unit, "part", points);
    }

    /// Returns the medians under a name; `None` if that contender did not run.
    pub fn of(&self, name: &str) -> Option<Sample> {
        self.measured.median(name)
    }

    /// Requires the `measure` of one contender to be at most `limit` times that of another.
    pub fn at_most(&mut self, one: &str, other: &str, measure: fn(Sample) -> f64, limit: f64, what: &str) {
        if let (Some(one_is), Some(other_is)) = (self.of(one), self.of(other)) {
            self.goal(&format!("{what} of {one} over {other}"), measure(one_is) / measure(other_is), limit);
        }
    }

    /// Requires a contender to be at least `limit` times faster than a peer.
    pub fn times_faster(
        &mut self,
        one: &str,
        peer: &str,
        measure: fn(Sample) -> f64,
        limit: f64,
        what: &str,
    ) {
        if let (Some(one_is), Some(peer_is)) = (self.of(one), self.of(peer)) {
            let times = measure(peer_is) / measure(one_is);
            self.conclude(
                format!("{what} of {peer} over {one}: {times:.1}, at least {limit}"),
                times >= limit,
            );
        }
    }

    /// Requires a number to be at most `limit`.
    pub fn goal(&mut self, what: &str, measured: f64, limit: f64) {
        self.conclude(format!("{what}: {measured:.3}, at most {limit}"), measured <= limit);
    }

    /// Records if a goal was reached.
    pub fn conclude(&mut self, goal: String, reached: bool) {
        println!("- {} {goal}", if reached { "reached:" } else { "MISSED:" });
        self.goals.push((goal, reached));
    }

    /// Returns the goals not reached.
    pub fn missed(&self) -> impl Iterator<Item = &str> {
        self.goals.iter().filter(|(_, reached)| !reached).map(|(goal, _)| goal.as_str())
    }
}

pub fn wall(sample: Sample) -> f64 {
    sample.wall
}

pub fn cpu(sample: Sample) -> f64 {
    sample.cpu
}

pub fn peak(sample: Sample) -> f64 {
    sample.peak_mib
}

/// Returns the median of each figure.
pub fn median_of(samples: &[Sample]) -> Sample {
    let median = |measure: fn(Sample) -> f64| {
        let mut values: Vec<_> = samples.iter().map(|sample| measure(*sample)).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    Sample { wall: median(wall), cpu: median(cpu), peak_mib: median(peak) }
}

/// Runs a command to its end under GNU time; its output is thrown away unless it fails.
pub fn time(command: &mut Command) -> Result<Sample> {
    let folder = data::scratch()?;
    let (figures, log) = (folder.join("time.txt"), folder.join("output.txt"));
    let mut timed = Command::new("/usr/bin/time");
    timed.args(["-f", "%U %S %M", "-o"]).arg(&figures).arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        timed.current_dir(folder);
    }
    let output = fs::File::create(&log)?;
    let start = Instant::now();
    let status = timed.stdin(Stdio::null()).stderr(output.try_clone()?).stdout(output).status()?;
    let wall = start.elapsed().as_secs_f64();
    ensure!(status.success(), "{command:?}: {status}\n{}", tail(&log));
    let figures = fs::read_to_string(&figures)?;
    let numbers: Vec<f64> = figures.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    let [user, system, peak_kib] = numbers.as_slice() else { anyhow::bail!("time says {figures}") };
    Ok(Sample { wall, cpu: user + system, peak_mib: peak_kib / 1024.0 })
}

fn tail(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().rev().take(20).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

/// Runs a bare loop of this program, which measures itself: short loops need a finer clock than GNU time has.
pub fn limit(arguments: &[&str]) -> Result<Sample> {
    let output = Command::new(std::env::current_exe()?).arg("limit").args(arguments).output()?;
    ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    let [wall, cpu, peak_mib] = numbers.as_slice() else { anyhow::bail!("{arguments:?} says {text}") };
    Ok(Sample { wall: *wall, cpu: *cpu, peak_mib: *peak_mib })
}

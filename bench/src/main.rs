//! Measurements: each job alternates with its peers and with a bare loop that does only the work itself, on a tmpfs.

mod compare;
mod data;
mod jobs;
mod limits;
mod measure;
mod plots;
mod programs;
mod results;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Result, bail};
use clap::Parser;

use measure::BenchReport;
use results::BenchResults;

/// Measures the jobs named, or all of them; `compare BEFORE AFTER` holds two results against each other.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench", after_help = jobs::help())]
pub struct Options {
    /// Jobs to run (all if none is named)
    names: Vec<String>,
    /// Write the results there as JSON; jobs that the file has and that are not run now stay in it
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Draw the pictures of these results into bench/plots, and measure nothing
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = plots::KEPT)]
    plots: Option<PathBuf>,
    /// Numbers of resources of `growth`
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000, 1_000_000])]
    sizes: Vec<usize>,
    /// Files of the small-file jobs
    #[arg(long, default_value_t = 50_000)]
    files: usize,
    /// Entries of the reading jobs
    #[arg(long, default_value_t = 50_000)]
    entries: usize,
    /// Files of the million job, and resources of `search`
    #[arg(long, default_value_t = 1_000_000)]
    resources: usize,
    /// Files of the million job that change between two publications
    #[arg(long, default_value_t = 1_000)]
    changed: usize,
    /// Clients of the record job
    #[arg(long, default_value_t = 32)]
    clients: usize,
    /// Seconds that the record job lets them work, and of ten messages each of `hub`
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Resources of the batch job
    #[arg(long, default_value_t = 10_000)]
    batch: usize,
    /// Resources of the copy in `sync-held`
    #[arg(long, default_value_t = 1_000_000)]
    held: usize,
    /// Records of the repository that `oai` harvests
    #[arg(long, default_value_t = 1_000_000)]
    records: usize,
    /// Subscribers of `hub`
    #[arg(long, default_value_t = 10_000)]
    subscribers: usize,
    /// Workers of `cluster`
    #[arg(long, default_value_t = 4)]
    workers: usize,
    /// Sources and resources of each that `cluster` brings in step with one worker and with all of them
    #[arg(long, default_value = "64x1000", value_parser = product, value_name = "SOURCESxRESOURCES")]
    large_sources: (usize, usize),
    /// Sources of few resources that `cluster` brings in step, leaves idle and shows, and the resources of each
    #[arg(long, default_value = "10000x8", value_parser = product, value_name = "SOURCESxRESOURCES")]
    small_sources: (usize, usize),
    /// Seconds for which `cluster` watches idle workers
    #[arg(long, default_value_t = 30)]
    idle: u64,
    /// Transfers that each worker of `cluster` has under way
    #[arg(long, default_value_t = 16)]
    transfers: usize,
    /// Runs of each contender
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Resources of `profiles`, of all that the Sources have: 1 is 2.4 and 3.77 million
    #[arg(long, default_value_t = 0.01)]
    scale: f64,
    /// Minutes that `endure` and `profiles` follow, and that `kills` copies
    #[arg(long, default_value_t = 1)]
    minutes: u64,
    /// Record the figures of `instructions` in place of those before, for this reason
    #[arg(long, value_name = "REASON")]
    accept: Option<String>,
    /// Measure only this program and the bare loops, without peers
    #[arg(long)]
    without_peers: bool,
}

/// Reads two numbers, such as `64x1000`.
fn product(text: &str) -> Result<(usize, usize)> {
    let (sources, resources) = text.split_once('x').context("two numbers, such as 64x1000")?;
    Ok((sources.parse()?, resources.parse()?))
}

/// Prints an error without the place in this program that it came from: a missed goal is no fault of the program.
fn main() -> ExitCode {
    match command() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn command() -> Result<()> {
    if let [_, limit, arguments @ ..] = std::env::args().collect::<Vec<_>>().as_slice()
        && limit == "limit"
    {
        return limits::run(arguments);
    }
    let options = Options::parse();
    if let Some(results) = &options.plots {
        return plots::draw(&BenchResults::read(results)?, Path::new(plots::FOLDER));
    }
    if let [compare, before, after] = options.names.as_slice()
        && compare == "compare"
    {
        let read = |file: &String| BenchResults::read(Path::new(file));
        return compare::print(&read(before)?, &read(after)?);
    }
    measure(&options)
}

fn measure(options: &Options) -> Result<()> {
    let known = |name: &String| jobs::ALL.iter().any(|job| job.name == name);
    if let Some(unknown) = options.names.iter().find(|name| !known(name)) {
        bail!("There is no job {unknown}\n{}", jobs::help());
    }
    let (mut results, mut missed) = (BenchResults::begin()?, Vec::new());
    for job in jobs::ALL {
        if options.names.is_empty() || options.names.iter().any(|name| name == job.name) {
            println!("\n## {}: {}\n", job.name, job.about);
            let mut report = BenchReport::default();
            (job.run)(options, &mut report)?;
            missed.extend(report.missed().map(|goal| format!("{}: {goal}", job.name)));
            job.name.clone_into(&mut report.measured.name);
            results.jobs.push(report.measured);
        }
    }
    if let Some(file) = &options.save {
        results.write(file)?;
    }
    match missed.as_slice() {
        [] => println!("\nevery goal reached"),
        missed if options.names == ["instructions"] => bail!(
            "More than recorded:\n  {}\n\nIf that is worth it, record it: cargo xtask bench instructions --accept REASON",
            missed.join("\n  ")
        ),
        missed => println!("\nmissed:\n  {}", missed.join("\n  ")),
    }
    Ok(())
}

//! Results of a run as JSON: the measurements, with the machine, the versions and the date, so that a later run can
//! be compared with it.

use std::{
    fs,
    path::Path,
    process::Command,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result};
use resourcesync::DateTime;
use serde::{Deserialize, Serialize};

use crate::{
    measure::{Sample, median_of},
    programs::instep,
};

/// A run of the program in this folder.
#[derive(Debug, Deserialize, Serialize)]
pub struct BenchResults {
    /// Version of the measured program, as it prints it.
    pub version: String,
    /// Commit of the working tree, if there is one.
    pub commit: Option<String>,
    /// Build profile of the measured program.
    pub profile: String,
    /// Time at which the run began, UTC.
    pub date: String,
    pub machine: MeasuredMachine,
    pub jobs: Vec<JobResults>,
}

/// The machine that measured.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct MeasuredMachine {
    pub processor: String,
    pub cores: usize,
    pub memory_mib: u64,
    pub kernel: String,
    /// Processes that wanted to run in the minute before: above half of the cores, elapsed times are unreliable.
    pub load: f64,
}

/// The figures of one job.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct JobResults {
    pub name: String,
    /// Runs of contenders.
    pub rows: Vec<SampledRow>,
    /// Single numbers with their units.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<MeasuredNumber>,
    /// Points of curves: growth, distributions, memory over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<MeasuredCurve>,
}

/// All runs of one contender.
#[derive(Debug, Deserialize, Serialize)]
pub struct SampledRow {
    pub name: String,
    pub samples: Vec<Sample>,
}

/// A number that is no run: a rate, a size, instructions.
#[derive(Debug, Deserialize, Serialize)]
pub struct MeasuredNumber {
    pub name: String,
    pub unit: String,
    pub value: f64,
}

/// Points in the order of their abscissas.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct MeasuredCurve {
    pub name: String,
    /// Name and unit of the abscissa.
    pub across: String,
    /// Name and unit of the ordinate.
    pub up: String,
    pub points: Vec<(f64, f64)>,
}

impl BenchResults {
    /// Begins the results of a run on this machine.
    pub fn begin() -> Result<Self> {
        let version = instep(&["--version"]).output().context("instep --version")?;
        let commit = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output().ok();
        let commit = commit.filter(|output| output.status.success());
        Ok(Self {
            version: text(&version.stdout),
            commit: commit.map(|output| text(&output.stdout)),
            profile: crate::programs::profile(),
            date: now()?,
            machine: MeasuredMachine::this(),
            jobs: Vec::new(),
        })
    }

    /// Reads results that were written before.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).with_context(|| path.display().to_string())?;
        serde_json::from_slice(&bytes).with_context(|| format!("{} holds no results", path.display()))
    }

    /// Writes the results. Jobs that are in the file already and were not run again stay there if they are of the same
    /// machine: one picture may need jobs of several runs.
    pub fn write(mut self, path: &Path) -> Result<()> {
        if path.exists() {
            let before = Self::read(path)?;
            let is_new = |job: &JobResults| !self.jobs.iter().any(|new| new.name == job.name);
            let kept: Vec<_> = if before.machine.is_like(&self.machine) {
                before.jobs.into_iter().filter(is_new).collect()
            } else {
                Vec::new()
            };
            self.jobs.splice(0..0, kept);
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut json = serde_json::to_vec_pretty(&self)?;
        json.push(b'\n');
        fs::write(path, json).with_context(|| path.display().to_string())
    }

    /// Returns the results of a job.
    pub fn job(&self, name: &str) -> Option<&JobResults> {
        self.jobs.iter().find(|job| job.name == name)
    }
}

impl JobResults {
    /// Returns the medians of a contender.
    pub fn median(&self, name: &str) -> Option<Sample> {
        self.rows.iter().find(|row| row.name == name).map(|row| median_of(&row.samples))
    }
}

impl MeasuredMachine {
    pub fn this() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let (processors, memory, load) =
            (read("/proc/cpuinfo"), read("/proc/meminfo"), read("/proc/loadavg"));
        let named = |text: &str, name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().trim_start_matches([' ', '\t', ':']).to_owned()
        };
        let kib = named(&memory, "MemTotal").split(' ').next().and_then(|kib| kib.parse::<u64>().ok());
        Self {
            processor: named(&processors, "model name"),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            memory_mib: kib.unwrap_or_default() / 1024,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            load: load.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or_default(),
        }
    }

    /// Returns `true` if times of the two can be compared.
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.processor, self.cores) == (&other.processor, other.cores)
    }

    /// Returns `true` if other work shared the machine.
    pub fn was_busy(&self) -> bool {
        self.load > self.cores as f64 / 2.0
    }
}

fn now() -> Result<String> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    Ok(DateTime::from_unix_seconds(i64::try_from(seconds)?).to_string())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

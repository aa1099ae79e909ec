//! The job `warc`: a baseline that is kept as a web archive too.

use anyhow::Result;

use super::sync::Site;
use crate::{
    Options, data,
    measure::{BenchReport, Contender, cpu, time},
};

/// The part of the CPU of `sync` that the archive may cost.
const MOST: f64 = 0.15;

const PLAIN: &str = "instep sync";
const ARCHIVED: &str = "instep sync --warc";

/// Measures the same baseline with and without `--warc`.
pub fn warc(options: &Options, report: &mut BenchReport) -> Result<()> {
    let site = Site::open(options.files)?;
    let copy = data::folder("copy")?.display().to_string();
    let archive = data::folder("archive")?.display().to_string();
    let fresh = || {
        data::empty("archive")?;
        data::empty("copy").map(drop)
    };
    report.compare(
        options.rounds,
        vec![
            Contender::new(PLAIN, fresh, || time(&mut site.sync(&copy))),
            Contender::new(ARCHIVED, fresh, || time(site.sync(&copy).args(["--warc", &archive]))),
        ],
    )?;
    report.at_most(ARCHIVED, PLAIN, cpu, 1.0 + MOST, "CPU");
    data::empty("archive")?;
    data::empty("copy").map(drop)
}

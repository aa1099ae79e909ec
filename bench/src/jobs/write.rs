//! Jobs about writing lists.

use anyhow::Result;

use crate::{
    Options,
    measure::{BenchReport, Contender, cpu, limit},
};

/// Passes in one process; the mean is the sample.
const TIMES: &str = "10";

/// Measures the CPU beside a bare loop that formats the same bytes.
pub fn time(options: &Options, report: &mut BenchReport) -> Result<()> {
    let entries = options.entries.to_string();
    let looped = |name: &'static str, title: &str| {
        let entries = entries.clone();
        Contender::new(title, || Ok(()), move || limit(&[name, &entries, TIMES]))
    };
    let contenders = vec![looped("write", OURS), looped("format", BARE)];
    report.compare(options.rounds, contenders)?;
    report.at_most(OURS, BARE, cpu, 1.5, "CPU");
    Ok(())
}

const OURS: &str = "instep (resourcesync)";
const BARE: &str = "bare loop: the same lines, unchecked";

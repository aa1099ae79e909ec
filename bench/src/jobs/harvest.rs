//! The job `oai`: a repository that speaks OAI-PMH, harvested.

use anyhow::Result;
use instep_testkit::{Server, free_port};

use crate::{
    Options, data,
    measure::{BenchReport, cpu, limit, peak, time},
    programs::instep,
};

/// CPU of each record, microseconds.
const EACH: f64 = 20.0;
/// The part by which memory may grow while the records become ten times as many.
const FLAT: f64 = 1.2;

/// Measures harvests of a tenth of the records and of all of them; then a harvest that is published too.
pub fn harvest(options: &Options, report: &mut BenchReport) -> Result<()> {
    println!("| | wall s | CPU s | peak MiB |\n|---|---:|---:|---:|");
    let few = (options.records / 10).max(1);
    for records in [few, options.records] {
        let (_server, url) = repository(records)?;
        let folder = data::empty("harvest")?.display().to_string();
        report.row(&harvested(records), limit(&["harvest", &url, &folder])?);
    }
    let (_server, url) = repository(few)?;
    let folder = data::empty("harvest")?.display().to_string();
    let publish = ["publish", &folder, "--from", &url, "--base-url", "http://source.example.com/", "-q"];
    report.row(&format!("instep publish --from oai+, {few} records"), time(&mut instep(&publish))?);
    println!();
    let all = report.of(&harvested(options.records)).unwrap_or_default();
    let a_tenth = report.of(&harvested(few)).unwrap_or_default();
    report.goal("CPU of each record, \u{b5}s", cpu(all) * 1e6 / options.records as f64, EACH);
    report.goal("peak memory, all records over a tenth of them", peak(all) / peak(a_tenth), FLAT);
    data::empty("harvest").map(drop)
}

fn harvested(records: usize) -> String {
    format!("a harvest of {records} records")
}

fn repository(records: usize) -> Result<(Server, String)> {
    let port = free_port()?;
    let mut server = std::process::Command::new(std::env::current_exe()?);
    server.args(["limit", "repository", &port.to_string(), &records.to_string()]);
    let url = format!("oai+http://127.0.0.1:{port}/oai?metadataPrefix=oai_dc");
    Ok((Server::start(&mut server, port)?, url))
}

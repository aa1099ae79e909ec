//! Many resources and much of everything: a Source that is far away, a copy that is large.

use anyhow::Result;
use instep_testkit::{Server, free_port};

use super::sync::Site;
use crate::{
    Options, data,
    measure::{BenchReport, peak, time, wall},
    programs::{self, instep},
};

/// Round trip of a Source that is far away, in milliseconds.
const ROUND_TRIP: &str = "20";

/// A baseline over 20 ms of round trip, by list and by dump.
pub fn distance(options: &Options, report: &mut BenchReport) -> Result<()> {
    let folder = data::small_files(options.files)?;
    let nginx = programs::nginx(&folder)?;
    let proxy = delayed(&nginx)?;
    for document in ["resourcesync", ".well-known", ".instep"] {
        data::remove(&folder.join(document))?;
    }
    let publish =
        ["publish", &folder.display().to_string(), "--base-url", &proxy.url(), "--dump", "always", "-q"];
    time(&mut instep(&publish))?;
    let copy = data::folder("copy")?.display().to_string();
    println!("| | wall s | CPU s | peak MiB |\n|---|---:|---:|---:|");
    for (way, least) in [("list", 4_000.0), ("dump", 25_000.0)] {
        let name = format!("instep sync --via {way}");
        let mut samples = Vec::new();
        for _ in 0..options.rounds {
            data::empty("copy")?;
            let arguments =
                ["sync", &proxy.url(), &copy, "--via", way, "--transfers", "64", "--per-host", "64", "-q"];
            samples.push(time(&mut instep(&arguments))?);
        }
        report.samples(&name, samples);
        let rate = options.files as f64 / report.of(&name).map_or(f64::INFINITY, wall);
        report.conclude(format!("{rate:.0} resources a second by {way}, at least {least}"), rate >= least);
    }
    for document in ["resourcesync", ".well-known", ".instep"] {
        data::remove(&folder.join(document))?;
    }
    Ok(())
}

fn delayed(server: &Server) -> Result<Server> {
    let port = free_port()?;
    let upstream = server.url().trim_end_matches('/').rsplit(':').next().unwrap_or_default().to_owned();
    let mut proxy = std::process::Command::new(std::env::current_exe()?);
    proxy.args(["limit", "delay", &port.to_string(), &upstream, ROUND_TRIP]);
    Ok(Server::start(&mut proxy, port)?)
}

/// Nothing new for a copy of many resources: the list unchanged, then published anew with equal content.
pub fn held(options: &Options, report: &mut BenchReport) -> Result<()> {
    let site = Site::open(options.held)?;
    let copy = data::empty("copy")?.display().to_string();
    println!("| | wall s | CPU s | peak MiB |\n|---|---:|---:|---:|");
    report.row(FIRST, time(&mut site.sync(&copy))?);
    report.row(UNCHANGED, time(&mut site.sync(&copy))?);
    time(site.publish().arg("--snapshot"))?;
    report.row(ANEW, time(site.sync(&copy).args(["--via", "list"]))?);
    println!();
    report.goal("wall, list unchanged", report.of(UNCHANGED).map_or(0.0, wall), 0.1);
    let anew = report.of(ANEW).unwrap_or_default();
    report.goal("wall, list published anew", wall(anew), 2.5);
    report.goal("peak MiB, list published anew", peak(anew), 96.0);
    data::empty("copy").map(drop)
}

const FIRST: &str = "instep sync, nothing held";
const UNCHANGED: &str = "instep sync, list unchanged";
const ANEW: &str = "instep sync, list published anew";

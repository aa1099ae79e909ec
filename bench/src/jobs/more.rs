//! Jobs of single commands beside one peer each.

use std::{fs, process::Command};

use anyhow::{Context, Result, ensure};
use instep_testkit::{Server, free_port};

use super::sync::Site;
use crate::{
    Options, data,
    measure::{BenchReport, Contender, Sample, cpu, limit, peak, time, wall},
    programs::{self, instep, program},
};

/// Measures all offline rules over one list.
pub fn validate(options: &Options, report: &mut BenchReport) -> Result<()> {
    let list = data::resource_list(options.entries)?.display().to_string();
    report.compare(
        options.rounds,
        vec![
            Contender::command("instep validate", || instep(&["validate", &list, "-q"])),
            Contender::command("xmllint --stream", || program("xmllint", &["--noout", "--stream", &list])),
        ],
    )?;
    report.at_most("instep validate", "xmllint --stream", wall, 1.5, "wall");
    Ok(())
}

/// Measures requests a second for documents and files, beside nginx with one worker.
pub fn serve(options: &Options, report: &mut BenchReport) -> Result<()> {
    let files = data::small_files_alone(options.files.min(10_000))?;
    let port = free_port()?;
    let listen = format!("127.0.0.1:{port}");
    let ours = Server::start(
        &mut instep(&["serve", &files.display().to_string(), "--listen", &listen, "-q"]),
        port,
    )?;
    let nginx = programs::nginx(&files)?;
    let documents = files.join("resourcesync");
    fs::create_dir_all(&documents)?;
    let document = files.join(".instep/documents/resourcesync/changelist.xml");
    fs::copy(&document, documents.join("changelist.xml"))
        .with_context(|| format!("{}", document.display()))?;
    println!("| | requests/s | p99 ms |\n|---|---:|---:|");
    for (what, path, share) in
        [("document", "resourcesync/changelist.xml", 0.6), ("file", "d0000/f0000001.txt", 0.4)]
    {
        let mut figures = Vec::new();
        for (name, server) in [("instep serve", &ours), ("nginx", &nginx)] {
            let [rate, late] = wrk(&format!("{}{path}", server.url()))?;
            println!("| {name}, {what} | {rate:.0} | {late:.2} |");
            figures.push([rate, late]);
        }
        println!();
        let [ours, theirs] = [figures[0], figures[1]];
        report.goal(&format!("nginx' requests/s over ours, {what}"), theirs[0] / ours[0], 1.0 / share);
        report.goal(&format!("p99 over nginx', {what}"), ours[1] / theirs[1], 3.0);
    }
    data::remove(&documents)
}

/// Returns the requests a second, and the 99th percentile of their times in milliseconds.
fn wrk(url: &str) -> Result<[f64; 2]> {
    let output = program("wrk", &["-t1", "-c64", "-d4s", "--latency", url]).output()?;
    let text = String::from_utf8(output.stdout)?;
    let value = |label: &str| text.lines().find_map(|line| line.trim().strip_prefix(label).map(str::trim));
    let rate = value("Requests/sec:").context("no rate")?.parse()?;
    let late = value("99%").context("no percentile")?;
    let digits = late.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match &late[digits.len()..] {
        "us" => 0.001,
        "s" => 1000.0,
        _ => 1.0,
    };
    Ok([rate, digits.parse::<f64>()? * factor])
}

/// Measures a run with one file in a hundred changed, by Change List.
pub fn changes(options: &Options, report: &mut BenchReport) -> Result<()> {
    let site = Site::open(options.files)?;
    let copy = data::empty("copy")?.display().to_string();
    time(&mut site.sync(&copy))?;
    let mut round = 0;
    let change = || {
        round += 1;
        for number in (0..options.files).step_by(100) {
            let file = site.folder.join(format!("d{:04}/f{number:07}.txt", number / 100));
            fs::write(file, format!("changed in round {round}, number {number}"))?;
        }
        time(&mut site.publish()).map(drop)
    };
    report.compare(
        options.rounds,
        vec![Contender::new("instep sync", change, || time(&mut site.sync(&copy)))],
    )?;
    report.goal("wall of instep sync", report.of("instep sync").map_or(0.0, wall), 0.15);
    data::discard_small_files(options.files)
}

/// Measures an audit, which hashes every file, beside two processes of sha256sum.
pub fn audit(options: &Options, report: &mut BenchReport) -> Result<()> {
    let site = Site::open(options.files)?;
    let copy = data::empty("copy")?.display().to_string();
    time(&mut site.sync(&copy))?;
    let url = site.server.url();
    let mut hash = Command::new("sh");
    let script = "find \"$0\" -name '*.txt' -print0 | xargs -0 -P 2 -n 2000 sha256sum";
    hash.args(["-c", script, &copy]);
    report.compare(
        options.rounds,
        vec![
            Contender::command("instep audit", || instep(&["audit", &url, &copy, "-q"])),
            Contender::new("sha256sum, two processes", || Ok(()), || time(&mut hash)),
        ],
    )?;
    report.at_most("instep audit", "sha256sum, two processes", wall, 0.95, "wall");
    Ok(())
}

/// Measures a copy of 200 files of 5 MB.
pub fn large(options: &Options, report: &mut BenchReport) -> Result<()> {
    let folder = data::large_files(200, 5_000_000)?;
    let site = Site::over(folder, (0..200).map(|number| format!("f{number:05}.bin")))?;
    let copy = data::folder("copy")?.display().to_string();
    let fresh = || data::empty("copy").map(drop);
    let (url, urls) = (site.server.url(), site.urls.clone());
    report.compare(
        options.rounds,
        vec![
            Contender::new("instep sync", fresh, || time(&mut site.sync(&copy))),
            Contender::new("bare loop: hyper, 64 in flight", fresh, || bare(&urls, &url, &copy)),
        ],
    )?;
    report.at_most("instep sync", "bare loop: hyper, 64 in flight", wall, 1.0 / 0.85, "wall");
    report.at_most("instep sync", "bare loop: hyper, 64 in flight", cpu, 1.0 / 0.85, "CPU");
    report.goal("peak MiB", report.of("instep sync").map_or(0.0, peak), 64.0);
    Ok(())
}

fn bare(urls: &str, base: &str, copy: &str) -> Result<Sample> {
    let sample = limit(&["fetch", urls, base, copy])?;
    ensure!(sample.wall > 0.0, "the loop did not run");
    Ok(sample)
}

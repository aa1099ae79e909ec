//! A Source of a million resources: the cost of a publication if nothing, little or everything must be written.

use std::{fs, path::Path, process::Command};

use anyhow::Result;

use crate::{
    Options, data,
    measure::{BenchReport, Contender, limit, peak, time, wall},
    programs::instep,
};

const OURS: &str = "instep publish, nothing changed";
const CHANGED: &str = "instep publish, some changed";
const RENEWED: &str = "instep publish --snapshot";
const BARE: &str = "bare loop: readdir and stat";

/// Measures publications over a complete catalogue: nothing changed, `--changed` files changed, or the complete Resource
/// List is rewritten.
pub fn publish(options: &Options, report: &mut BenchReport) -> Result<()> {
    let files = data::small_files(options.resources)?;
    let out = data::empty("million")?.display().to_string();
    // Twice: files within two seconds of their hashing are hashed once more.
    for _ in 0..2 {
        time(&mut command(&files, &out, &[]))?;
    }
    let settle = || time(&mut command(&files, &out, &[])).map(drop);
    let mut round = 0;
    let change = || {
        round += 1;
        change(&files, options, round)
    };
    report.compare(
        options.rounds,
        vec![
            Contender::command(OURS, || command(&files, &out, &[])),
            Contender::new(BARE, || Ok(()), || limit(&["stat", &files.display().to_string()])),
            Contender::new(CHANGED, change, || time(&mut command(&files, &out, &[]))),
            Contender::new(RENEWED, settle, || time(&mut command(&files, &out, &["--snapshot"]))),
        ],
    )?;
    let of = |name: &str| report.of(name).unwrap_or_default();
    let (ours, bare, changed, renewed) = (of(OURS), of(BARE), of(CHANGED), of(RENEWED));
    report.goal("wall of a publication of nothing new over the bare loop", wall(ours) / wall(bare), 2.0);
    report.goal("peak MiB of a publication", peak(ours).max(peak(changed)).max(peak(renewed)), 96.0);
    report.goal(&format!("seconds more for {} changes", options.changed), wall(changed) - wall(ours), 1.0);
    report.goal(
        &format!("seconds more for a Resource List of {} entries", options.resources),
        wall(renewed) - wall(ours),
        5.0 * options.resources as f64 / 1e6,
    );
    data::remove(Path::new(&out))?;
    if options.resources > 200_000 {
        data::discard_small_files(options.resources)?;
        data::remove(&files)?;
    }
    Ok(())
}

fn change(files: &Path, options: &Options, round: u32) -> Result<()> {
    let step = (options.resources / options.changed.max(1)).max(1);
    for number in (0..options.resources).step_by(step).take(options.changed) {
        let file = files.join(format!("d{:04}/f{number:07}.txt", number / 100));
        fs::write(file, format!("changed in round {round}, number {number}"))?;
    }
    Ok(())
}

fn command(files: &Path, out: &str, more: &[&str]) -> Command {
    let (files, documents, state) =
        (files.display().to_string(), format!("{out}/documents"), format!("{out}/state"));
    let place = ["--base-url", "http://source.example.com/", "--out", &documents, "--state", &state, "-q"];
    instep(&[&["publish", &files], &place[..], more].concat())
}

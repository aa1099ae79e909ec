//! Jobs about publishing folders.

use anyhow::Result;

use crate::{
    Options, data,
    measure::{BenchReport, Contender, cpu, limit, time, wall},
    programs::{instep, python},
};

/// Any URL: nothing is fetched.
const BASE: &str = "http://source.example.com/";

/// Measures a first publication, durable at its end, with SHA-256 and with MD5.
pub fn first(options: &Options, report: &mut BenchReport) -> Result<()> {
    let files = data::small_files_alone(options.files)?.display().to_string();
    let out = data::folder("published")?.display().to_string();
    let list = data::scratch()?.join("resync-build.xml").display().to_string();
    let map = format!("{BASE}={files}");
    let mut contenders = Vec::new();
    for hash in ["sha-256", "md5"] {
        let (files, out, list, map) = (&files, &out, &list, &map);
        contenders.push(Contender::new(
            &format!("instep publish, {hash}"),
            || data::empty("published").map(drop),
            move || time(&mut publish(files, out, hash)),
        ));
        contenders.push(Contender::new(
            &format!("bare loop: walk and hash, {hash}"),
            || Ok(()),
            move || limit(&["hash", files, hash]),
        ));
        if !options.without_peers {
            contenders.push(Contender::command(&format!("resync-build, {hash}"), move || {
                python("resync-build", &["--write-resourcelist", "--hash", hash, "--outfile", list, map])
            }));
        }
    }
    report.compare(options.rounds, contenders)?;
    report.times_faster("instep publish, sha-256", "resync-build, sha-256", wall, 6.0, "wall");
    report.times_faster("instep publish, md5", "resync-build, md5", wall, 6.5, "wall");
    report.at_most("instep publish, sha-256", "bare loop: walk and hash, sha-256", cpu, 1.25, "CPU");
    report.at_most("instep publish, sha-256", "bare loop: walk and hash, sha-256", wall, 1.25, "wall");
    Ok(())
}

/// Measures a publication with nothing changed: no file is opened, no document rewritten.
pub fn again(options: &Options, report: &mut BenchReport) -> Result<()> {
    let files = data::small_files_alone(options.files)?.display().to_string();
    let out = data::empty("published")?.display().to_string();
    time(&mut publish(&files, &out, "sha-256"))?;
    let contenders = vec![
        Contender::command("instep publish", || publish(&files, &out, "sha-256")),
        Contender::new("bare loop: readdir and stat", || Ok(()), || limit(&["stat", &files])),
    ];
    report.compare(options.rounds, contenders)?;
    report.at_most("instep publish", "bare loop: readdir and stat", wall, 2.0, "wall");
    Ok(())
}

fn publish(files: &str, out: &str, hash: &str) -> std::process::Command {
    let state = format!("{out}/state");
    let documents = format!("{out}/documents");
    instep(&[
        "publish",
        files,
        "--base-url",
        BASE,
        "--out",
        &documents,
        "--state",
        &state,
        "--hash",
        hash,
        "-q",
    ])
}

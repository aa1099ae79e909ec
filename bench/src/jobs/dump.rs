//! Jobs about Resource Dumps.

use std::{fs, path::Path};

use anyhow::Result;

use crate::{
    Options, data,
    measure::{BenchReport, Contender, time, wall},
    programs::{instep, program},
};

/// Measures packages of all resources beside Info-ZIP: of text, which is deflated, and of incompressible files.
pub fn dump(options: &Options, report: &mut BenchReport) -> Result<()> {
    beside(options, report, &data::small_files(options.files)?, "-6", 1.4)?;
    beside(options, report, &data::opaque_files(options.files)?, "-0", 1.2)
}

fn beside(options: &Options, report: &mut BenchReport, files: &Path, level: &str, limit: f64) -> Result<()> {
    let out = data::folder("published")?.display().to_string();
    let package = data::scratch()?.join("files.zip").display().to_string();
    let (zip, always, never) = (
        format!("zip {level}"),
        format!("publish --dump always, {level}"),
        format!("publish --dump never, {level}"),
    );
    let publish = |dump: &str| {
        let (documents, state) = (format!("{out}/documents"), format!("{out}/state"));
        let files = files.display().to_string();
        let place = ["--base-url", "http://source.example.com/", "--out", &documents, "--state", &state];
        instep(&[&["publish", &files, "--dump", dump, "-q"], &place[..]].concat())
    };
    let fresh = || data::empty("published").map(drop);
    let no_package = || {
        let _ = fs::remove_file(&package);
        Ok(())
    };
    report.compare(
        options.rounds,
        vec![
            Contender::new(&always, fresh, || time(&mut publish("always"))),
            Contender::new(&never, fresh, || time(&mut publish("never"))),
            Contender::new(&zip, no_package, || {
                let mut command = program("zip", &["-q", "-r", level, &package, "."]);
                time(command.current_dir(files))
            }),
        ],
    )?;
    let of = |name: &str| report.of(name).map_or(0.0, wall);
    let alone = of(&always) - of(&never);
    report.goal(&format!("wall of the dump alone over {zip}"), alone / of(&zip), limit);
    Ok(())
}

//! Instructions of the main jobs, counted by valgrind: they hardly depend on the load of the machine, so a regression
//! is visible where times are unreliable.

use std::{
    collections::BTreeMap,
    fs::{self, File, FileTimes},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result, ensure};
use instep_testkit::generate;

use super::sync::Site;
use crate::{Options, data, measure::BenchReport, programs::instep};

/// The figures that are kept, beside this crate's README.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/instructions.tsv");
/// Files of the folder: enough that the constant cost of a run is a small part.
const FILES: usize = 5_000;
/// One file in this number changes between two publications.
const CHANGED: usize = 10;
/// The part by which a job may cost more before that is a failure.
const TOLERANCE: f64 = 0.03;

/// Instructions by job, in user space.
type KeptFigures = BTreeMap<String, KeptFigure>;

/// A kept figure.
#[derive(Clone, Debug, Default, PartialEq)]
struct KeptFigure {
    instructions: u64,
    why: String,
}

/// Counts, and compares the figures with the stored ones; with `--accept` stores them.
pub fn count(options: &Options, report: &mut BenchReport) -> Result<()> {
    let processor = processor();
    let (recorded_on, mut recorded) = read(&fs::read_to_string(RECORDED).unwrap_or_default())?;
    let counted = jobs()?;
    println!("| job | million instructions | recorded | ratio |\n|---|---:|---:|---:|");
    for (job, instructions) in &counted {
        report.number(job, "million instructions", *instructions as f64 / 1e6);
        let before = recorded.get(job).map(|figure| figure.instructions);
        let ratio = before.map(|before| *instructions as f64 / before as f64);
        let millions = |number: u64| format!("{:.1}", number as f64 / 1e6);
        println!(
            "| {job} | {} | {} | {} |",
            millions(*instructions),
            before.map(millions).unwrap_or_default(),
            ratio.map(|ratio| format!("{ratio:.3}")).unwrap_or_default()
        );
    }
    println!();
    if let Some(why) = &options.accept {
        for (job, instructions) in counted {
            let is_new = recorded.get(&job).is_none_or(|before| !is_close(before.instructions, instructions));
            if is_new {
                recorded.insert(job, KeptFigure { instructions, why: why.clone() });
            }
        }
        return Ok(fs::write(RECORDED, written(&processor, &recorded))?);
    }
    // Libraries choose other code on another processor: there the figures can be read, and prove nothing.
    if recorded_on != processor {
        println!("- recorded on a processor with other features: nothing is compared");
        return Ok(());
    }
    for (job, instructions) in counted {
        let before = recorded.get(&job).with_context(|| format!("{job} is not in {RECORDED}"))?.instructions;
        report.goal(&format!("instructions of {job}"), instructions as f64 / before as f64, 1.0 + TOLERANCE);
    }
    Ok(())
}

fn is_close(before: u64, now: u64) -> bool {
    (now as f64 / before as f64 - 1.0).abs() <= TOLERANCE
}

/// Runs each job once under valgrind.
fn jobs() -> Result<Vec<(String, u64)>> {
    let files = data::empty("instructions")?;
    generate::tree(&files, FILES, 200..2000, 1)?;
    make_old(&files, 0)?;
    let names = (0..FILES).map(|number| format!("d{:04}/f{number:07}.txt", number / 100));
    let site = Site::over(files.clone(), names)?;
    // Published once for nginx' port; counted from the beginning again.
    for document in ["resourcesync", ".well-known", ".instep"] {
        data::remove(&files.join(document))?;
    }
    let copy = data::empty("instructions-copy")?.display().to_string();
    let list = files.join("resourcesync/resourcelist.xml").display().to_string();
    let audit = || instep(&["audit", &site.server.url(), &copy, "-q"]);
    let validate = || instep(&["validate", &list, "-q"]);
    let mut counted = Vec::new();
    let mut job = |name: &str, command: Command| -> Result<()> {
        let instructions = under_valgrind(&command).with_context(|| name.to_owned())?;
        counted.push((name.to_owned(), instructions));
        Ok(())
    };
    job("publish", site.publish())?;
    job("sync", site.sync(&copy))?;
    job("publish, nothing changed", site.publish())?;
    job("sync, nothing changed", site.sync(&copy))?;
    change(&files)?;
    job("publish, one in ten changed", site.publish())?;
    job("sync, one in ten changed", site.sync(&copy))?;
    job("audit", audit())?;
    job("validate", validate())?;
    Ok(counted)
}

/// Gives one file in ten other bytes of the same length.
fn change(files: &Path) -> Result<()> {
    for number in (0..FILES).step_by(CHANGED) {
        let file = path(files, number);
        let bytes: Vec<u8> = fs::read(&file)?.iter().rev().copied().collect();
        fs::write(&file, bytes)?;
    }
    make_old(files, 1)
}

/// Sets the times of all files, and waits until the clock of the file system has advanced, so that no file is hashed
/// twice for being too new.
fn make_old(files: &Path, change: u64) -> Result<()> {
    let step = if change == 0 { 1 } else { CHANGED };
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600 + change);
    for number in (0..FILES).step_by(step) {
        File::options()
            .write(true)
            .open(path(files, number))?
            .set_times(FileTimes::new().set_modified(time))?;
    }
    std::thread::sleep(Duration::from_secs(2));
    Ok(())
}

fn path(files: &Path, number: usize) -> PathBuf {
    files.join(format!("d{:04}/f{number:07}.txt", number / 100))
}

/// Returns the instructions that a command executes.
fn under_valgrind(command: &Command) -> Result<u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    let output = valgrind.arg(command.get_program()).args(command.get_args()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    Ok(collected.with_context(|| format!("valgrind counts nothing:\n{said}"))?.1.trim().parse()?)
}

/// Returns the features of this processor that libraries choose their code by.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags")).unwrap_or_default();
    let chosen = ["avx2", "bmi2", "pclmulqdq", "sse4_2", "ssse3"];
    let has = chosen.iter().filter(|feature| flags.split_whitespace().any(|flag| flag == **feature));
    has.copied().collect::<Vec<_>>().join(" ")
}

/// Reads the kept figures: the processor's features, then a line for each job.
fn read(text: &str) -> Result<(String, KeptFigures)> {
    let mut lines = text.lines();
    let processor = lines.next().and_then(|line| line.strip_prefix("# ")).unwrap_or_default().to_owned();
    let figure = |line: &str| {
        let [job, instructions, why] = line.splitn(3, '\t').collect::<Vec<_>>()[..] else {
            anyhow::bail!("{RECORDED}: {line}")
        };
        Ok((job.to_owned(), KeptFigure { instructions: instructions.parse()?, why: why.to_owned() }))
    };
    Ok((processor, lines.map(figure).collect::<Result<_>>()?))
}

fn written(processor: &str, figures: &KeptFigures) -> Vec<u8> {
    let mut text = format!("# {processor}\n").into_bytes();
    for (job, KeptFigure { instructions, why }) in figures {
        drop(writeln!(text, "{job}\t{instructions}\t{why}"));
    }
    text
}

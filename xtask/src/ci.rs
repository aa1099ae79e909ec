//! `cargo xtask ci [JOB ...]`: the checks that a change must pass, each a job of its own.
//!
//! `.ci/run` and the workflows of the forge run the same jobs. Those that need the network, other tools or hours are
//! run with `--full`.

mod features;
mod full;
mod msrv;
mod spelling;

use std::{process::Command, time::Instant};

use anyhow::{Result, bail};

use crate::{
    dependencies,
    run::{cargo, checked, is_installed, root},
    test, unused,
};

struct Job {
    name: &'static str,
    about: &'static str,
    run: fn() -> Result<()>,
}

/// In the order they run: what fails fast comes first, the tests last.
const JOBS: &[Job] = &[
    Job { name: "format", about: "rustfmt has nothing to change", run: format },
    Job { name: "unused", about: "every dependency is used", run: unused::check },
    Job { name: "spelling", about: "no misspelt words (codespell)", run: spelling::check },
    Job { name: "lints", about: "clippy over the workspace", run: lints },
    Job {
        name: "features",
        about: "clippy without default features, and with each feature alone",
        run: features::check,
    },
    Job { name: "docs", about: "rustdoc without a warning", run: docs },
    Job { name: "book", about: "the book of docs/ (mdbook, if it is installed)", run: book },
    Job { name: "msrv", about: "the oldest Rust that is promised", run: msrv::check },
    Job { name: "dependencies", about: "licences, banned crates, number of crates", run: licences },
    Job { name: "fuzz", about: "each fuzz target's body for a minute", run: || fuzz(60) },
    Job { name: "test", about: "every test (cargo xtask test)", run: || test::run(false) },
];

/// The jobs that `--full` runs after the others.
const FULL: &[Job] = &[
    Job {
        name: "advisories",
        about: "no dependency has a known vulnerability (cargo-deny)",
        run: full::advisories,
    },
    Job {
        name: "semver",
        about: "the public API against the last release (cargo-semver-checks)",
        run: full::semver,
    },
    Job {
        name: "mutants",
        about: "no change to the code of guards goes unnoticed (cargo-mutants)",
        run: full::mutants,
    },
    Job { name: "fuzz-long", about: "each fuzz target for ten minutes (cargo-fuzz)", run: full::fuzz },
    Job {
        name: "test-long",
        about: "the tests that take hours (cargo xtask test --long)",
        run: || test::run(true),
    },
];

/// Runs the jobs that are named, or all but those of `--full`.
pub fn run(arguments: &[&str]) -> Result<()> {
    let jobs: Vec<&Job> = match arguments {
        [] => JOBS.iter().collect(),
        ["--full"] => JOBS.iter().chain(FULL).collect(),
        names => names.iter().map(|name| job(name)).collect::<Result<_>>()?,
    };
    let mut times = Vec::new();
    for job in jobs {
        eprintln!("\n# {}: {}", job.name, job.about);
        let begun = Instant::now();
        (job.run)()?;
        times.push(format!("{} {} s", job.name, begun.elapsed().as_secs()));
    }
    eprintln!("\nPassed: {}", times.join(", "));
    Ok(())
}

fn job(name: &str) -> Result<&'static Job> {
    match JOBS.iter().chain(FULL).find(|job| job.name == name) {
        Some(job) => Ok(job),
        None => bail!("There is no job {name}\n\n{}", help()),
    }
}

/// The jobs, a line each.
pub fn help() -> String {
    let line = |job: &Job| format!("  {:<13} {}\n", job.name, job.about);
    let jobs = |jobs: &[Job]| jobs.iter().map(line).collect::<String>();
    format!("Jobs:\n{}\nAlso with --full, or by name:\n{}", jobs(JOBS), jobs(FULL))
}

fn format() -> Result<()> {
    checked(&mut cargo(&["fmt", "--all", "--check"]))
}

fn lints() -> Result<()> {
    checked(&mut cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))
}

fn docs() -> Result<()> {
    checked(cargo(&["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Builds the book. Its links, its table of contents and its commands are checked by the tests, without mdbook.
fn book() -> Result<()> {
    if is_installed("mdbook") {
        return checked(Command::new("mdbook").args(["build", "docs"]).current_dir(root()));
    }
    eprintln!("> left out: mdbook is not installed (cargo install --locked mdbook)");
    Ok(())
}

fn licences() -> Result<()> {
    dependencies::check()?;
    if is_installed("cargo-deny") {
        checked(&mut cargo(&["deny", "--offline", "check", "bans", "licenses", "sources"]))?;
    }
    Ok(())
}

/// Runs the bodies of the fuzz targets on generated input, which needs no nightly toolchain.
fn fuzz(seconds: u64) -> Result<()> {
    let arguments =
        ["test", "--workspace", "--quiet", "--test", "fuzz", "--", "--ignored", "--test-threads", "2"];
    checked(cargo(&arguments).env("INSTEP_FUZZ_SECONDS", seconds.to_string()))
}

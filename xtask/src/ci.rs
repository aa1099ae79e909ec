//! `cargo xtask ci [JOB ...]`: the checks that a change must pass, each a separate job.
//!
//! `.ci/run` and the workflows of the forge run the same jobs. Those that need the network, other tools or hours are
//! run with `--full`.

mod book;
mod features;
mod full;
mod msrv;
mod spelling;

use std::time::Instant;

use anyhow::{Result, bail};

use crate::{
    bench, dependencies, dist,
    run::{cargo, checked, is_installed},
    test, unused,
};

struct CiJob {
    name: &'static str,
    about: &'static str,
    run: fn() -> Result<()>,
}

/// In the order they run: quick checks first, the tests last.
const JOBS: &[CiJob] = &[
    CiJob { name: "format", about: "rustfmt has nothing to change", run: format },
    CiJob { name: "unused", about: "every dependency is used", run: unused::check },
    CiJob { name: "spelling", about: "no misspelt words (codespell)", run: spelling::check },
    CiJob { name: "lints", about: "clippy over the workspace", run: lints },
    CiJob {
        name: "features",
        about: "clippy without default features, and with each feature alone",
        run: features::check,
    },
    CiJob { name: "docs", about: "rustdoc without a warning", run: docs },
    CiJob { name: "msrv", about: "the oldest Rust that is promised", run: msrv::check },
    CiJob { name: "dependencies", about: "licences, banned crates, number of crates", run: licences },
    CiJob { name: "fuzz", about: "each fuzz target's body for a minute", run: || fuzz(60) },
    CiJob { name: "test", about: "every test (cargo xtask test)", run: || test::run(false) },
];

/// The jobs that `--full` runs after the others.
const FULL: &[CiJob] = &[
    CiJob {
        name: "advisories",
        about: "no dependency has a known vulnerability (cargo-deny)",
        run: full::advisories,
    },
    CiJob {
        name: "static",
        about: "a static program can be built, and runs (musl)",
        run: dist::check_static,
    },
    CiJob { name: "book", about: "the book of docs/, built, and its links (mdbook)", run: book::check },
    CiJob {
        name: "semver",
        about: "the public API against the last release (cargo-semver-checks)",
        run: full::semver,
    },
    CiJob {
        name: "mutants",
        about: "no change to the code of guards goes unnoticed (cargo-mutants)",
        run: full::mutants,
    },
    CiJob { name: "fuzz-long", about: "each fuzz target for ten minutes (cargo-fuzz)", run: full::fuzz },
    CiJob {
        name: "instructions",
        about: "the main jobs cost no more instructions than recorded (valgrind)",
        run: || bench::instructions(&[]),
    },
    CiJob {
        name: "test-long",
        about: "the tests that take hours (cargo xtask test --long)",
        run: || test::run(true),
    },
];

/// Runs the jobs that are named, or all but those of `--full`.
pub fn run(arguments: &[&str]) -> Result<()> {
    let jobs: Vec<&CiJob> = match arguments {
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

fn job(name: &str) -> Result<&'static CiJob> {
    match JOBS.iter().chain(FULL).find(|job| job.name == name) {
        Some(job) => Ok(job),
        None => bail!("There is no job {name}\n\n{}", help()),
    }
}

/// Returns the jobs, a line each.
pub fn help() -> String {
    let line = |job: &CiJob| format!("  {:<13} {}\n", job.name, job.about);
    let jobs = |jobs: &[CiJob]| jobs.iter().map(line).collect::<String>();
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

//! The commands of the project: `cargo xtask test`, `ci`, `bench`, `dist`, `python`, `peers`.

mod bench;
mod ci;
mod dependencies;
mod dist;
mod peers;
mod python;
mod run;
mod test;
mod unused;

use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
cargo xtask test [--long]        install the missing peers, run every test; --long adds those that take hours
cargo xtask ci [JOB ...]         run the checks that a change must pass; --full adds those that need hours
cargo xtask bench [NAME] [...]   install the peers, build with optimization, measure; --help for the jobs
cargo xtask dist [--target ...]  make what a release offers: archive, packages, container image, SBOM, checksums
cargo xtask python [--dist]      build the Python package and test it in an environment of its own; --dist makes the
                                 wheel for others
cargo xtask peers                install the peers of the tests and of the measurements";

/// Prints an error without the place in this program that it came from: the reader's question is which command failed.
fn main() -> ExitCode {
    match command() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn command() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["test"] => test::run(false),
        ["test", "--long"] => test::run(true),
        ["bench", rest @ ..] => bench::run(rest),
        ["ci", rest @ ..] => ci::run(rest),
        ["dist", rest @ ..] => dist::run(rest),
        ["python"] => python::test(),
        ["python", "--dist"] => python::dist(),
        ["peers"] => {
            peers::install(peers::FOR_TESTS);
            peers::install(peers::FOR_BENCH);
            peers::install_python();
            Ok(())
        }
        ["help" | "-h" | "--help"] => {
            println!("{USAGE}\n\n{}", ci::help());
            Ok(())
        }
        _ => bail!("There is no such command\n\n{USAGE}\n\n{}", ci::help()),
    }
}

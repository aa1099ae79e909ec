//! `cargo xtask bench`: peers, a build as for packages, then the measurements of `bench/`. One of them is a check of each
//! change as well.

use anyhow::Result;

use crate::{
    peers::{self, PeerBuild},
    run::{cargo, checked, target},
};

/// Runs the measurements. The arguments are those of the program in `bench/`.
pub fn run(arguments: &[&str]) -> Result<()> {
    if let ["instructions", rest @ ..] = arguments {
        return instructions(rest);
    }
    if matches!(arguments, ["compare" | "--plots", ..]) {
        // Stored results are read: nothing must be built with optimization.
        return checked(cargo(&["run", "--quiet", "-p", "instep-bench", "--"]).args(arguments));
    }
    peers::install(peers::FOR_BENCH);
    peers::install_python();
    if arguments.is_empty() || ["cluster", "kills"].iter().any(|job| arguments.contains(job)) {
        peers::install_from_crates(PeerBuild::Optimized);
    }
    checked(&mut cargo(&["build", "--profile", "dist", "-p", "instep", "-p", "instep-bench"]))?;
    let mut bench = cargo(&["run", "--profile", "dist", "--quiet", "-p", "instep-bench", "--"]);
    // Databases and object storage are on the tmpfs too.
    checked(bench.args(arguments).env("INSTEP_TARGET", target()).env("TMPDIR", "/dev/shm"))
}

/// Holds the instructions of the main jobs against those recorded in `bench/instructions.tsv`. The build is that of people, which
/// takes a third of the time of one for packages and shows a change that costs more as well.
pub fn instructions(arguments: &[&str]) -> Result<()> {
    peers::install(peers::FOR_INSTRUCTIONS);
    checked(&mut cargo(&["build", "--release", "-p", "instep", "-p", "instep-bench"]))?;
    let mut bench = cargo(&["run", "--release", "--quiet", "-p", "instep-bench", "--", "instructions"]);
    checked(bench.args(arguments).env("INSTEP_TARGET", target()).env("BENCH_PROFILE", "release"))
}

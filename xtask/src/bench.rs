//! `cargo xtask bench`: peers, a build as for packages, then the measurements of `bench/`.

use anyhow::Result;

use crate::{
    peers,
    run::{cargo, checked, target},
};

/// Measures; the arguments are those of the program in `bench/`.
pub fn run(arguments: &[&str]) -> Result<()> {
    peers::install(peers::FOR_BENCH);
    peers::install_python();
    checked(&mut cargo(&["build", "--profile", "dist", "-p", "instep", "-p", "instep-bench"]))?;
    let mut bench = cargo(&["run", "--profile", "dist", "--quiet", "-p", "instep-bench", "--"]);
    checked(bench.args(arguments).env("INSTEP_TARGET", target()))
}

//! `cargo xtask python`: the wheel, built and tested in an environment of its own.

use std::{
    env::consts::EXE_SUFFIX,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::{
    peers,
    run::{cargo, checked, is_installed, root, target},
};

/// The packages that build wheels.
const BUILD: [&str; 1] = ["maturin==1.16.0"];

/// The packages that check them, beside the wheel in an environment that is made anew.
const CHECKS: [&str; 3] = ["pytest==9.2.0", "mypy==2.4.1", "typing_extensions>=4.12"];

/// Builds the wheel and checks it: tests, the examples of its documentation, types, and stubs against the library.
///
/// The library is optimized, which is no more than a minute's work; the program is the one that the tests use.
pub fn test() -> Result<()> {
    checked(&mut cargo(&["build", "-p", "instep"]))?;
    let wheel = build("release", &target().join("debug").join(format!("instep{EXE_SUFFIX}")))?;
    let environment = folder().join("clean");
    let wheel = wheel.to_string_lossy();
    peers::make_environment(&environment, &[&CHECKS[..], &[&wheel]].concat())?;
    let bin = environment.join("bin");
    // Not in `python/`: there, Python would import the sources instead of the wheel.
    let run = |program: &str, arguments: &[&str]| {
        checked(Command::new(bin.join(program)).args(arguments).current_dir(&environment))
    };
    let sources = root().join("python");
    let (tests, settings) = (sources.join("tests"), sources.join("pyproject.toml"));
    let (tests, settings) = (tests.to_string_lossy(), settings.to_string_lossy());
    run("pytest", &["-c", &settings, &tests])?;
    run("pytest", &["-c", &settings, "--doctest-modules", "--pyargs", "instep"])?;
    run("mypy", &["--config-file", &settings, "-p", "instep"])?;
    run("mypy", &["--config-file", &settings, &tests])?;
    run("stubtest", &["instep._native"])
}

/// Builds the wheel that is offered to others: library and program are optimized as in a release.
pub fn dist() -> Result<()> {
    checked(&mut cargo(&["build", "--profile", "dist", "--locked", "-p", "instep"]))?;
    let wheel = build("dist", &target().join("dist").join(format!("instep{EXE_SUFFIX}")))?;
    eprintln!("\nMade:\n  {}", wheel.display());
    Ok(())
}

/// Builds a wheel with the library of a Cargo profile and a program, and returns its path.
pub fn build(profile: &str, program: &Path) -> Result<PathBuf> {
    let tools = folder().join("tools");
    let complete = tools.join("complete");
    if fs::read_to_string(&complete).unwrap_or_default() != BUILD.join("\n") {
        peers::make_environment(&tools, &BUILD)?;
        fs::write(&complete, BUILD.join("\n"))?;
    }
    let scripts = root().join("python/instep.data/scripts");
    fs::create_dir_all(&scripts)?;
    let staged = scripts.join(format!("instep{EXE_SUFFIX}"));
    fs::copy(program, &staged).with_context(|| format!("{} cannot be packed", program.display()))?;
    if is_installed("strip") {
        checked(Command::new("strip").arg(&staged))?;
    }
    let wheels = folder().join("wheels");
    let _ = fs::remove_dir_all(&wheels);
    let mut maturin = Command::new(tools.join("bin/maturin"));
    maturin.args(["build", "--quiet", "--locked", "--compatibility", "linux", "--profile", profile]);
    checked(maturin.arg("--out").arg(&wheels).current_dir(root().join("python")))?;
    let made = fs::read_dir(&wheels)?.next().context("maturin made no wheel")??.path();
    ensure!(made.extension().is_some_and(|end| end == "whl"), "{} is no wheel", made.display());
    Ok(made)
}

fn folder() -> PathBuf {
    target().join("python")
}

//! `cargo xtask python`: the wheel, built and tested in a separate environment.

use std::{
    env::{self, consts::EXE_SUFFIX},
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

/// The packages that check them, beside the wheel in a new environment.
const CHECKS: [&str; 3] = ["pytest==9.2.0", "mypy==2.4.1", "typing_extensions>=4.12"];

/// The packages that the tests of the reference library need.
const FOR_REFERENCE: [&str; 4] =
    ["testfixtures==10.0.0", "requests==2.34.2", "python-dateutil==2.9.0.post0", "defusedxml==0.7.1"];

/// Builds the wheel and checks it: tests, the examples of its documentation, types, and stubs against the library.
///
/// The library is optimized, which takes at most a minute; the program is the one that the tests use.
pub fn test() -> Result<()> {
    checked(&mut cargo(&["build", "-p", "instep"]))?;
    let wheel = build("release", "linux", &target().join("debug").join(format!("instep{EXE_SUFFIX}")))?;
    let environment = folder().join("clean");
    let wheel = wheel.to_string_lossy();
    peers::make_environment(&environment, &[&CHECKS[..], &[&wheel]].concat())?;
    let bin = environment.join("bin");
    // Not in `python/`: there, Python would import the sources instead of the wheel. The tests of the reference library
    // are counted later, in an environment that has what they need.
    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(bin.join(program));
        checked(command.args(arguments).current_dir(&environment).env_remove("RESYNC_SOURCES"))
    };
    let sources = root().join("python");
    let (tests, settings) = (sources.join("tests"), sources.join("pyproject.toml"));
    let (tests, settings) = (tests.to_string_lossy(), settings.to_string_lossy());
    run("pytest", &["-c", &settings, &tests])?;
    run("pytest", &["-c", &settings, "--doctest-modules", "--pyargs", "instep"])?;
    run("mypy", &["--config-file", &settings, "-p", "instep"])?;
    run("mypy", &["--config-file", &settings, &tests])?;
    run("stubtest", &["instep._native"])?;
    count_reference(&wheel)?;
    from_sources()
}

/// Counts the tests of the reference library that pass with the wheel, if `RESYNC_SOURCES` names a checkout of its v2.0.1: no
/// registry has its tests, and they need packages that ours do not.
fn count_reference(wheel: &str) -> Result<()> {
    let Some(sources) = env::var_os("RESYNC_SOURCES") else {
        println!(
            "Not counted: the tests of the reference library; RESYNC_SOURCES names a checkout of v2.0.1"
        );
        return Ok(());
    };
    let environment = folder().join("reference");
    peers::make_environment(&environment, &[&FOR_REFERENCE[..], &CHECKS[..1], &[wheel]].concat())?;
    let tests = root().join("python/tests/test_compat_reference.py");
    let mut pytest = Command::new(environment.join("bin/pytest"));
    pytest.arg("-c").arg(root().join("python/pyproject.toml")).arg(tests).current_dir(&environment);
    checked(pytest.env("RESYNC_SOURCES", sources))
}

/// Builds a wheel from the source distribution alone, as pip does if no wheel fits. It does not include the program.
fn from_sources() -> Result<()> {
    let folder = folder().join("sources");
    let _ = fs::remove_dir_all(&folder);
    let archive = source_distribution(&folder)?;
    checked(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&folder))?;
    let unpacked = folder.join(format!("instep-{}", env!("CARGO_PKG_VERSION")));
    let mut maturin = Command::new(maturin()?);
    maturin.args(["build", "--quiet", "--compatibility", "linux", "--profile", "dev", "--out"]).arg(&folder);
    checked(maturin.env("CARGO_TARGET_DIR", target()).current_dir(unpacked))
}

/// Makes the source distribution, and returns its path.
fn source_distribution(to: &Path) -> Result<PathBuf> {
    checked(Command::new(maturin()?).args(["sdist", "--out"]).arg(to).current_dir(root().join("python")))?;
    Ok(to.join(format!("instep-{}.tar.gz", env!("CARGO_PKG_VERSION"))))
}

/// Builds the wheel that is offered to others, and the source distribution beside it: library and program are optimized as
/// in a release. The name of the wheel has the oldest glibc that it runs with.
pub fn dist() -> Result<()> {
    checked(&mut cargo(&["build", "--profile", "dist", "--locked", "-p", "instep"]))?;
    let program = target().join("dist").join(format!("instep{EXE_SUFFIX}"));
    let wheel = build("dist", "pypi", &program)?;
    check_glibc(&wheel.to_string_lossy(), &fs::read(&program)?)?;
    let sources = source_distribution(wheel.parent().context("a wheel lies in a folder")?)?;
    eprintln!("\nMade:\n  {}\n  {}", wheel.display(), sources.display());
    Ok(())
}

/// Fails if the program needs a newer glibc than the name of the wheel states: maturin checks only the library.
fn check_glibc(wheel: &str, program: &[u8]) -> Result<()> {
    const MARK: &[u8] = b"GLIBC_2.";
    let number = |digits: &[u8]| -> u32 {
        let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(0_u32, |number, digit| number.saturating_mul(10).saturating_add(u32::from(digit - b'0')))
    };
    let Some((_, tag)) = wheel.split_once("manylinux_2_") else { return Ok(()) };
    let (promised, needed) = (number(tag.as_bytes()), program.windows(MARK.len()).enumerate());
    let needed =
        needed.filter(|(_, bytes)| *bytes == MARK).map(|(at, _)| number(&program[at + MARK.len()..]));
    let needed = needed.max().unwrap_or_default();
    ensure!(needed <= promised, "the program needs glibc 2.{needed}, and {wheel} promises 2.{promised}");
    Ok(())
}

/// Returns the tool that builds wheels, which is installed if it is missing.
fn maturin() -> Result<PathBuf> {
    let tools = folder().join("tools");
    let complete = tools.join("complete");
    if fs::read_to_string(&complete).unwrap_or_default() != BUILD.join("\n") {
        peers::make_environment(&tools, &BUILD)?;
        fs::write(&complete, BUILD.join("\n"))?;
    }
    Ok(tools.join("bin/maturin"))
}

/// Builds a wheel with the library of a Cargo profile and a program, for the platforms that `compatibility` names to
/// maturin, and returns its path.
pub fn build(profile: &str, compatibility: &str, program: &Path) -> Result<PathBuf> {
    let scripts = root().join("python/instep._native.data/scripts");
    fs::create_dir_all(&scripts)?;
    let staged = scripts.join(format!("instep{EXE_SUFFIX}"));
    fs::copy(program, &staged).with_context(|| format!("{} cannot be packed", program.display()))?;
    if is_installed("strip") {
        checked(Command::new("strip").arg(&staged))?;
    }
    let wheels = folder().join("wheels");
    let _ = fs::remove_dir_all(&wheels);
    let mut maturin = Command::new(maturin()?);
    maturin.args(["build", "--quiet", "--locked", "--compatibility", compatibility, "--profile", profile]);
    checked(maturin.arg("--out").arg(&wheels).current_dir(root().join("python")))?;
    let made = fs::read_dir(&wheels)?.next().context("maturin made no wheel")??.path();
    ensure!(made.extension().is_some_and(|end| end == "whl"), "{} is no wheel", made.display());
    Ok(made)
}

fn folder() -> PathBuf {
    target().join("python")
}

#[cfg(test)]
mod tests {
    use super::check_glibc;

    #[test]
    fn a_program_that_needs_a_newer_glibc_than_its_wheel_says_is_refused() {
        let program = b"...GLIBC_2.17\0GLIBC_2.34\0GLIBC_2.2.5\0GLIBC_PRIVATE";
        check_glibc("instep-0.1.0-cp39-abi3-manylinux_2_34_x86_64.whl", program).unwrap();
        check_glibc("instep-0.1.0-cp39-abi3-macosx_11_0_arm64.whl", program).unwrap();
        let error = check_glibc("instep-0.1.0-cp39-abi3-manylinux_2_28_x86_64.whl", program).unwrap_err();
        assert!(error.to_string().contains("needs glibc 2.34"), "{error}");
    }
}

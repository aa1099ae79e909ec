//! Commands, and the environment that they inherit.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context, Result, ensure};

/// Returns the folder of the workspace.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("xtask lies in the workspace")
}

/// Returns the folders of the workspace's packages.
pub fn packages() -> Result<Vec<PathBuf>> {
    let crates = fs::read_dir(root().join("crates"))?.map(|entry| Ok(entry?.path()));
    let mut packages = crates.collect::<Result<Vec<_>>>()?;
    packages.extend(["xtask", "bench", "python"].map(|name| root().join(name)));
    packages.sort();
    Ok(packages)
}

/// Returns the folder of build results.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Returns the platform of this machine, as `rustc` names it.
pub fn host() -> Result<String> {
    let about = output(Command::new("rustc").arg("-vV").current_dir(root()))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

/// Returns the `cargo` that started this program, without the environment that it set: crates would otherwise be rebuilt
/// each time because of it.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let of_this_package =
            ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_", "CARGO_PRIMARY_"]
                .iter()
                .any(|prefix| name.to_string_lossy().starts_with(prefix));
        if of_this_package {
            command.env_remove(name);
        }
    }
    command.args(arguments).current_dir(root());
    command
}

/// Prints a command, runs it, and fails if it fails.
pub fn checked(command: &mut Command) -> Result<()> {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
    let line = format!("{name} {}", arguments.join(" "));
    eprintln!("> {line}");
    let status = command.status().with_context(|| format!("{line} cannot be started"))?;
    ensure!(status.success(), "{line}: {status}");
    Ok(())
}

/// Runs a command and returns what it writes to its standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let line = format!("{command:?}");
    let output = command.output().with_context(|| format!("{line} cannot be started"))?;
    ensure!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns `true` if a program is in the path.
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let sbin = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(sbin).any(|folder| folder.join(program).is_file())
}

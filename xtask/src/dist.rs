//! `cargo xtask dist`: what a release offers. An archive and a Debian package, each with checksum, and the list of what
//! is inside.

mod deb;
mod files;
mod sbom;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use crate::run::{cargo, checked, is_installed, output, root, target};

/// A program to pack, and its platform.
#[derive(Debug)]
struct Release {
    version: String,
    /// As `rustc` names it: `x86_64-unknown-linux-musl`.
    platform: String,
    program: PathBuf,
    /// From 0, which tests use, to 9.
    compression: u8,
}

impl Release {
    fn name(&self) -> String {
        format!("instep-{}-{}", self.version, self.platform)
    }
}

/// Builds and packs. `--target PLATFORM` chooses another platform, `--program FILE` packs a program that is there.
pub fn run(arguments: &[&str]) -> Result<()> {
    let (mut platform, mut program) = (None, None);
    for pair in arguments.chunks(2) {
        match pair {
            ["--target", name] => platform = Some((*name).to_owned()),
            ["--program", file] => program = Some(PathBuf::from(file)),
            _ => bail!("cargo xtask dist [--target PLATFORM] [--program FILE]"),
        }
    }
    let platform = platform.map_or_else(default_platform, Ok)?;
    let program = program.map_or_else(|| build(&platform), Ok)?;
    let release = Release { version: version()?, platform, program, compression: 9 };
    let folder = target().join("packages");
    fs::create_dir_all(&folder)?;
    let mut made = vec![archive(&release, &folder)?, sbom::write(&release, &folder)?];
    if release.platform.contains("linux") && is_installed("dpkg-deb") {
        made.push(deb::package(&release, &folder)?);
    } else {
        eprintln!("> no Debian package: it needs dpkg-deb, and a program for Linux");
    }
    for file in &made {
        checksum(file)?;
    }
    eprintln!("\nMade:");
    made.iter().for_each(|file| eprintln!("  {}", file.display()));
    Ok(())
}

/// The platform of this machine, statically linked if the toolchain has what that needs.
fn default_platform() -> Result<String> {
    let host = host()?;
    let Some(machine) = host.strip_suffix("-unknown-linux-gnu") else { return Ok(host) };
    let installed =
        output(Command::new("rustup").args(["target", "list", "--installed"])).unwrap_or_default();
    let musl = format!("{machine}-unknown-linux-musl");
    if installed.lines().any(|line| line == musl) && is_installed("musl-gcc") {
        return Ok(musl);
    }
    eprintln!(
        "> A static program needs `rustup target add {musl}` and musl-gcc (musl-tools). This one is linked against the \
         C library of this machine, and runs where that is as new."
    );
    Ok(host)
}

fn host() -> Result<String> {
    let about = output(Command::new("rustc").arg("-vV").current_dir(root()))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

fn build(platform: &str) -> Result<PathBuf> {
    checked(&mut cargo(&["build", "--profile", "dist", "--locked", "-p", "instep", "--target", platform]))?;
    let end = if platform.contains("windows") { ".exe" } else { "" };
    Ok(target().join(platform).join("dist").join(format!("instep{end}")))
}

fn version() -> Result<String> {
    let manifest: toml::Table = fs::read_to_string(root().join("Cargo.toml"))?.parse()?;
    let package = manifest.get("workspace").and_then(|table| table.get("package"));
    let version = package.and_then(|package| package.get("version")?.as_str());
    Ok(version.context("Cargo.toml has no version")?.to_owned())
}

/// The time of the commit, for files whose bytes are to be the same whenever they are made.
fn commit_time() -> String {
    let given = env::var("SOURCE_DATE_EPOCH").ok();
    let of_git = || output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root())).ok();
    given.or_else(of_git).map_or_else(|| "0".into(), |time| time.trim().to_owned())
}

/// An archive of a folder with the program and everything around it.
fn archive(release: &Release, folder: &Path) -> Result<PathBuf> {
    let name = release.name();
    let stage = folder.join(&name);
    files::archive(&release.program, &stage)?;
    let (file, status) = if release.platform.contains("windows") {
        let file = folder.join(format!("{name}.zip"));
        // The `tar` of Windows writes ZIP files too.
        (
            file.clone(),
            Command::new("tar").args(["-a", "-cf"]).arg(&file).arg(&name).current_dir(folder).status()?,
        )
    } else {
        let file = folder.join(format!("{name}.tar.gz"));
        let mut tar = Command::new("tar");
        if release.platform.contains("linux") {
            tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
            tar.arg(format!("--mtime=@{}", commit_time()));
        }
        let gzip = format!("gzip -n -{}", release.compression.max(1));
        tar.args(["--use-compress-program", &gzip, "-cf"]);
        (file.clone(), tar.arg(&file).arg(&name).current_dir(folder).status()?)
    };
    ensure!(status.success(), "tar: {status}");
    fs::remove_dir_all(&stage)?;
    Ok(file)
}

/// Writes `FILE.sha256` beside a file, in the form that `sha256sum --check` reads.
fn checksum(file: &Path) -> Result<()> {
    let name = file.file_name().context("a file has a name")?;
    let folder = file.parent().context("a file lies in a folder")?;
    let mut command = if is_installed("sha256sum") {
        Command::new("sha256sum")
    } else {
        let mut shasum = Command::new("shasum");
        shasum.args(["-a", "256"]);
        shasum
    };
    let line = output(command.arg(name).current_dir(folder))?;
    let mut beside = file.as_os_str().to_owned();
    beside.push(".sha256");
    Ok(fs::write(beside, line)?)
}

#[cfg(test)]
mod tests;

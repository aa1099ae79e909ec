//! `cargo xtask dist`: the files of a release for a platform. An archive, packages for Debian, Fedora and related
//! systems, a container image, a list of the components, and the checksums of all.

mod deb;
mod files;
mod oci;
mod rpm;
mod sbom;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use crate::run::{cargo, checked, host, is_installed, output, root, target};

const SUMMARY: &str = "Publish folders and keep verified mirrors over HTTP";
const HOMEPAGE: &str = "https://github.com/instep-sync/instep";
const MAINTAINER: &str = "The instep project <instep-sync@users.noreply.github.com>";
const DESCRIPTION: &str = "\
instep publishes a folder so that others can mirror it, and keeps verified
mirrors up to date, over plain HTTP. It implements ResourceSync
(ANSI/NISO Z39.99-2017): Source and Destination, with notifications.";

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

/// Builds and packs. `--target PLATFORM` selects another platform, `--profile PROFILE` another build than that of
/// releases, `--program FILE` packs an existing program, and `--archive-only` leaves packages and image out.
pub fn run(arguments: &[&str]) -> Result<()> {
    let (mut platform, mut program, mut profile, mut archive_only) = (None, None, "dist", false);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match *argument {
            "--archive-only" => archive_only = true,
            "--target" => platform = rest.next().map(ToString::to_string),
            "--profile" => profile = rest.next().context("--profile names no profile")?,
            "--program" => program = rest.next().map(PathBuf::from),
            _ => bail!(
                "cargo xtask dist [--target PLATFORM] [--profile PROFILE] [--program FILE] [--archive-only]"
            ),
        }
    }
    let platform = platform.map_or_else(default_platform, Ok)?;
    let program = program.map_or_else(|| build(&platform, profile), Ok)?;
    ensure!(
        !platform.ends_with("-musl") || !is_dynamic(&program)?,
        "{} asks for a loader, but programs for {platform} are static",
        program.display()
    );
    let release = Release { version: version()?, platform, program, compression: 9 };
    let folder = target().join("packages").join(&release.platform);
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder)?;
    let mut made = vec![archive(&release, &folder)?, sbom::write(&release, &folder)?];
    if release.platform.contains("linux") && !archive_only {
        made.extend(packages(&release, &folder)?);
    }
    made.push(checksums(&made, &folder)?);
    eprintln!("\nMade:");
    made.iter().for_each(|file| eprintln!("  {}", file.display()));
    Ok(())
}

/// Makes the packages for Linux.
fn packages(release: &Release, folder: &Path) -> Result<Vec<PathBuf>> {
    let mut made = vec![rpm::package(release, folder)?, oci::image(release, folder)?];
    if is_installed("dpkg-deb") {
        made.push(deb::package(release, folder)?);
    } else {
        eprintln!("> no Debian package: it needs dpkg-deb");
    }
    Ok(made)
}

/// Returns the platform of this machine, statically linked if the toolchain supports it.
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

fn build(platform: &str, profile: &str) -> Result<PathBuf> {
    checked(&mut cargo(&["build", "--profile", profile, "--locked", "-p", "instep", "--target", platform]))?;
    let end = if platform.contains("windows") { ".exe" } else { "" };
    // The folder of the profile `dev` has another name for historical reasons.
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target().join(platform).join(folder).join(format!("instep{end}")))
}

/// Builds a static program for this machine, installs missing tools, and checks that the program needs no loader and
/// runs.
pub fn check_static() -> Result<()> {
    let host = host()?;
    let machine = host.strip_suffix("-unknown-linux-gnu").context("static programs are built on Linux")?;
    let musl = format!("{machine}-unknown-linux-musl");
    checked(Command::new("rustup").args(["target", "add", &musl]).current_dir(root()))?;
    ensure!(is_installed("musl-gcc"), "musl-gcc is missing: apt-get install musl-tools");
    let program = build(&musl, "dev")?;
    ensure!(!is_dynamic(&program)?, "{} asks for a loader", program.display());
    // The loader of this machine decides: it fails for a program without libraries to load.
    let listed = Command::new("ldd").arg(&program).output()?;
    let said =
        [listed.stdout, listed.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    ensure!(
        said.contains("statically linked") || said.contains("not a dynamic executable"),
        "ldd {}: {said}",
        program.display()
    );
    checked(Command::new(&program).arg("--version"))
}

fn version() -> Result<String> {
    let manifest: toml::Table = fs::read_to_string(root().join("Cargo.toml"))?.parse()?;
    let package = manifest.get("workspace").and_then(|table| table.get("package"));
    let version = package.and_then(|package| package.get("version")?.as_str());
    Ok(version.context("Cargo.toml has no version")?.to_owned())
}

/// Returns the time of the commit, for files whose bytes are to be the same whenever they are made.
fn commit_time() -> String {
    let given = env::var("SOURCE_DATE_EPOCH").ok();
    let of_git = || output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root())).ok();
    given.or_else(of_git).map_or_else(|| "0".into(), |time| time.trim().to_owned())
}

/// Makes an archive of a folder with the program, its documents, units and completions.
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

/// Returns the newest version of glibc whose symbols a program names, 36 for 2.36; `None` if it is static.
fn glibc(program: &Path) -> Result<Option<u32>> {
    let bytes = fs::read(program).with_context(|| program.display().to_string())?;
    let mark = b"GLIBC_2.";
    let texts = bytes.split(|byte| *byte == 0).filter_map(|text| text.strip_prefix(&mark[..]));
    let minor =
        texts.filter_map(|digits| std::str::from_utf8(digits).ok()?.split('.').next()?.parse::<u32>().ok());
    Ok(minor.max())
}

/// Returns `true` if a program needs a loader, which finds its libraries: then it is not static.
fn is_dynamic(program: &Path) -> Result<bool> {
    const INTERPRETER: usize = 3;
    let bytes = fs::read(program).with_context(|| program.display().to_string())?;
    ensure!(
        bytes.starts_with(b"\x7fELF\x02\x01"),
        "{} is no program for Linux on 64 bits",
        program.display()
    );
    let number = |at: usize, length: usize| -> Result<usize> {
        let bytes = bytes.get(at..at + length).context("the program ends early")?;
        Ok(bytes.iter().rev().fold(0, |number, byte| (number << 8) | usize::from(*byte)))
    };
    // The program headers: their place, the length of one, their number. Each begins with its type.
    let (place, length, headers) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let types = (0..headers).map(|header| number(place + header * length, 4)).collect::<Result<Vec<_>>>()?;
    Ok(types.contains(&INTERPRETER))
}

/// Writes `SHA256SUMS` for files of a folder, in the form that `sha256sum --check` reads.
fn checksums(files: &[PathBuf], folder: &Path) -> Result<PathBuf> {
    let mut lines = Vec::new();
    for file in files {
        let name = file.file_name().context("a file has a name")?.to_string_lossy();
        lines.push(format!("{}  {name}\n", digest(file)?));
    }
    let list = folder.join("SHA256SUMS");
    fs::write(&list, lines.concat())?;
    Ok(list)
}

/// Returns the SHA-256 digest of a file, in hexadecimal digits.
fn digest(file: &Path) -> Result<String> {
    let mut command = if is_installed("sha256sum") {
        Command::new("sha256sum")
    } else {
        let mut shasum = Command::new("shasum");
        shasum.args(["-a", "256"]);
        shasum
    };
    let line = output(command.arg(file))?;
    // A name with special characters makes the line begin with a backslash.
    let digest = line.trim_start_matches('\\').split_whitespace().next();
    Ok(digest.context("sha256sum prints a digest")?.to_owned())
}

#[cfg(test)]
mod tests;

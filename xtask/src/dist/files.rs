//! The files of a release and their places.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::run::{checked, output, root};

/// A shell, and the name of its completions in an archive.
const SHELLS: &[(&str, &str)] =
    &[("bash", "instep.bash"), ("zsh", "_instep"), ("fish", "instep.fish"), ("powershell", "_instep.ps1")];

/// Fills the folder of an archive.
pub(super) fn archive(program: &Path, to: &Path) -> Result<()> {
    drop(fs::remove_dir_all(to));
    let name = program.file_name().context("the program has a name")?;
    place(program, &to.join(name))?;
    for (shell, file) in SHELLS {
        write(&to.join("completions").join(file), &completions(program, shell)?)?;
    }
    man_pages(program, &to.join("man"))?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "NOTICE"] {
        place(&root().join(file), &to.join(file))?;
    }
    folder(&root().join("contrib"), &to.join("contrib"))
}

/// A family of distributions: packages of one format, and places that differ from those of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Debian,
    Fedora,
}

/// Fills the root of a package: the same files for each family, but for the completions of zsh and the licences.
pub(super) fn package(program: &Path, to: &Path, family: Family) -> Result<()> {
    drop(fs::remove_dir_all(to));
    let contrib = root().join("contrib");
    place(program, &to.join("usr/bin/instep"))?;
    let zsh = match family {
        Family::Debian => "usr/share/zsh/vendor-completions/_instep",
        Family::Fedora => "usr/share/zsh/site-functions/_instep",
    };
    for (shell, place) in [
        ("bash", "usr/share/bash-completion/completions/instep"),
        ("zsh", zsh),
        ("fish", "usr/share/fish/vendor_completions.d/instep.fish"),
        // PowerShell does not search for completions: a profile must name this file.
        ("powershell", "usr/share/instep/instep.ps1"),
    ] {
        write(&to.join(place), &completions(program, shell)?)?;
    }
    let man = to.join("usr/share/man/man1");
    man_pages(program, &man)?;
    compress(&paths(&man)?)?;
    folder(&contrib.join("systemd"), &to.join("usr/lib/systemd/system"))?;
    folder(&contrib.join("sysusers"), &to.join("usr/lib/sysusers.d"))?;
    folder(&contrib.join("tmpfiles"), &to.join("usr/lib/tmpfiles.d"))?;
    let about = to.join("usr/share/doc/instep");
    folder(&contrib.join("examples"), &about.join("examples"))?;
    for file in ["grafana-dashboard.json", "prometheus-alerts.yml"] {
        place(&contrib.join(file), &about.join("examples").join(file))?;
    }
    place(&root().join("CHANGELOG.md"), &about.join("changelog"))?;
    compress(&[about.join("changelog")])?;
    place(&root().join("NOTICE"), &about.join("NOTICE"))?;
    if family == Family::Fedora {
        for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
            place(&root().join(file), &to.join("usr/share/licenses/instep").join(file))?;
        }
    }
    fs::create_dir_all(to.join("etc/instep"))?;
    executable(&to.join("usr/bin/instep"))
}

fn completions(program: &Path, shell: &str) -> Result<String> {
    output(Command::new(program).args(["completions", shell]))
}

fn man_pages(program: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    checked(Command::new(program).args(["completions", "man", "--out"]).arg(to))
}

/// Replaces files by their compressed forms, without times, so that equal files stay equal.
fn compress(files: &[PathBuf]) -> Result<()> {
    output(Command::new("gzip").arg("-9n").args(files)).map(drop)
}

/// Returns the entries of a folder, in order.
pub(super) fn paths(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Copies a folder with everything in it.
fn folder(from: &Path, to: &Path) -> Result<()> {
    for path in paths(from)? {
        let to = to.join(path.file_name().context("an entry has a name")?);
        if path.is_dir() { folder(&path, &to)? } else { place(&path, &to)? }
    }
    Ok(())
}

/// Copies a file, and makes the folder it goes to.
pub(super) fn place(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
    fs::copy(from, to).with_context(|| from.display().to_string())?;
    Ok(())
}

/// Writes a file, and makes the folder it goes to.
pub(super) fn write(to: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
    fs::write(to, text).with_context(|| to.display().to_string())
}

/// Lets everybody execute a file.
pub(super) fn executable(file: &Path) -> Result<()> {
    output(Command::new("chmod").arg("755").arg(file)).map(drop)
}

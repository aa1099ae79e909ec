//! A package for Debian and its relatives, put together by `dpkg-deb`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use super::{
    DESCRIPTION, HOMEPAGE, MAINTAINER, Release, SUMMARY, commit_time,
    files::{self, Family},
    glibc,
};
use crate::run::{checked, output, root};

/// Makes the user of the units and their folder. `DPKG_ROOT` is set if the package is installed into another system's
/// root.
const AFTER_INSTALLATION: &str = "\
#!/bin/sh
set -e
if [ \"$1\" = configure ] && [ -z \"$DPKG_ROOT\" ]; then
    if command -v systemd-sysusers > /dev/null; then systemd-sysusers instep.conf; fi
    if command -v systemd-tmpfiles > /dev/null; then systemd-tmpfiles --create instep.conf; fi
    if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
fi
";

/// Stops what runs, but not for an upgrade. Otherwise it would run on without its program and its unit.
const BEFORE_REMOVAL: &str = "\
#!/bin/sh
set -e
if [ \"$1\" = remove ] && [ -z \"$DPKG_ROOT\" ] && [ -d /run/systemd/system ]; then
    systemctl stop 'instep-*@*.timer' 'instep-*@*.service' || true
fi
";

/// Nothing of a configuration or a copy is removed; only systemd learns that the units are gone.
const AFTER_REMOVAL: &str = "\
#!/bin/sh
set -e
if [ -z \"$DPKG_ROOT\" ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
";

/// Writes `instep_VERSION_ARCHITECTURE.deb` into a folder.
pub(super) fn package(release: &Release, folder: &Path) -> Result<PathBuf> {
    let architecture = architecture(&release.platform);
    let stage = folder.join("debian");
    files::package(&release.program, &stage, Family::Debian)?;
    files::write(&stage.join("usr/share/doc/instep/copyright"), &copyright()?)?;
    files::write(&stage.join("DEBIAN/control"), &control(release, architecture, &stage)?)?;
    for (script, text) in
        [("postinst", AFTER_INSTALLATION), ("prerm", BEFORE_REMOVAL), ("postrm", AFTER_REMOVAL)]
    {
        let file = stage.join("DEBIAN").join(script);
        files::write(&file, text)?;
        files::executable(&file)?;
    }
    let file = folder.join(format!("instep_{}_{architecture}.deb", release.version));
    let mut build = Command::new("dpkg-deb");
    let format = if release.compression == 0 { "-Znone" } else { "-Zxz" };
    build.args(["--root-owner-group", format, "--build"]).arg(&stage).arg(&file);
    checked(build.env("SOURCE_DATE_EPOCH", commit_time()))?;
    fs::remove_dir_all(&stage)?;
    Ok(file)
}

fn architecture(platform: &str) -> &'static str {
    match platform.split('-').next() {
        Some("x86_64") => "amd64",
        Some("aarch64") => "arm64",
        Some("armv7") => "armhf",
        Some("riscv64gc") => "riscv64",
        _ => "any",
    }
}

fn control(release: &Release, architecture: &str, stage: &Path) -> Result<String> {
    let size = output(Command::new("du").args(["-sk"]).arg(stage))?;
    let size = size.split_whitespace().next().unwrap_or("0").to_owned();
    let depends = match glibc(&release.program)? {
        Some(minor) => format!("Depends: libc6 (>= 2.{minor}), libgcc-s1\n"),
        None => String::new(),
    };
    let description = DESCRIPTION.lines().map(|line| format!(" {line}\n")).collect::<String>();
    Ok(format!(
        "Package: instep\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: {MAINTAINER}\n\
         Installed-Size: {size}\n{depends}Recommends: ca-certificates\nSection: net\nPriority: optional\n\
         Homepage: {HOMEPAGE}\nDescription: {SUMMARY}\n{description}",
        version = release.version,
    ))
}

fn copyright() -> Result<String> {
    let license = fs::read_to_string(root().join("LICENSE-MIT"))?;
    let license =
        license.lines().map(|line| if line.is_empty() { " .".to_owned() } else { format!(" {line}") });
    let license = license.collect::<Vec<_>>().join("\n");
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: instep\n\
         Source: https://github.com/instep-sync/instep\n\nFiles: *\nCopyright: The instep authors\nLicense: Expat or Apache-2.0\n\n\
         License: Expat\n{license}\n\nLicense: Apache-2.0\n On Debian systems: /usr/share/common-licenses/Apache-2.0\n"
    ))
}

//! A package for Fedora, openSUSE and their relatives, with the files of the Debian package.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rpm::{BuildConfig, CompressionWithLevel, Dependency, FileOptions, PackageBuilder};

use super::{
    DESCRIPTION, HOMEPAGE, MAINTAINER, Release, SUMMARY, commit_time,
    files::{self, Family},
    glibc,
};

/// Makes the user of the units and their folder.
const AFTER_INSTALLATION: &str = "\
if command -v systemd-sysusers > /dev/null; then systemd-sysusers instep.conf; fi
if command -v systemd-tmpfiles > /dev/null; then systemd-tmpfiles --create instep.conf; fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
";

/// Stops what runs, but not for an upgrade. Otherwise it would run on without its program and its unit.
const BEFORE_REMOVAL: &str = "\
if [ \"$1\" = 0 ] && [ -d /run/systemd/system ]; then systemctl stop 'instep-*@*.timer' 'instep-*@*.service' || :; fi
";

/// Nothing of a configuration or a copy is removed; only systemd learns that the units are gone.
const AFTER_REMOVAL: &str = "if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi\n";

/// Writes `instep-VERSION-1.ARCHITECTURE.rpm` into a folder.
pub(super) fn package(release: &Release, folder: &Path) -> Result<PathBuf> {
    let architecture = release.platform.split('-').next().unwrap_or("noarch");
    let stage = folder.join("rpm");
    files::package(&release.program, &stage, Family::Fedora)?;
    let time: u32 = commit_time().parse().context("the time of the commit")?;
    let level = CompressionWithLevel::Gzip(release.compression.into());
    let mut package =
        PackageBuilder::new("instep", &release.version, "MIT OR Apache-2.0", architecture, SUMMARY);
    package.using_config(BuildConfig::v4().compression(level).source_date(time));
    package.release("1").url(HOMEPAGE).description(DESCRIPTION).group("Applications/Internet");
    package.vendor("The instep project").packager(MAINTAINER).build_host("localhost");
    let changes = format!("- See {HOMEPAGE}/blob/v{0}/CHANGELOG.md", release.version);
    package.add_changelog_entry(format!("{MAINTAINER} - {}-1", release.version), changes, time);
    package.post_install_script(AFTER_INSTALLATION);
    package.pre_uninstall_script(BEFORE_REMOVAL).post_uninstall_script(AFTER_REMOVAL);
    package.recommends(Dependency::any("ca-certificates"));
    if let Some(minor) = glibc(&release.program)? {
        package.requires(Dependency::any(format!("libc.so.6(GLIBC_2.{minor})(64bit)")));
        package.requires(Dependency::any("libgcc_s.so.1()(64bit)"));
    }
    add(&mut package, &stage, "")?;
    let file = folder.join(format!("instep-{}-1.{architecture}.rpm", release.version));
    package.build()?.write_file(&file)?;
    std::fs::remove_dir_all(&stage)?;
    Ok(file)
}

/// Adds the content of a folder. Only folders that belong to this package alone are added.
fn add(package: &mut PackageBuilder, stage: &Path, below: &str) -> Result<()> {
    for path in files::paths(&stage.join(below.trim_start_matches('/')))? {
        let name = path.file_name().context("an entry has a name")?.to_string_lossy().into_owned();
        let to = format!("{below}/{name}");
        if path.is_dir() {
            if to.split('/').any(|part| part == "instep") {
                package.with_dir_entry(FileOptions::dir(&to).permissions(0o755))?;
            }
            add(package, stage, &to)?;
            continue;
        }
        let mode = if to.starts_with("/usr/bin/") { 0o755 } else { 0o644 };
        let options = FileOptions::new(&to).permissions(mode);
        let options = match to.split('/').nth(3) {
            Some("doc" | "man") => options.doc(),
            Some("licenses") => options.license(),
            _ => options,
        };
        package.with_file(&path, options)?;
    }
    Ok(())
}

//! A package that is made from this build, and used.

use std::{env, fs, path::PathBuf, process::Command};

use super::{Release, archive, checksum, deb, host, sbom, version};
use crate::run::{is_installed, output, root};

/// The program of this build without its lines, and a folder for packages.
fn release(name: &str) -> (Release, PathBuf) {
    let test = env::current_exe().unwrap();
    let built = test.ancestors().nth(2).unwrap().join("instep");
    assert!(built.is_file(), "{} is not there: cargo build -p instep", built.display());
    let folder = test.ancestors().nth(2).unwrap().join("dist-tests").join(name);
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(folder.join("program")).unwrap();
    let program = folder.join("program/instep");
    output(Command::new("strip").arg("-o").arg(&program).arg(&built)).unwrap();
    (Release { version: version().unwrap(), platform: host().unwrap(), program, compression: 0 }, folder)
}

fn bash(script: &str, folder: &std::path::Path) -> String {
    let mut bash = Command::new("bash");
    output(bash.args(["-euc", script]).current_dir(folder)).unwrap()
}

#[test]
fn d3_a_debian_package_is_installed_and_its_program_pages_completions_and_units_work() {
    if !is_installed("dpkg-deb") {
        eprintln!("left out: dpkg-deb is missing");
        return;
    }
    let (release, folder) = release("deb");
    let package = deb::package(&release, &folder).unwrap();
    let about = output(Command::new("dpkg-deb").args(["--field"]).arg(&package)).unwrap();
    assert!(about.contains("Package: instep\n") && about.contains("Depends: libc6"), "{about}");
    let install = "mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates && touch root/var/lib/dpkg/status && \
                   dpkg --root=\"$PWD/root\" --log=/dev/null --force-not-root --force-depends --force-script-chrootless --install *.deb";
    bash(install, &folder);
    let root = folder.join("root");
    assert!(bash("root/usr/bin/instep --version", &folder).starts_with("instep "));
    let page = bash("gzip -dc root/usr/share/man/man1/instep-sync.1.gz", &folder);
    assert!(page.contains(".TH instep-sync 1") && page.contains("max\\-delete"), "{page:.500}");
    let completed = "source root/usr/share/bash-completion/completions/instep; complete -p instep; \
                     COMP_WORDS=(instep pub); COMP_CWORD=1; _instep instep pub instep; echo \"${COMPREPLY[@]}\"";
    assert!(bash(completed, &folder).contains("publish"));
    if is_installed("systemd-analyze") {
        // The units name the program where it is installed, which is below the root here.
        let units = "mkdir units && for unit in root/usr/lib/systemd/system/*; do \
                     sed \"s#/usr/bin/instep#$PWD/root/usr/bin/instep#\" \"$unit\" > units/$(basename \"${unit/@/@test}\"); done; \
                     systemd-analyze verify --man=no units/* 2>&1; \
                     for unit in units/*.service; do systemd-analyze security --offline=true --threshold=20 \"$unit\" > /dev/null; done";
        assert_eq!(bash(units, &folder).trim(), "");
    }
    assert!(root.join("usr/lib/sysusers.d/instep.conf").is_file());
    bash(
        "dpkg --root=\"$PWD/root\" --log=/dev/null --force-not-root --force-script-chrootless --purge instep",
        &folder,
    );
    assert!(!root.join("usr/bin/instep").exists());
}

#[test]
fn an_archive_and_its_list_of_parts_are_complete() {
    let (release, folder) = release("archive");
    let file = archive(&release, &folder).unwrap();
    checksum(&file).unwrap();
    bash("sha256sum --check *.sha256", &folder);
    let listing = output(Command::new("tar").arg("-tzf").arg(&file)).unwrap();
    for part in [
        "/instep\n",
        "/man/instep.1\n",
        "/completions/_instep\n",
        "/contrib/systemd/instep-sync@.timer\n",
        "/NOTICE\n",
    ] {
        assert!(listing.contains(part), "{part} is not in\n{listing}");
    }
    let bill = fs::read_to_string(sbom::write(&release, &folder).unwrap()).unwrap();
    for part in ["pkg:cargo/rusqlite@", "pkg:cargo/resourcesync@", "\"CycloneDX\""] {
        assert!(bill.contains(part), "{part}");
    }
    assert!(!bill.contains("pkg:cargo/proptest@"), "a tool of the tests is no part of the program");
}

#[test]
fn alerts_and_dashboard_can_be_read() {
    let contrib = root().join("contrib");
    let dashboard: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(contrib.join("grafana-dashboard.json")).unwrap()).unwrap();
    assert!(dashboard["panels"].as_array().unwrap().len() > 10);
    if is_installed("promtool") {
        bash(
            "promtool check rules prometheus-alerts.yml && promtool test rules prometheus-alerts-test.yml",
            &contrib,
        );
    } else {
        eprintln!("left out: promtool is missing");
    }
}

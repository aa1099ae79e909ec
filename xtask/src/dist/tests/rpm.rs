//! The RPM package, read by the tools of that family.

use std::{collections::BTreeSet, fs, path::Path};

use super::{are_there, bash, listing, release};
use crate::dist::{deb, digest, rpm};

#[test]
fn an_rpm_package_holds_what_the_debian_package_holds() {
    if !are_there(["rpm", "rpm2cpio", "cpio", "dpkg-deb"]) {
        return;
    }
    let (release, folder) = release("rpm");
    let package = rpm::package(&release, &folder).unwrap();
    deb::package(&release, &folder).unwrap();
    let about = bash("rpm -qip --filesbypkg *.rpm 2>&1", &folder);
    for line in ["Name        : instep\n", "License     : MIT OR Apache-2.0\n", " /usr/bin/instep\n"] {
        assert!(about.contains(line), "{line} is not in\n{about}");
    }
    let needed = bash("rpm -qp --requires --recommends *.rpm", &folder);
    assert!(needed.contains("libc.so.6(GLIBC_2.") && needed.contains("ca-certificates"), "{needed}");
    bash("rpm --checksig --nosignature *.rpm", &folder);
    // The exit code of rpm2cpio compares with a size that only older formats have in their header.
    bash(
        "mkdir deb rpm && dpkg-deb --extract *.deb deb && cd rpm && { rpm2cpio ../*.rpm || true; } | cpio -idm --quiet",
        &folder,
    );
    assert_eq!(shared(&folder.join("rpm")), shared(&folder.join("deb")));
    assert!(folder.join("rpm/etc/instep").is_dir());
    if bash("id -u", &folder).trim() == "0" {
        install(&folder);
    }

    // Made again, it has the same bytes.
    let first = digest(&package).unwrap();
    fs::remove_file(&package).unwrap();
    assert_eq!(digest(&rpm::package(&release, &folder).unwrap()).unwrap(), first);
}

/// Installs the package below a folder, uses its program and removes it.
fn install(folder: &Path) {
    let install = "mkdir root; rpm=\"rpm --root $PWD/root\"; $rpm --initdb; $rpm --install --nodeps --noscripts *.rpm; \
                   $rpm --verify --nodeps instep; root/usr/bin/instep --version; \
                   $rpm --erase --nodeps --noscripts instep; test ! -e root/usr/bin/instep";
    assert!(bash(install, folder).starts_with("instep "));
}

/// Returns the files of a package with their modes and digests, but for those whose place belongs to a family.
fn shared(folder: &Path) -> BTreeSet<String> {
    let of_a_family = ["/usr/share/licenses/", "/usr/share/doc/instep/copyright ", "/_instep "];
    let is_shared = |line: &String| !of_a_family.iter().any(|part| line.contains(part));
    let lines = listing(folder).into_iter().filter(is_shared);
    lines
        .map(|line| {
            let path = line.split(' ').next().unwrap().trim_start_matches('/');
            format!("{line} {}", digest(&folder.join(path)).unwrap())
        })
        .collect()
}

#[test]
fn rpmlint_finds_no_error_in_an_rpm_package() {
    if !are_there(["rpmlint"]) {
        return;
    }
    let (release, folder) = release("rpmlint");
    rpm::package(&release, &folder).unwrap();
    let found = bash("HOME=$PWD rpmlint *.rpm 2>&1 || true", &folder);
    // Packages are checked by the signed tag and SHA256SUMS.
    let is_error = |line: &&str| line.contains(": E: ") && !line.ends_with(": E: no-signature");
    let errors: Vec<&str> = found.lines().filter(is_error).collect();
    assert!(errors.is_empty() && found.contains("1 packages"), "{found}");
}

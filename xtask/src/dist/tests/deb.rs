//! The Debian package, installed below a folder.

use std::{fs, path::Path, process::Command};

use super::{are_there, bash, listing, release};
use crate::{
    dist::deb,
    run::{output, root},
};

/// Installs a package of this build below `root` in a folder.
fn installed(name: &str) -> std::path::PathBuf {
    let (release, folder) = release(name);
    let package = deb::package(&release, &folder).unwrap();
    let about = output(Command::new("dpkg-deb").args(["--field"]).arg(&package)).unwrap();
    assert!(about.contains("Package: instep\n") && about.contains("Depends: libc6"), "{about}");
    let install = "mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates && touch root/var/lib/dpkg/status && \
                   dpkg --root=\"$PWD/root\" --log=/dev/null --force-not-root --force-depends --force-script-chrootless --install *.deb";
    bash(install, &folder);
    folder
}

#[test]
fn p3_a_debian_package_is_installed_used_and_removed() {
    if !are_there(["dpkg-deb", "man"]) {
        return;
    }
    let folder = installed("deb");
    assert!(bash("root/usr/bin/instep --version", &folder).starts_with("instep "));
    let page = bash("MANPATH=$PWD/root/usr/share/man man -P cat instep-sync | col -b", &folder);
    assert!(page.contains("instep-sync") && page.contains("--max-delete"), "{page:.500}");
    let warnings = bash(
        "for page in root/usr/share/man/man1/*; do man --warnings -E UTF-8 -l -Tutf8 -Z $page 2>&1 > /dev/null; done",
        &folder,
    );
    assert_eq!(warnings, "", "man pages with mistakes");
    use_examples(&folder);
    bash(
        "dpkg --root=\"$PWD/root\" --log=/dev/null --force-not-root --force-script-chrootless --purge instep",
        &folder,
    );
    assert!(!folder.join("root/usr/bin/instep").exists());
}

/// Publishes with the example for a Source, and begins a copy with the one for a mirror.
fn use_examples(folder: &Path) {
    let script = "mkdir data; echo a > data/a.txt; examples=root/usr/share/doc/instep/examples; \
                  for name in source mirror; do sed \"s#/var/lib/instep#$PWD/state#\" $examples/$name.toml > $name.toml; done; \
                  mkdir state; root/usr/bin/instep --config source.toml publish data --quiet; \
                  ls state/data/documents/resourcesync; \
                  root/usr/bin/instep --config mirror.toml sync http://127.0.0.1:1/ copy --retries 0 || echo $?";
    let shown = bash(script, folder);
    assert!(shown.contains("capabilitylist.xml") && shown.ends_with("4\n"), "{shown}");
}

#[test]
fn p3_the_completions_of_the_package_work_in_each_shell() {
    if !are_there(["dpkg-deb", "zsh", "fish"]) {
        return;
    }
    let folder = installed("completions");
    let bash_ = "source root/usr/share/bash-completion/completions/instep; complete -p instep; \
                 COMP_WORDS=(instep pub); COMP_CWORD=1; _instep instep pub instep; echo \"${COMPREPLY[@]}\"";
    assert!(bash(bash_, &folder).contains("publish"));
    let fish = "PATH=$PWD/root/usr/bin:$PATH HOME=$PWD XDG_DATA_DIRS=$PWD/root/usr/share fish --private -c 'complete -C \"instep pub\"'";
    assert!(bash(fish, &folder).starts_with("publish\t"));
    // A separate shell behind a terminal, because zsh completes only interactive input.
    let zsh = r#"cat > complete.zsh <<'END'
zmodload zsh/zpty
zpty shell "HOME=$PWD TERM=dumb zsh -f -i"
zpty -w shell "fpath=($PWD/root/usr/share/zsh/vendor-completions \$fpath); autoload -Uz compinit; compinit -u -D; echo PREPARED-\$?"
zpty -r shell line '*PREPARED-0*'
zpty -w -n shell $'instep publ\t'
zpty -r shell line '*publish*'
print -r -- "$line"
zpty -d shell
END
timeout 60 zsh -f complete.zsh"#;
    assert!(bash(zsh, &folder).contains("publish"));
    // PowerShell is not in Debian: only the syntax of its script is checked.
    let power = fs::read_to_string(folder.join("root/usr/share/instep/instep.ps1")).unwrap();
    assert!(power.contains("Register-ArgumentCompleter -Native -CommandName 'instep'"), "{power:.300}");
    assert!(power.contains("'instep;publish'"));
}

#[test]
fn p3_the_units_of_the_package_are_correct_and_confined() {
    if !are_there(["dpkg-deb", "systemd-analyze", "systemd-sysusers", "systemd-tmpfiles"]) {
        return;
    }
    let folder = installed("units");
    // The units name the installed program, which is below the root here.
    let units = "mkdir units && for unit in root/usr/lib/systemd/system/*; do \
                 sed \"s#/usr/bin/instep#$PWD/root/usr/bin/instep#\" \"$unit\" > units/$(basename \"${unit/@/@test}\"); done; \
                 systemd-analyze verify --man=no units/* 2>&1; \
                 for unit in units/*.service; do systemd-analyze security --offline=true --threshold=20 \"$unit\" > /dev/null; done";
    assert_eq!(bash(units, &folder).trim(), "");
    for unit in fs::read_dir(folder.join("units")).unwrap().map(|unit| unit.unwrap().path()) {
        if unit.extension().is_some_and(|end| end == "service") {
            runs(&fs::read_to_string(unit).unwrap(), &folder);
        }
    }
    if bash("id -u", &folder).trim() == "0" {
        let made = "mkdir -p root/etc && systemd-sysusers --root=root instep.conf && \
                    systemd-tmpfiles --root=root --create instep.conf && \
                    id=$(awk -F: '$1 == \"instep\" { print $3 }' root/etc/passwd) && \
                    test \"$(stat -c '%u %a' root/var/lib/instep)\" = \"$id 755\"";
        bash(made, &folder);
    }
}

/// Fails if the program does not have an option of a unit, or if the unit treats the exit code after TERM as a
/// failure.
fn runs(unit: &str, folder: &Path) {
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let start = start.replace("/etc/instep/%i.toml", "/dev/null").replace("${DIR}", "data");
    bash(&format!("{} --help > /dev/null", start.replace("${URL}", "http://127.0.0.1:1/")), folder);
    if unit.contains("Type=notify") || start.contains(" sync ") {
        let codes = unit.lines().find_map(|line| line.strip_prefix("SuccessExitStatus="));
        assert!(codes.is_some_and(|codes| codes.split(' ').any(|code| code == "143")), "{start}");
    }
}

#[test]
fn the_debian_package_holds_the_files_of_contrib() {
    if !are_there(["dpkg-deb"]) {
        return;
    }
    let root_of_package = installed("contents").join("root");
    let files = listing(&root_of_package);
    for (from, to) in [
        ("systemd", "usr/lib/systemd/system"),
        ("sysusers", "usr/lib/sysusers.d"),
        ("tmpfiles", "usr/lib/tmpfiles.d"),
        ("examples", "usr/share/doc/instep/examples"),
    ] {
        for file in fs::read_dir(root().join("contrib").join(from)).unwrap().map(|file| file.unwrap()) {
            let placed = root_of_package.join(to).join(file.file_name());
            assert_eq!(fs::read(file.path()).unwrap(), fs::read(&placed).unwrap(), "{}", placed.display());
        }
    }
    assert!(files.contains(&"/usr/bin/instep 755".to_owned()), "{files:?}");
    assert!(root_of_package.join("etc/instep").is_dir());
}

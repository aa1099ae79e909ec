//! Peers: programs of others that instep is tested with and measured against.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::Result;

use crate::run::{cargo, checked, is_installed, root, target};

/// A program and the Debian package it comes in.
type Peer = (&'static str, &'static str);

pub const FOR_TESTS: &[Peer] = &[
    ("nginx", "nginx-light"),
    ("apache2", "apache2-bin"),
    ("caddy", "caddy"),
    ("xmllint", "libxml2-utils"),
    ("curl", "curl"),
    ("zip", "zip"),
    ("unzip", "unzip"),
    ("openssl", "openssl"),
    ("xdelta3", "xdelta3"),
    ("strace", "strace"),
    ("chromium", "chromium"),
    ("python3", "python3-venv"),
    ("promtool", "prometheus"),
    ("rpm", "rpm"),
    ("rpmlint", "rpmlint"),
    ("cpio", "cpio"),
    ("pg_ctlcluster", "postgresql"),
    ("skopeo", "skopeo"),
    ("umoci", "umoci"),
    ("ruby", "ruby"),
    ("php", "php-cli"),
    ("zsh", "zsh"),
    ("fish", "fish"),
    ("man", "man-db"),
    ("systemd-analyze", "systemd"),
    ("systemd-nspawn", "systemd-container"),
];

pub const FOR_BENCH: &[Peer] = &[
    ("nginx", "nginx-light"),
    ("xmllint", "libxml2-utils"),
    ("curl", "curl"),
    ("zip", "zip"),
    ("python3", "python3-venv"),
    ("rclone", "rclone"),
    ("wget2", "wget2"),
    ("aria2c", "aria2"),
    ("wrk", "wrk"),
    ("valgrind", "valgrind"),
    ("pg_ctlcluster", "postgresql"),
];

pub const FOR_INSTRUCTIONS: &[Peer] = &[("nginx", "nginx-light"), ("valgrind", "valgrind")];

/// Packages of the virtual environment: the reference client, its WebSockets, the check of spelling, referees for
/// patches, schemas, web archives and bags, a harvester, object storage, a server that takes mail, and referees for the
/// manifests of Kubernetes and the workflows of the forge.
const PYTHON: [&str; 12] = [
    "resync==2.0.1",
    "websockets==15.0.1",
    "codespell==2.4.3",
    "jsonpatch==1.47",
    "lxml==6.1.3",
    "warcio==1.8.1",
    "bagit==1.9.0",
    "sickle==0.7.0",
    "moto[server]==5.1.17",
    "aiosmtpd==1.4.6",
    "kubernetes-validate==1.37.0",
    "check-jsonschema==0.39.0",
];

/// A second object storage, which unlike the first one checks signatures. It needs a newer Rust than the workspace, so
/// it is no dependency.
const CARGO: [&str; 5] = ["s3s-fs", "--version", "0.14.1", "--features", "binary"];

/// Packages without their dependencies: only their files are used. axe-core checks pages by WCAG.
const FILES: [&str; 1] = ["axe-playwright-python==0.1.8"];

/// Installs the peers that are missing. A failure is only printed: the tests that need the peer report it themselves.
pub fn install(peers: &[Peer]) {
    let missing: Vec<_> =
        peers.iter().filter(|(program, _)| !is_installed(program)).map(|(_, package)| *package).collect();
    if !missing.is_empty()
        && let Err(error) = apt(&["update", "-q"]).and_then(|()| {
            let install = ["install", "-y", "-q", "--no-install-recommends"];
            apt(&[&install[..], &missing].concat())
        })
    {
        eprintln!("not installed: {} ({error:#})", missing.join(", "));
    }
}

/// Runs apt-get, after any other process that is installing something.
fn apt(arguments: &[&str]) -> Result<()> {
    let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    let mut command = if root { Command::new("apt-get") } else { Command::new("sudo") };
    if !root {
        command.args(["-n", "apt-get"]);
    }
    let quiet = command
        .args(["-o", "DPkg::Lock::Timeout=600"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null());
    checked(quiet.stdout(Stdio::null()))
}

/// Makes `target/peers`, a virtual environment of Python.
pub fn install_python() {
    let environment = target().join("peers");
    let wanted = [&PYTHON[..], &FILES].concat().join("\n");
    if fs::read_to_string(environment.join("complete")).unwrap_or_default() == wanted {
        return;
    }
    let filled = make_environment(&environment, &PYTHON)
        .and_then(|()| checked(pip(&environment).arg("--no-deps").args(FILES)));
    match filled {
        Ok(()) => drop(fs::write(environment.join("complete"), wanted)),
        Err(error) => eprintln!("not installed: {} ({error:#})", wanted.replace('\n', ", ")),
    }
}

/// The build of peers that come from crates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerBuild {
    /// In the shortest time, for tests.
    Quick,
    /// Optimized, for measurements that they take part in.
    Optimized,
}

/// Builds the peers that come from crates, into `target/peers-of-cargo`. Optimized ones serve tests too.
pub fn install_from_crates(build: PeerBuild) {
    let root = target().join("peers-of-cargo");
    let (is_built, optimized) = (root.join("bin").join(CARGO[0]).is_file(), root.join("optimized"));
    if is_built && (build == PeerBuild::Quick || optimized.is_file()) {
        return;
    }
    let mut install = cargo(&["install", "--quiet", "--locked", "--force", "--root"]);
    install.arg(root).args(CARGO);
    let built = match build {
        PeerBuild::Quick => checked(install.arg("--debug")),
        PeerBuild::Optimized => checked(&mut install).and_then(|()| Ok(fs::write(optimized, "")?)),
    };
    if let Err(error) = built {
        eprintln!("not installed: {} ({error:#})", CARGO[0]);
    }
}

/// Makes a virtual environment of Python with packages from PyPI.
pub fn make_environment(environment: &Path, packages: &[&str]) -> Result<()> {
    checked(Command::new("python3").args(["-m", "venv", "--clear"]).arg(environment).current_dir(root()))?;
    checked(pip(environment).args(packages))
}

fn pip(environment: &Path) -> Command {
    let mut pip = Command::new(environment.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip
}

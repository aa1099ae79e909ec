//! This program and its peers, as commands, and the server that copies come from.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use instep_testkit::{S3Server, Server, peers};

use crate::data;

fn target() -> PathBuf {
    std::env::var_os("INSTEP_TARGET")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"), PathBuf::from)
}

/// Returns the build profile of the program: that of packages, unless another one is named.
pub fn profile() -> String {
    std::env::var("BENCH_PROFILE").unwrap_or_else(|_| "dist".to_owned())
}

/// Returns the `instep` of that profile.
pub fn instep(arguments: &[&str]) -> Command {
    let mut command = Command::new(target().join(profile()).join("instep"));
    command.args(arguments);
    command
}

/// Returns a program of the virtual environment that `cargo xtask peers` makes.
pub fn python(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(target().join("peers/bin").join(program));
    command.args(arguments);
    command
}

/// Returns a program in the path.
pub fn program(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(arguments);
    command
}

/// Returns a server that speaks S3: the one that takes the least of the machine, unless it could not be built.
pub fn object_storage() -> Result<S3Server> {
    let server =
        if target().join("peers-of-cargo/bin/s3s-fs").is_file() { S3Server::s3s() } else { S3Server::moto() };
    server.context("no server that speaks S3")
}

/// Starts nginx with one worker over a folder.
pub fn nginx(folder: &Path) -> Result<Server> {
    let [nginx] = peers::find(["nginx"]).context("nginx is missing")?;
    Ok(Server::nginx(&nginx, folder, &data::empty("nginx")?)?)
}

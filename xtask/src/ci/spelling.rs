//! Misspelt words in code, texts and messages, found by codespell.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::{
    peers,
    run::{checked, root, target},
};

/// Correct words that codespell reports.
const KNOWN: &str =
    "befor,caf,chnge,crate,evry,fo,iif,lenght,limt,mis,oen,ore,ot,publsh,reprot,ser,statics,te,titel,wronly";

/// Folders of data, and files that are written by programs.
const SKIPPED: &str = "./target,./.git,Cargo.lock,*.png,./crates/instep-testkit/data,./fuzz/Cargo.lock,*.svg";

/// Fails on each misspelt word.
pub fn check() -> Result<()> {
    peers::install_python();
    let program = target().join("peers/bin/codespell");
    if !program.exists() {
        ensure!(std::env::var("CI").as_deref() != Ok("true"), "codespell could not be installed");
        eprintln!("> left out: codespell could not be installed");
        return Ok(());
    }
    let mut codespell = Command::new(program);
    codespell.args(["--quiet-level", "3", "--ignore-words-list", KNOWN, "--skip", SKIPPED]);
    checked(codespell.current_dir(root()))
}

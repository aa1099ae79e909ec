//! `instep exit-codes` and `instep help exit-codes`: prints the table of exit codes, which is in `exit.rs`.

use clap::Args;
use serde_json::json;

use crate::{exit, exit::Exit, ui::Output};

/// List the exit codes
#[derive(Debug, Args)]
#[command(long_about = exit::table())]
pub(crate) struct ExitCodesCommand {}

impl ExitCodesCommand {
    /// Prints the table.
    #[expect(clippy::unused_self, reason = "each command is run by its options")]
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        output.line(exit::table().trim_end());
        for (code, meaning) in exit::codes() {
            output.object("exit_code", json!({ "exit_code": code, "meaning": meaning }));
        }
        Ok(Exit::Done)
    }
}

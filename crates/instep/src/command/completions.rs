//! `instep completions`: writes shell completions, man pages, and the book's page of all options.

mod reference;

use std::{fs, path::PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use clap_complete::Shell;

use crate::{exit::Exit, ui::Output};

/// Write shell completions or man pages
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  instep completions bash > /etc/bash_completion.d/instep\n  instep completions man --out /usr/share/man/man1"
)]
pub(crate) struct CompletionsCommand {
    /// Shell, or man for man pages
    kind: CompletionKind,
    /// Folder for the man pages
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CompletionKind {
    Bash,
    Zsh,
    Fish,
    Powershell,
    Man,
    /// The page of the book with all options
    #[value(hide = true)]
    Reference,
}

impl CompletionsCommand {
    /// Runs the command for this definition of the command line.
    pub(crate) fn run(self, mut command: clap::Command, output: &Output) -> anyhow::Result<Exit> {
        let shell = match self.kind {
            CompletionKind::Bash => Shell::Bash,
            CompletionKind::Zsh => Shell::Zsh,
            CompletionKind::Fish => Shell::Fish,
            CompletionKind::Powershell => Shell::PowerShell,
            CompletionKind::Reference => {
                output.raw(reference::page(command).trim_end());
                return Ok(Exit::Done);
            }
            CompletionKind::Man => {
                fs::create_dir_all(&self.out)
                    .with_context(|| format!("Cannot create {}", self.out.display()))?;
                clap_mangen::generate_to(command, &self.out)
                    .with_context(|| format!("Cannot write the man pages to {}", self.out.display()))?;
                output.note(format!("Man pages written to {}", self.out.display()));
                return Ok(Exit::Done);
            }
        };
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command, "instep", &mut script);
        output.text(&String::from_utf8_lossy(&script));
        Ok(Exit::Done)
    }
}

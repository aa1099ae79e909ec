//! `instep completions`: shell completions and man pages.

use std::{fs, io, path::PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use clap_complete::Shell;

use crate::exit::Exit;

/// Write shell completions or man pages
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  instep completions bash > /etc/bash_completion.d/instep\n  instep completions man --out /usr/share/man/man1"
)]
pub(crate) struct Completions {
    /// Shell, or man for man pages
    kind: Kind,
    /// Folder for the man pages
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    Bash,
    Zsh,
    Fish,
    Powershell,
    Man,
}

impl Completions {
    /// Runs the command for this definition of the command line.
    pub(crate) fn run(self, mut command: clap::Command) -> anyhow::Result<Exit> {
        let shell = match self.kind {
            Kind::Bash => Shell::Bash,
            Kind::Zsh => Shell::Zsh,
            Kind::Fish => Shell::Fish,
            Kind::Powershell => Shell::PowerShell,
            Kind::Man => {
                fs::create_dir_all(&self.out)
                    .with_context(|| format!("Cannot create {}", self.out.display()))?;
                clap_mangen::generate_to(command, &self.out)?;
                return Ok(Exit::Done);
            }
        };
        clap_complete::generate(shell, &mut command, "instep", &mut io::stdout());
        Ok(Exit::Done)
    }
}

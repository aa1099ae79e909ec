//! What packagers and shells want: completions, and man pages.

use std::{fs, io, path::PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use clap_complete::Shell;

use crate::{args, exit::Exit};

/// Completions of a shell, or man pages
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  instep completions bash > /etc/bash_completion.d/instep\n  instep completions man --out /usr/share/man/man1"
)]
pub(crate) struct Completions {
    /// What is made
    kind: Kind,
    /// The folder of the man pages
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    Bash,
    Zsh,
    Fish,
    Man,
}

impl Completions {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let mut command = args::command();
        let shell = match self.kind {
            Kind::Bash => Shell::Bash,
            Kind::Zsh => Shell::Zsh,
            Kind::Fish => Shell::Fish,
            Kind::Man => {
                fs::create_dir_all(&self.out)
                    .with_context(|| format!("Cannot make {}", self.out.display()))?;
                clap_mangen::generate_to(command, &self.out)?;
                return Ok(Exit::Done);
            }
        };
        clap_complete::generate(shell, &mut command, "instep", &mut io::stdout());
        Ok(Exit::Done)
    }
}

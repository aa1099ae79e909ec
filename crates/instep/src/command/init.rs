//! `instep init`: examines a folder or a Source and writes an `instep.toml` with comments for it.

mod copy;
mod draft;
mod source;

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use clap::Args;
use serde_json::json;

use crate::{
    args::{access::AccessArgs, headings::OUTPUT, values},
    config::Config,
    exit::Exit,
    replacing::replace_file,
    ui::{Output, format::shell_argument},
};

/// Write a commented instep.toml for a folder to publish or a Source to copy
///
/// Examines the folder, or the Source at the URL, and writes suitable options, each with a comment. Nothing else is
/// written, and nothing is published or copied.
#[derive(Debug, Args)]
#[command(
    after_help = "All options and examples: instep init --help",
    after_long_help = "Examples:\n  instep init ./data\n  instep init https://example.org/\n  instep init https://example.org/ --out mirror.toml"
)]
pub(crate) struct InitCommand {
    /// Folder to publish, or any URL of a Source to copy
    #[arg(value_name = "DIR|URL", default_value = ".")]
    target: String,
    #[command(flatten)]
    access: AccessArgs,
    /// File to write; - for standard output
    #[arg(long, value_name = "FILE", default_value = "instep.toml", value_parser = values::path, help_heading = OUTPUT)]
    out: PathBuf,
    /// Replace the file if it exists
    #[arg(long, help_heading = OUTPUT)]
    force: bool,
}

impl InitCommand {
    /// Runs the command.
    pub(crate) fn run(self, config: &Config, output: &Output) -> anyhow::Result<Exit> {
        let to_output = self.out.as_os_str() == "-";
        if !to_output && self.out.exists() && !self.force {
            bail!("{} exists; replace it with --force, or name another with --out", self.out.display());
        }
        // Commands find only a file of this name by themselves.
        let config_option = if to_output || self.out == Path::new("instep.toml") {
            String::new()
        } else {
            format!(" --config {}", shell_argument(&self.out.display().to_string()))
        };
        let draft = if self.target.contains("://") {
            let url = values::url(&self.target).map_err(anyhow::Error::msg)?;
            copy::draft(&url, self.access.options(config)?, &config_option)?
        } else {
            source::draft(Path::new(&self.target), &config_option)?
        };
        if to_output {
            output.text(&draft.text);
            return Ok(Exit::Done);
        }
        write(&self.out, &draft.text, self.force)?;
        output.closing(format!("Wrote {}. {}, then:", self.out.display(), draft.before));
        draft.next.iter().for_each(|command| output.closing(format!("  {command}")));
        output.object(
            "summary",
            json!({ "command": "init", "kind": draft.kind, "file": self.out, "next": draft.next }),
        );
        Ok(Exit::Done)
    }
}

fn write(path: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    let written = if force { replace_file(path, text.as_bytes()) } else { create(path, text.as_bytes()) };
    written.with_context(|| format!("Cannot write {}", path.display()))
}

/// Writes a new file, and removes it if the disk does not take all of it: the next attempt would refuse to replace a part.
fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let written = File::create_new(path)?.write_all(bytes);
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}

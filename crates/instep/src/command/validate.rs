//! `instep validate`: checks documents, packages and Sources against the standard. The rules are in `resourcesync`;
//! this command reads files (`files.rs`) or follows links (`walk.rs`), and prints the findings (`judgement.rs`,
//! `sarif.rs`).

mod files;
mod judgement;
mod packages;
mod sarif;
mod walk;

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use instep_destination::documents::DocumentCache;
use resourcesync::{Uri, validate::ValidateOptions, xml::SpecVersion};

use self::{judgement::Judgement, walk::SourceWalk};
use crate::{
    args::{access::AccessArgs, values},
    config::Config,
    exit::Exit,
    runtime,
    ui::Output,
};

/// Check documents against the standard; findings have rule, line and column
///
/// Reads documents, packages (ZIP), folders of them or a URL; with --follow a whole Source. Files given together are
/// checked together, such as an index with its members. The exit code is 5 if there are errors.
#[derive(Debug, Args)]
#[command(after_help = HINT, after_long_help = EXAMPLES)]
pub(crate) struct ValidateCommand {
    /// Files, packages, folders, URLs, or - for standard input
    #[arg(required = true, value_name = "FILE|URL|ZIP|DIR|-")]
    targets: Vec<String>,
    /// Check the whole Source: links in both directions, times, coverage, packages, HTTP
    #[arg(long)]
    follow: bool,
    /// With --follow: the most documents and packages to check
    #[arg(long, default_value_t = 1_000, value_name = "N", value_parser = values::at_least_one::<usize>)]
    max_documents: usize,
    /// With --follow: resources of each list to fetch and compare, with their patches
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = values::number::<usize>)]
    samples: usize,
    /// With --follow: keep fetched documents in DIR, so that a further run fetches only what changed
    ///
    /// A further run also reports closed documents that changed.
    #[arg(long, hide_short_help = true, requires = "follow", value_name = "DIR")]
    resume: Option<PathBuf>,
    /// Version of the standard
    #[arg(long, default_value = "1.1", value_parser = values::spec_version(), value_name = "VERSION")]
    spec_version: SpecVersion,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
    /// Print a SARIF 2.1.0 log for CI systems
    #[arg(long)]
    sarif: bool,
    #[command(flatten)]
    access: AccessArgs,
}

const HINT: &str = "All options and examples: instep validate --help";

const EXAMPLES: &str = "\
Examples:
  instep validate resourcelist.xml
  instep validate resourcesync/ --strict
  instep validate dump.zip --json
  instep validate https://example.org/ --follow
  curl -s https://example.org/changelist.xml | instep validate -";

impl ValidateCommand {
    /// Runs the command.
    pub(crate) fn run(self, config: &Config, output: &Output) -> anyhow::Result<Exit> {
        let mut options = ValidateOptions::new();
        options.strict = self.strict;
        options.version = self.spec_version;
        let (sarif, is_web) = (self.sarif, |target: &String| target.contains("://"));
        let judgement = match self.targets.iter().filter(|target| is_web(target)).count() {
            0 if self.follow => bail!("--follow needs a URL"),
            0 => files::check(&self.targets, options)?,
            1 if self.targets.len() == 1 => self.check_url(options, config)?,
            _ => bail!("Check one URL at a time, without files"),
        };
        if sarif {
            output.raw(&sarif::log(&judgement));
        } else {
            judgement.show(output);
        }
        Ok(if judgement.summary.errors > 0 { Exit::Invalid } else { Exit::Done })
    }

    fn check_url(self, options: ValidateOptions, config: &Config) -> anyhow::Result<Judgement> {
        let url: Uri = values::url(&self.targets[0]).map_err(anyhow::Error::msg)?;
        let spool = tempfile::tempdir()?;
        let documents = self.access.documents(config, &url, spool.path())?;
        let mut walk = SourceWalk::new(documents, options, spool.path());
        if self.follow {
            let cache = self
                .resume
                .map(DocumentCache::open)
                .transpose()
                .context("Cannot use the folder given with --resume")?;
            walk = walk.following(self.max_documents, self.samples, cache);
        }
        runtime::start()?.block_on(walk.judge(&url))
    }
}

//! `instep republish`: publishes synced copies as a Source, each resource with a link to its original.

use std::{path::PathBuf, sync::Arc};

use anyhow::bail;
use clap::Args;
use instep_source::{Content, DumpPolicy, PublishOptions, serve::ServeOptions};

use super::publish::moved_to;
use crate::{
    args::{folders, headings::WHAT_TO_PUBLISH, serving::ServingArgs, waiting::WaitArgs},
    config::Config,
    copy::CopyContent,
    exit::Exit,
    publication::{publish_once, serve_until_signal},
    runtime::Reload,
    ui::Output,
};

/// Publish copies as a Source: the same bytes, each with a link to its original
///
/// The documents state the digests that were verified when a resource was copied, so readers refuse a file that was
/// damaged since. With --listen the copy is served too, and scanned every --scan-every. To publish changes at once
/// while a copy follows its Source, use instep sync --follow --republish.
#[derive(Debug, Args)]
#[command(after_help = HINT, after_long_help = EXAMPLES)]
pub(crate) struct RepublishCommand {
    /// The folders of the copies; several are served below their names
    #[arg(required = true)]
    dirs: Vec<PathBuf>,
    /// Move the Source from one base URL to another, and keep its history
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], help_heading = WHAT_TO_PUBLISH, hide_short_help = true)]
    rebase: Vec<String>,
    #[command(flatten)]
    serving: ServingArgs,
    #[command(flatten, next_help_heading = WHAT_TO_PUBLISH)]
    wait: WaitArgs,
}

const HINT: &str = "All options and examples: instep republish --help";

const EXAMPLES: &str = "\
Examples:
  instep republish ./copy --base-url https://mirror.example.org/
  instep republish ./copy --listen 127.0.0.1:8081
  instep republish ./copy --rebase https://old.example.org/ https://mirror.example.org/
  instep republish ./museum ./archive --out ./documents --base-url https://all.example.org/";

impl RepublishCommand {
    /// Runs the command.
    pub(crate) fn run(
        self,
        config: &Config,
        reload: Reload<'_, (Self, Config)>,
        output: &Output,
    ) -> anyhow::Result<Exit> {
        if self.serving.server.listen.is_some() {
            if !self.rebase.is_empty() {
                bail!("--rebase moves the Source once, before it is served again: give it without --listen");
            }
            let again = |is_forced| {
                reload(is_forced)?.map(|(republish, config)| republish.served(&config)).transpose()
            };
            return serve_until_signal(self.served(config)?, &again, output);
        }
        let Self { dirs, rebase, serving, wait } = self;
        let Some(base_url) = moved_to(&rebase, serving.server.base_url.clone())? else {
            bail!("Set --base-url if another server serves the copy, or --listen to serve it here");
        };
        if dirs.len() > 1 && !serving.source.names_out() {
            bail!("Several copies need --out, the folder for their documents");
        }
        let source = serving.source.with_state(folders::state_of_republished(&dirs[0]));
        let mut options = source.options(&dirs[0], &base_url, dirs[0].clone(), DumpPolicy::Never, config)?;
        take_content(&mut options, &dirs, config)?;
        options.rebase_from = rebase.into_iter().next();
        publish_once("republish", &options, wait, output)
    }

    /// Returns the settings of a server of the copies.
    fn served(self, config: &Config) -> anyhow::Result<ServeOptions> {
        let Self { dirs, mut serving, .. } = self;
        serving.source = serving.source.with_state(folders::state_of_republished(&dirs[0]));
        let mut options = serving.options(&dirs[0], config)?;
        take_content(&mut options.publish, &dirs, config)?;
        Ok(options)
    }
}

/// Sets the copies as the content of the Source, unless the configuration has `[[set]]` tables, which name them.
fn take_content(options: &mut PublishOptions, dirs: &[PathBuf], config: &Config) -> anyhow::Result<()> {
    if config.shared("set").is_none() {
        options.sets[0].content = contents(dirs)?;
    }
    Ok(())
}

/// Returns the copies as content: a single one at the base URL, several each below its name.
///
/// Errors: a copy cannot be opened.
fn contents(dirs: &[PathBuf]) -> anyhow::Result<Vec<Content>> {
    let content = |dir: &PathBuf| {
        let copy = Arc::new(CopyContent::open(dir)?);
        let prefix = (dirs.len() > 1).then(|| format!("{}/", copy.name()));
        Ok(copy.into_content(prefix))
    };
    dirs.iter().map(content).collect()
}

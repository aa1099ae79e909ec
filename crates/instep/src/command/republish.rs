//! `instep republish`: publish synced copies with where they come from.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::bail;
use clap::Args;
use instep_source::{Content, DumpPolicy, PublishOptions};

use super::{publish::publish_once, serve::serve_until_told};
use crate::{args::serving::Serving, config::Config, copy::CopyContent, exit::Exit, ui::Output};

/// Publish a synced copy, or several, as a Source of its own: same bytes, each with a link to its original
///
/// The documents promise what the copy's state says was verified: a file that was damaged since is refused by those who
/// fetch it. With --listen it is served too, and looked at again every --scan-every. To publish what a running
/// sync brings at once, see instep sync --follow --republish.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Republish {
    /// The folders of the copies; several are served below their names
    #[arg(required = true)]
    dirs: Vec<PathBuf>,
    #[command(flatten)]
    serving: Serving,
}

const EXAMPLES: &str = "\
Examples:
  instep republish ./copy --base-url https://mirror.example.org/
  instep republish ./copy --listen 127.0.0.1:8081
  instep republish ./museum ./archive --out ./documents --base-url https://all.example.org/";

impl Republish {
    pub(crate) fn run(self, config: &Config, output: &Output) -> anyhow::Result<Exit> {
        let Self { dirs, mut serving } = self;
        serving.source = serving.source.with_state(source_state(&dirs[0]));
        match (&serving.server.listen, serving.server.base_url.clone()) {
            (Some(_), _) => {
                let mut options = serving.options(&dirs[0], config)?;
                take_content(&mut options.publish, &dirs, config)?;
                serve_until_told(options, output)
            }
            (None, Some(base_url)) => {
                if dirs.len() > 1 && !serving.source.names_out() {
                    bail!("several copies need --out, the folder of their documents");
                }
                let documents = dirs[0].clone();
                let mut options =
                    serving.source.options(&dirs[0], &base_url, documents, DumpPolicy::Never, config)?;
                take_content(&mut options, &dirs, config)?;
                publish_once("republish", &options, output)
            }
            (None, None) => bail!("--base-url says where the copy is served, or --listen serves it"),
        }
    }
}

/// The copies, unless the configuration says what is in which set.
fn take_content(options: &mut PublishOptions, dirs: &[PathBuf], config: &Config) -> anyhow::Result<()> {
    if config.shared("set").is_none() {
        options.sets[0].content = contents(dirs)?;
    }
    Ok(())
}

/// Where the catalogue of a republished copy is: beside the copy's own state.
pub(super) fn source_state(copy: &Path) -> PathBuf {
    copy.join(".instep/source")
}

/// One copy at the base URL, or several, each below its name.
fn contents(dirs: &[PathBuf]) -> anyhow::Result<Vec<Content>> {
    let content = |dir: &PathBuf| {
        let copy = Arc::new(CopyContent::open(dir)?);
        let prefix = (dirs.len() > 1).then(|| format!("{}/", copy.name()));
        Ok(copy.into_content(prefix))
    };
    dirs.iter().map(content).collect()
}

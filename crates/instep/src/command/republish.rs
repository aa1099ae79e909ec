//! `instep republish`: publish synced copies with where they come from.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::bail;
use clap::Args;
use instep_source::{Content, DumpPolicy, PublishOptions, serve::ServeOptions};

use super::{publish::publish_once, serve::serve_until_told};
use crate::{
    args::{
        channels::{Admin, Channels},
        server::Server,
        source::Source,
    },
    config::Config,
    copy::CopyContent,
    exit::Exit,
    ui::Output,
};

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
    server: Server,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    channels: Channels,
    #[command(flatten)]
    admin: Admin,
}

const EXAMPLES: &str = "\
Examples:
  instep republish ./copy --base-url https://mirror.example.org/
  instep republish ./copy --listen 127.0.0.1:8081
  instep republish ./museum ./archive --out ./documents --base-url https://all.example.org/";

impl Republish {
    pub(crate) fn run(self, config: &Config, output: &Output) -> anyhow::Result<Exit> {
        match (&self.server.listen, &self.server.base_url) {
            (Some(_), _) => serve_until_told(self.serve_options(config)?, output),
            (None, Some(_)) => publish_once("republish", &self.publish_options(config)?, output),
            (None, None) => bail!("--base-url says where the copy is served, or --listen serves it"),
        }
    }

    fn publish_options(self, config: &Config) -> anyhow::Result<PublishOptions> {
        if self.dirs.len() > 1 && !self.source.names_out() {
            bail!("several copies need --out, the folder of their documents");
        }
        let first = self.dirs[0].clone();
        self.source_options(first, DumpPolicy::Never, config).map(|(options, _)| options)
    }

    fn serve_options(self, config: &Config) -> anyhow::Result<ServeOptions> {
        let mut options = ServeOptions::new(&self.dirs[0]);
        let (documents, dumps) = (options.publish.out.clone(), options.publish.dumps.policy);
        let (publish, rest) = self.source_options(documents, dumps, config)?;
        options.publish = publish;
        let (server, channels, admin) = rest;
        server.apply(&mut options)?;
        options.channels = channels.options();
        options.admin = admin.options()?;
        Ok(options)
    }

    fn source_options(
        self,
        documents: PathBuf,
        dumps: DumpPolicy,
        config: &Config,
    ) -> anyhow::Result<(PublishOptions, (Server, Channels, Admin))> {
        let Self { dirs, server, source, channels, admin } = self;
        let base_url = server.base_url.clone().unwrap_or_default();
        let source = source.with_state(source_state(&dirs[0]));
        let mut options = source.options(&dirs[0], &base_url, documents, dumps, config)?;
        if config.shared("set").is_none() {
            options.sets[0].content = contents(&dirs)?;
        }
        Ok((options, (server, channels, admin)))
    }
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

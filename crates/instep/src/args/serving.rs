//! Options of a Source that is served: content, documents, server, notification and administration.

use std::path::Path;

use anyhow::bail;
use clap::Args;
use instep_source::serve::ServeOptions;

use super::{
    channels::{AdminArgs, ChannelArgs},
    server::ServerArgs,
    source::SourceArgs,
};
use crate::config::Config;

/// Options of publishing, serving and announcing.
#[derive(Debug, Args)]
pub(crate) struct ServingArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    channels: ChannelArgs,
    #[command(flatten)]
    admin: AdminArgs,
}

impl ServingArgs {
    /// Returns the settings for a folder that is served.
    ///
    /// Errors: options that contradict each other, or files they name that cannot be read.
    pub(crate) fn options(mut self, folder: &Path, config: &Config) -> anyhow::Result<ServeOptions> {
        if self.source.is_delivered() {
            bail!(
                "A server serves the documents itself, and delivers none to object storage; use instep publish --out s3://..."
            );
        }
        let mut options = ServeOptions::new(folder);
        let (documents, dumps) = (options.publish.out.clone(), options.publish.dumps.policy);
        let small_snapshot_every = options.publish.lists.small_snapshot_every;
        let base_url = &*self.server.base_url.clone().unwrap_or_default();
        for fault in self.source.unpack(folder, base_url)?.into_iter().flat_map(|unpacked| unpacked.faults) {
            tracing::warn!("{fault}");
        }
        options.publish = self.source.options(folder, base_url, documents, dumps, config)?;
        options.publish.lists.small_snapshot_every = small_snapshot_every;
        self.server.apply(&mut options)?;
        options.channels = self.channels.options();
        options.admin = self.admin.options()?;
        Ok(options)
    }
}

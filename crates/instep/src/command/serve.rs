//! `instep serve`: publish continuously and serve.

use std::{path::PathBuf, sync::Arc};

use clap::Args;
use instep_source::serve::{self, ServeOptions};
use tokio_util::sync::CancellationToken;

use crate::{
    args::serving::Serving,
    config::Config,
    exit::Exit,
    runtime,
    ui::{Output, publishing::Publishing},
};

/// Publish a folder, keep the documents current, and serve documents and resources
///
/// Listens when the first publication is complete. INT or TERM ends it in an orderly way.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Serve {
    /// The folder whose files are the resources
    dir: PathBuf,
    #[command(flatten)]
    serving: Serving,
}

const EXAMPLES: &str = "\
Examples:
  instep serve ./data
  instep serve /srv/data --listen 0.0.0.0:80 --base-url http://data.example.org/
  instep serve /srv/data --listen 0.0.0.0:443 --base-url https://data.example.org/ --tls-cert chain.pem --tls-key key.pem";

impl Serve {
    pub(crate) fn run(self, config: &Config, output: &Output) -> anyhow::Result<Exit> {
        serve_until_told(self.serving.options(&self.dir, config)?, output)
    }
}

/// Publishes and serves until a signal ends it.
pub(super) fn serve_until_told(options: ServeOptions, output: &Output) -> anyhow::Result<Exit> {
    let runtime = runtime::start()?;
    let shutdown = CancellationToken::new();
    let signals = runtime::Signals::listen(&runtime, shutdown.clone());
    let monitor = Arc::new(Publishing::new(*output));
    let told = Arc::clone(&monitor) as Arc<dyn instep_source::Monitor>;
    let served = runtime.block_on(serve::serve(options, told, shutdown.cancelled()));
    monitor.finish();
    served?;
    Ok(signals.exit())
}

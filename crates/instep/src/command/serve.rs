//! `instep serve`: publish continuously and serve.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::bail;
use clap::Args;
use instep_source::serve::{self, ServeOptions};
use tokio_util::sync::CancellationToken;

use crate::{
    args::{
        channels::{Admin, Channels},
        source::Source,
        values,
    },
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
    /// Address and port; port 0 takes any free one
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDRESS")]
    listen: String,
    /// The URL under which clients reach it [default: http:// and the address]
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Certificate chain, PEM; read again at HUP
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Key of the certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Refuse requests for another host with 421
    #[arg(long)]
    strict_host: bool,
    /// Find changes by scanning only
    #[arg(long)]
    no_watch: bool,
    /// How often everything is looked at, watched or not
    #[arg(long, default_value = "10m", value_parser = values::duration, value_name = "DURATION")]
    scan_every: Duration,
    /// Least time between two publications; the first change is published at once
    #[arg(long, default_value = "1s", value_parser = values::duration, value_name = "DURATION")]
    interval: Duration,
    /// Do not answer batches: many resources in one request
    #[arg(long)]
    no_batch: bool,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    channels: Channels,
    #[command(flatten)]
    admin: Admin,
}

const EXAMPLES: &str = "\
Examples:
  instep serve ./data
  instep serve /srv/data --listen 0.0.0.0:80 --base-url http://data.example.org/
  instep serve /srv/data --listen 0.0.0.0:443 --base-url https://data.example.org/ --tls-cert chain.pem --tls-key key.pem";

impl Serve {
    pub(crate) fn run(self, config: &Config, output: &Output) -> anyhow::Result<Exit> {
        let options = self.options(config)?;
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

    fn options(self, config: &Config) -> anyhow::Result<ServeOptions> {
        let wildcard =
            ["0.0.0.0:", "[::]:", "*:", ":"].iter().any(|address| self.listen.starts_with(address));
        if wildcard && self.base_url.is_none() {
            bail!(
                "--listen {} needs --base-url: documents name the URL under which clients reach this server",
                self.listen
            );
        }
        let mut options = ServeOptions::new(&self.dir);
        let (documents, dumps) = (options.publish.out.clone(), options.publish.dumps.policy);
        options.publish = self.source.options(
            &self.dir,
            self.base_url.as_deref().unwrap_or_default(),
            documents,
            dumps,
            config,
        )?;
        options.listen = self.listen;
        options.tls = self.tls_cert.zip(self.tls_key);
        options.strict_host = self.strict_host;
        options.live.watch = !self.no_watch;
        options.live.scan_every = self.scan_every;
        options.live.interval = self.interval;
        options.batches = !self.no_batch;
        options.channels = self.channels.options();
        options.admin = self.admin.options()?;
        Ok(options)
    }
}

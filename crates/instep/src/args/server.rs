//! Options of a server: where it listens, and how it keeps itself current.

use std::{path::PathBuf, time::Duration};

use anyhow::bail;
use clap::Args;
use instep_source::{VersionOptions, serve::ServeOptions};

use super::values;

/// Where to listen when nothing is said.
const LISTEN: &str = "127.0.0.1:8080";

/// How a Source is served.
#[derive(Debug, Args)]
#[command(next_help_heading = "Serving")]
pub(crate) struct Server {
    /// Address and port; port 0 takes any free one [default: 127.0.0.1:8080; republish: do not serve]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// The URL under which clients reach it [default: http:// and the address]
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
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
    #[arg(long, default_value = "500ms", value_parser = values::duration, value_name = "DURATION")]
    interval: Duration,
    /// Do not answer batches: many resources in one request
    #[arg(long)]
    no_batch: bool,
    /// Keep prior versions, and answer for them (Memento); the bytes of all resources are kept once more for it
    #[arg(long)]
    versions: bool,
    /// Versions kept of one resource
    #[arg(long, default_value_t = 100, value_name = "NUMBER")]
    versions_count: usize,
    /// How long a version is kept once it is superseded
    #[arg(long, default_value = "8760h", value_parser = values::duration, value_name = "DURATION")]
    versions_age: Duration,
}

impl Server {
    /// Puts them into the options of a server.
    pub(crate) fn apply(self, options: &mut ServeOptions) -> anyhow::Result<()> {
        let listen = self.listen.unwrap_or_else(|| LISTEN.to_owned());
        let wildcard = ["0.0.0.0:", "[::]:", "*:", ":"].iter().any(|address| listen.starts_with(address));
        if wildcard && self.base_url.is_none() {
            bail!(
                "--listen {listen} needs --base-url: documents name the URL under which clients reach this server"
            );
        }
        options.listen = listen;
        options.tls = self.tls_cert.zip(self.tls_key);
        options.strict_host = self.strict_host;
        options.live.watch = !self.no_watch;
        options.live.scan_every = self.scan_every;
        options.live.interval = self.interval;
        options.batches = !self.no_batch;
        options.publish.versions = self.versions.then(|| {
            let mut versions = VersionOptions::default();
            (versions.count, versions.age) = (self.versions_count, self.versions_age);
            versions
        });
        Ok(())
    }
}

//! Options of a server: its address and certificate, when it looks for changes, and what it answers beside documents
//! and resources (batches, OAI-PMH, activities, prior versions).

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::bail;
use clap::Args;
use instep_oai::{OaiGateway, RepositoryOptions};
use instep_source::{VersionOptions, serve::ServeOptions};

use super::{
    headings::{SERVING, VERSIONS},
    values,
};
use crate::{
    activities::{ActivityGateway, FOLDER_NAME},
    pages::SourcePages,
};

/// The address to listen on if none is given.
const LISTEN: &str = "127.0.0.1:8080";

/// The address of a Source, and the way it keeps itself current.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = SERVING)]
pub(crate) struct ServerArgs {
    /// Address and port; port 0 for any free one [default of serve: 127.0.0.1:8080]
    #[arg(long, alias = "addr", value_parser = values::address, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// URL under which clients reach the server [default: http://ADDRESS]
    #[arg(long, value_parser = values::base_url, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Certificate chain, PEM; read again on SIGHUP
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Key of the certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Refuse requests for another host with 421
    #[arg(long, hide_short_help = true)]
    strict_host: bool,
    /// Let web pages of any origin read the documents [default: true unless the base URL is on this machine]
    #[arg(long, value_name = "BOOL", hide_short_help = true)]
    cors: Option<bool>,
    /// Find changes by scanning only
    #[arg(long, hide_short_help = true)]
    no_watch: bool,
    /// Time between two full scans, with or without watches
    #[arg(long, default_value = "10m", value_parser = values::pause, value_name = "DURATION", hide_short_help = true)]
    scan_every: Duration,
    /// Minimum time between two publications; the first change is published at once
    #[arg(long, default_value = "500ms", value_parser = values::duration, value_name = "DURATION", hide_short_help = true)]
    interval: Duration,
    /// Do not answer batch requests (many resources in one request)
    #[arg(long, hide_short_help = true)]
    no_batch: bool,
    /// Also answer OAI-PMH 2.0 at `oai` below the base URL: XML resources are metadata, all others are described in Dublin Core
    #[arg(long, hide_short_help = true)]
    oai: bool,
    /// Name of the repository [default: the host]
    #[arg(long, value_name = "NAME", requires = "oai", hide_short_help = true)]
    oai_name: Option<String>,
    /// Address of the repository's administrator [default: postmaster of the host]
    #[arg(long, value_name = "EMAIL", value_parser = admin_email, requires = "oai", hide_short_help = true)]
    oai_email: Option<String>,
    /// Records in one response
    #[arg(long, default_value_t = 500, value_name = "N", value_parser = values::at_least_one::<usize>, requires = "oai", hide_short_help = true)]
    oai_part: usize,
    /// Also offer the changes as a collection of activities (IIIF Change Discovery); its objects have this type
    #[arg(long, value_name = "TYPE", value_parser = values::word, hide_short_help = true)]
    activities: Option<String>,
    /// Keep prior versions and serve them (Memento); stores all resources a second time
    #[arg(long, help_heading = VERSIONS)]
    versions: bool,
    /// Versions to keep per resource
    #[arg(long, requires = "versions", default_value_t = 100, value_name = "N", value_parser = values::at_least_one::<usize>, help_heading = VERSIONS, hide_short_help = true)]
    versions_count: usize,
    /// Time to keep a version after it was replaced
    #[arg(long, requires = "versions", default_value = "8760h", value_parser = values::duration, value_name = "DURATION",
        help_heading = VERSIONS, hide_short_help = true)]
    versions_age: Duration,
}

/// Reads the address of an administrator in the form that the schema of OAI-PMH has: the host has a dot.
fn admin_email(text: &str) -> Result<String, String> {
    let has_parts = text
        .split_once('@')
        .is_some_and(|(user, host)| !user.is_empty() && host.trim_matches('.').contains('.'));
    if has_parts && !text.contains(|character: char| character.is_whitespace() || character.is_control()) {
        Ok(text.to_owned())
    } else {
        Err(format!("{text:?} is not an address; write ops@example.org"))
    }
}

impl ServerArgs {
    /// Adds the settings to those of a server.
    ///
    /// Errors: the address is that of all interfaces, and there is no base URL; or a set has the name of the folder of
    /// activities.
    pub(crate) fn apply(self, options: &mut ServeOptions) -> anyhow::Result<()> {
        let listen = self.listen.unwrap_or_else(|| LISTEN.to_owned());
        let wildcard = ["0.0.0.0:", "[::]:", "*:", ":"].iter().any(|address| listen.starts_with(address));
        if wildcard && self.base_url.is_none() {
            bail!(
                "--listen {listen} needs --base-url: documents name the URL under which clients reach this server"
            );
        }
        if self.activities.is_some() && options.publish.sets.iter().any(|set| set.name == FOLDER_NAME) {
            bail!(
                "set: {FOLDER_NAME:?} is the name of the folder of --activities: give the set another name"
            );
        }
        options.listen = listen;
        options.tls = self.tls_cert.zip(self.tls_key);
        options.strict_host = self.strict_host;
        options.cors = self.cors;
        options.live.watch = !self.no_watch;
        options.live.scan_every = self.scan_every;
        options.live.interval = self.interval;
        options.batches = !self.no_batch;
        options.pages = Some(Arc::new(SourcePages::default()));
        if self.oai {
            let mut repository = RepositoryOptions::default();
            (repository.name, repository.admin_email) = (self.oai_name, self.oai_email);
            repository.part = self.oai_part;
            options.gateways.push(Arc::new(OaiGateway::new(&options.publish.state, repository)));
        }
        options.gateways.push(Arc::new(ActivityGateway::new(self.activities, options.publish.out.clone())));
        options.publish.versions = self.versions.then(|| {
            let mut versions = VersionOptions::default();
            (versions.count, versions.age) = (self.versions_count, self.versions_age);
            versions
        });
        Ok(())
    }
}

//! `instep serve`: publishes a folder continuously and serves it. The work is in `publication.rs`, which `republish`
//! shares.

use std::path::PathBuf;

use clap::Args;
use instep_source::serve::ServeOptions;

use crate::{
    args::{serving::ServingArgs, values},
    config::Config,
    exit::Exit,
    publication::serve_until_signal,
    runtime::Reload,
    ui::Output,
};

/// Publish a folder, keep its documents current, serve documents and resources
///
/// Answers requests once the first publication is complete. SIGHUP reloads configuration and certificates; SIGINT or
/// SIGTERM ends the server after the requests in flight.
#[derive(Debug, Args)]
#[command(after_help = HINT, after_long_help = EXAMPLES)]
pub(crate) struct ServeCommand {
    /// The folder whose files are the resources
    #[arg(value_parser = values::path)]
    dir: PathBuf,
    /// If another server publishes this Source, take its place when it ends
    ///
    /// With a catalogue in PostgreSQL this server meanwhile shows the same documents and announces the same changes.
    #[arg(long, hide_short_help = true)]
    standby: bool,
    #[command(flatten)]
    serving: ServingArgs,
}

const HINT: &str = "All options and examples: instep serve --help";

const EXAMPLES: &str = "\
Examples:
  instep serve ./data
  instep serve /srv/data --listen 0.0.0.0:80 --base-url http://data.example.org/
  instep serve /srv/data --listen 0.0.0.0:443 --base-url https://data.example.org/ --tls-cert chain.pem --tls-key key.pem";

impl ServeCommand {
    /// Runs the command.
    pub(crate) fn run(
        self,
        config: &Config,
        reload: Reload<'_, (Self, Config)>,
        output: &Output,
    ) -> anyhow::Result<Exit> {
        // Only at the start: a reload unpacks over the archive of this server itself. A server on standby replaces the
        // other one.
        if !self.standby {
            self.serving.source.refuse_served_archive(&self.dir)?;
        }
        let again = |is_forced| reload(is_forced)?.map(|(serve, config)| serve.options(&config)).transpose();
        serve_until_signal(self.options(config)?, &again, output)
    }

    fn options(self, config: &Config) -> anyhow::Result<ServeOptions> {
        let mut options = self.serving.options(&self.dir, config)?;
        options.stand_by = self.standby;
        Ok(options)
    }
}

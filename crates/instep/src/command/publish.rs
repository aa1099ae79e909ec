//! `instep publish`: writes or updates the documents of a folder.

use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, ValueEnum};
use instep_source::{DumpPolicy, ObjectPlace, PublishOptions, PublishReport};
use serde_json::json;

use crate::{
    activities,
    args::{
        headings::{DOCUMENTS, WHAT_TO_PUBLISH},
        source::SourceArgs,
        values,
        waiting::WaitArgs,
    },
    config::Config,
    exit::Exit,
    publication::{preview, publish_once_and},
    ui::{LineLevel, Output, format::counted},
    web_archive::Unpacked,
};

/// Publish a folder: write its documents as files that any web server can serve
///
/// Reads only files that changed since the last run, and rewrites only documents that change. Run it from cron or a
/// systemd timer. The last line counts resources: + new, ~ changed, - deleted, = as before.
#[derive(Debug, Args)]
#[command(after_help = HINT, after_long_help = EXAMPLES)]
pub(crate) struct PublishCommand {
    /// The folder whose files are the resources, or s3://BUCKET/PREFIX with its objects, which needs --state
    #[arg(value_parser = folder_or_objects)]
    dir: PathBuf,
    /// The URL at which the folder is served
    #[arg(long, value_parser = values::base_url, value_name = "URL", required_unless_present = "rebase", help_heading = WHAT_TO_PUBLISH)]
    base_url: Option<String>,
    /// Move the Source from one base URL to another, and keep its history
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], help_heading = WHAT_TO_PUBLISH, hide_short_help = true)]
    rebase: Vec<String>,
    /// Show what would be published; write nothing
    #[arg(short = 'n', long, help_heading = WHAT_TO_PUBLISH)]
    dry_run: bool,
    /// Also offer the changes as a collection of activities (IIIF Change Discovery); its objects have this type
    #[arg(long, value_name = "TYPE", value_parser = values::word, help_heading = DOCUMENTS, hide_short_help = true)]
    activities: Option<String>,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten, next_help_heading = WHAT_TO_PUBLISH)]
    wait: WaitArgs,
    /// Print how to set up this web server for the Source; publish nothing
    #[arg(long, value_name = "SERVER", help_heading = WHAT_TO_PUBLISH)]
    host_setup: Option<WebServer>,
    /// Only `serve` can do this
    #[arg(long, hide = true)]
    versions: bool,
}

/// A web server that can serve the files of a publication.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum WebServer {
    Nginx,
    Apache,
    Caddy,
}

const HINT: &str = "All options and examples: instep publish --help";

const EXAMPLES: &str = "\
Examples:
  instep publish /srv/data --base-url https://example.org/data/
  instep publish /srv/data --base-url https://example.org/data/ --dry-run
  instep publish /srv/data --base-url https://example.org/ --exclude 'drafts/**' --hash md5,sha-256
  instep publish /srv/data --base-url https://example.org/data/ --host-setup nginx
  instep publish /srv/data --base-url https://data.example.org/ --out s3://data.example.org
  instep publish s3://library/data --base-url https://example.org/data/ --state /var/lib/instep
  instep publish /mnt/readonly --base-url https://example.org/ --out /srv/documents --state /var/lib/instep";

impl PublishCommand {
    /// Runs the command.
    pub(crate) fn run(mut self, config: &Config, output: &Output) -> anyhow::Result<Exit> {
        self.refuse_what_files_cannot_do()?;
        let base_url = moved_to(&self.rebase, self.base_url)?.unwrap_or_default();
        let scratch = self.dry_run.then(tempfile::tempdir).transpose()?;
        if let Some(scratch) = &scratch {
            self.source.show_in(scratch.path());
        }
        if let Some(place) = self.dir.to_str().filter(|text| ObjectPlace::is_meant(text)) {
            self.dir = self.source.take_from_objects(place)?;
        }
        let is_for_show = self.dry_run || self.host_setup.is_some();
        let (unpacked, draft) = if is_for_show {
            self.source.unpack_for_show(&self.dir, &base_url)?.unzip()
        } else {
            self.source.refuse_served_archive(&self.dir)?;
            (self.source.unpack(&self.dir, &base_url)?, None)
        };
        let has_faults = unpacked.is_some_and(|unpacked| show_faults(&unpacked, output));
        let mut options =
            self.source.options(&self.dir, &base_url, self.dir.clone(), DumpPolicy::Never, config)?;
        if let Some(draft) = &draft {
            draft.apply(&mut options);
        }
        options.rebase_from = self.rebase.into_iter().next();
        match (self.host_setup, self.dry_run) {
            (Some(server), _) => show_setup(server, &options, output),
            (None, true) => preview("publish", &options, output),
            (None, false) => {
                let update_activities = |_: &PublishReport| match &self.activities {
                    Some(kind) => {
                        let sets: Vec<_> = options.sets.iter().map(|set| set.name.clone()).collect();
                        activities::write(&options.out, &base_url, &sets, kind).map(drop)
                    }
                    None => withdraw_activities(&options, output),
                };
                match publish_once_and("publish", &options, self.wait, output, &update_activities)? {
                    Exit::Done if has_faults => Ok(Exit::Problems),
                    exit => Ok(exit),
                }
            }
        }
    }

    /// Refuses options that a publication as plain files, or one in object storage, cannot have.
    fn refuse_what_files_cannot_do(&self) -> anyhow::Result<()> {
        if self.versions {
            bail!(
                "Prior versions need a server, because plain files cannot answer requests by datetime; use \
                 instep serve --versions"
            );
        }
        if self.activities.is_some() && self.source.is_delivered() {
            bail!(
                "--activities writes into a folder, not into object storage; leave out one of --activities and --out s3://"
            );
        }
        Ok(())
    }
}

/// Returns the base URL of a publication that may move its Source; `None` if no option names one.
///
/// Errors: two options name different ones.
pub(super) fn moved_to(rebase: &[String], base_url: Option<String>) -> anyhow::Result<Option<String>> {
    let moved = rebase.get(1).cloned();
    if let (Some(new), Some(given)) = (&moved, &base_url)
        && new != given
    {
        bail!("--rebase moves the Source to {new}, but --base-url is {given}");
    }
    Ok(base_url.or(moved))
}

/// Removes the collection of activities of earlier publications, which would be served but not updated any more.
fn withdraw_activities(options: &PublishOptions, output: &Output) -> anyhow::Result<()> {
    if options.deliver_to.is_none() && activities::withdraw(&options.out)? {
        output.note("The collection of activities is removed, because --activities is not given any more");
    }
    Ok(())
}

fn folder_or_objects(text: &str) -> Result<PathBuf, String> {
    if ObjectPlace::is_meant(text) {
        ObjectPlace::parse(text).map(|_| text.into()).map_err(|error| error.to_string())
    } else {
        values::path(text)
    }
}

/// Reports the records of a web archive that cannot be published. Returns `true` if a record is invalid.
fn show_faults(unpacked: &Unpacked, output: &Output) -> bool {
    for fault in &unpacked.faults {
        let archive = unpacked.manifest.display().to_string();
        output.problem(LineLevel::Warn, fault, json!({ "subject": archive, "what": fault, "skipped": true }));
    }
    if unpacked.elsewhere > 0 {
        let elsewhere = counted(unpacked.elsewhere, "record");
        output.note(format!(
            "Left out, because their resources are not below the base URL: {elsewhere} of the archive"
        ));
    }
    !unpacked.faults.is_empty()
}

/// Prints the settings that the operator adds to the web server, so that readers find the Source (P13) and
/// cannot read its state (C17).
fn show_setup(server: WebServer, options: &PublishOptions, output: &Output) -> anyhow::Result<Exit> {
    let setup = instep_source::setup(options)?;
    let (name, directives) = match server {
        WebServer::Nginx => ("the server block of nginx", &setup.nginx),
        WebServer::Apache => ("the virtual host of Apache (mod_alias, mod_headers)", &setup.apache),
        WebServer::Caddy => ("the site block of Caddy", &setup.caddy),
    };
    output.line(format!("# Add to {name}:\n{}", directives.trim_end()));
    if !setup.robots.is_empty() {
        output.line(format!("\n# Add to the robots.txt of the host:\n{}", setup.robots.join("\n")));
    }
    output.object(
        "host",
        json!({
            "directives": directives,
            "well_known": setup.well_known.as_ref().map(|redirect| redirect.to.as_str()),
            "robots": setup.robots,
        }),
    );
    Ok(Exit::Done)
}

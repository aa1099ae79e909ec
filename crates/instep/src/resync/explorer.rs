//! `resync-explorer`: translates its options into those of `instep explore`.

use anyhow::bail;
use clap::Parser;

use super::translation::{NO_LOG, NO_REGEX, NO_SPLIT, Translated, document_uri, refuse};

/// Show the documents of a Source as resync-explorer does, with the options of the reference client
///
/// The whole tree is shown at once instead of asking for each step.
#[derive(Debug, Parser)]
#[command(name = "resync-explorer", infer_long_args = true, max_term_width = 100)]
pub(super) struct ResyncExplorer {
    /// URI of a document
    #[arg(long, value_name = "URI")]
    sitemap: Option<String>,
    /// Bearer token for the origin of the Source
    #[arg(long, value_name = "TOKEN")]
    access_token: Option<String>,
    /// Seconds between two requests
    #[arg(long, value_name = "SECONDS")]
    delay: Option<f64>,
    /// Accepted
    #[arg(short, long)]
    verbose: bool,
    /// Accepted: documents of both versions are read
    #[arg(long, value_name = "VERSION", value_parser = ["1.0", "1.1"])]
    spec_version: Option<String>,
    /// Accepted: nothing is hashed
    #[arg(long, value_name = "HASH")]
    hash: Vec<String>,
    /// Accepted, as --hash
    #[arg(long)]
    checksum: bool,
    #[arg(long, hide = true)]
    outfile: Option<String>,
    #[arg(long, hide = true)]
    paths: Option<String>,
    #[arg(long, hide = true)]
    reference: Option<String>,
    #[arg(long, hide = true)]
    newreference: Option<String>,
    #[arg(long, hide = true)]
    dump: Option<String>,
    #[arg(long, alias = "change-list-uri", hide = true)]
    changelist_uri: Option<String>,
    #[arg(long, hide = true)]
    from: Option<String>,
    #[arg(long, hide = true)]
    exclude: Vec<String>,
    #[arg(long, hide = true)]
    noauth: bool,
    #[arg(short, long, hide = true)]
    multifile: bool,
    #[arg(long, hide = true)]
    max_sitemap_entries: Option<u32>,
    #[arg(short, long, hide = true)]
    logger: bool,
    #[arg(long, hide = true)]
    logfile: Option<String>,
}

impl ResyncExplorer {
    /// Returns the equivalent command.
    ///
    /// Errors: an option has no counterpart, or no document is named.
    pub(super) fn translate(&self) -> anyhow::Result<Translated> {
        let unused = "the reference client does not use this option here";
        let no_hosts =
            "hosts are trusted one by one; use instep explore --allow-origin https://HOST for each";
        refuse(&[
            ("--outfile", self.outfile.is_some(), unused),
            ("--paths", self.paths.is_some(), unused),
            ("--reference", self.reference.is_some(), unused),
            ("--newreference", self.newreference.is_some(), unused),
            ("--dump", self.dump.is_some(), unused),
            ("--changelist-uri", self.changelist_uri.is_some(), unused),
            ("--from", self.from.is_some(), unused),
            ("--exclude", !self.exclude.is_empty(), NO_REGEX),
            ("--noauth", self.noauth, no_hosts),
            ("--multifile", self.multifile, NO_SPLIT),
            ("--max-sitemap-entries", self.max_sitemap_entries.is_some(), NO_SPLIT),
            ("--logger", self.logger, NO_LOG),
            ("--logfile", self.logfile.is_some(), NO_LOG),
        ])?;
        let Some(url) = &self.sitemap else { bail!("Name a document of the Source: --sitemap URI") };
        let mut arguments = vec!["explore".to_owned(), document_uri("--sitemap", url)?.to_owned()];
        if let Some(delay) = self.delay.filter(|delay| *delay > 0.0) {
            arguments.push(format!("--rate={}/h", 3600.0 / delay));
        }
        Ok(Translated { arguments, bearer: self.access_token.clone() })
    }
}

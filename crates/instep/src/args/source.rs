//! Options of a Source: what is published, and how.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::bail;
use clap::{Args, ValueEnum};
use instep_source::{Archives, DumpPolicy, PatchOptions, PublishOptions};
use resourcesync::{Algorithm, Uri, xml::SpecVersion};

use super::{
    rules::Rules,
    sets::{content_from, sets},
    values,
};
use crate::config::Config;

/// What is published, and how.
#[derive(Debug, Args)]
#[command(next_help_heading = "Publication")]
pub(crate) struct Source {
    /// Where the documents go [default: the folder itself; serve: DIR/.instep/documents]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Where the catalogue is [default: DIR/.instep]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Resources from a CSV or JSON Lines file, or from the copy in a folder, instead of DIR; - is standard input
    #[arg(long, value_name = "MANIFEST")]
    from: Option<PathBuf>,
    /// Only files whose path matches
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    /// No files whose path matches
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Digests to publish: md5, sha-1, sha-256, sha-384, sha-512
    #[arg(long, value_delimiter = ',', default_value = "sha-256", value_name = "ALGORITHMS", value_parser = algorithm)]
    hash: Vec<Algorithm>,
    /// A description of the Source [default: a small page]
    #[arg(long, value_name = "URI")]
    describedby: Option<Uri>,
    /// A description of the set of resources [default: a small page]
    #[arg(long, value_name = "URI")]
    set_describedby: Option<Uri>,
    /// For readers of which version of the standard; 1.0 adds lastmod = time of the change
    #[arg(long, default_value = "1.1", value_name = "VERSION")]
    spec_version: Version,
    /// One plain Change List instead of an index over lists
    #[arg(long)]
    single_changelist: bool,
    /// Renew the Resource List now
    #[arg(long)]
    snapshot: bool,
    /// Renew the Resource List of a large set when it is older
    #[arg(long, default_value = "24h", value_parser = values::duration, value_name = "DURATION")]
    snapshot_every: Duration,
    /// Whether to offer a Resource Dump: auto offers it up to 1 GiB
    #[arg(long, value_name = "WHEN")]
    dump: Option<Dump>,
    /// Offer a Change Dump; past states are kept for it
    #[arg(long)]
    change_dump: bool,
    /// Pack the changes that no package has yet when the oldest is older [default: publish: at once; serve: 1h]
    #[arg(long, value_parser = values::duration, value_name = "DURATION")]
    change_dump_every: Option<Duration>,
    /// Offer patches for changed resources; the bytes of all resources up to --patch-max are kept once more for it
    #[arg(long)]
    patches: bool,
    /// Offer a patch that is smaller than this share of the resource
    #[arg(long, default_value = "50%", value_parser = values::percent, value_name = "PERCENT")]
    patch_share: u8,
    /// Make patches for resources up to this size
    #[arg(long, default_value = "8MiB", value_parser = values::size, value_name = "SIZE")]
    patch_max: u64,
    /// Keep so many bytes of past states, for Change Dumps and patches; the oldest go first
    #[arg(long, default_value = "1GiB", value_parser = values::size, value_name = "SIZE")]
    keep_bytes: u64,
    /// Keep closed and superseded documents, and offer archives
    #[arg(long)]
    archives: bool,
    /// Write a .gz twin of each document
    #[arg(long)]
    gzip: bool,
    /// Write a plain Sitemap for search engines too
    #[arg(long)]
    sitemap: bool,
    /// Leave robots.txt alone
    #[arg(long)]
    no_robots: bool,
}

/// A version of the standard.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Version {
    #[value(name = "1.0")]
    V1_0,
    #[value(name = "1.1")]
    V1_1,
}

/// Whether there is a Resource Dump.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Dump {
    Auto,
    Always,
    Never,
}

fn algorithm(text: &str) -> Result<Algorithm, String> {
    match Algorithm::parse(text.trim()) {
        Algorithm::Other(name) => {
            Err(format!("{name} cannot be computed; use md5, sha-1, sha-256, sha-384 or sha-512"))
        }
        known => Ok(known),
    }
}

impl Source {
    /// Whether it says where documents go.
    pub(crate) fn names_out(&self) -> bool {
        self.out.is_some()
    }

    /// The same with another folder for the catalogue, where none is named.
    pub(crate) fn with_state(mut self, state: PathBuf) -> Self {
        self.state.get_or_insert(state);
        self
    }

    /// The options of a folder that is published at a base URL; its documents go to `documents`, and it offers
    /// dumps as `dumps` says, unless the command line says otherwise.
    pub(crate) fn options(
        self,
        folder: &Path,
        base_url: &str,
        documents: PathBuf,
        dumps: DumpPolicy,
        config: &Config,
    ) -> anyhow::Result<PublishOptions> {
        if !folder.is_dir() {
            bail!("{} is not a folder", folder.display());
        }
        let mut options = PublishOptions::new(folder, base_url);
        if let Some(sets) = sets(config, folder)? {
            options.sets = sets;
        } else if let Some(path) = self.from {
            options.sets[0].content = vec![content_from(path, folder, None)?];
        }
        let rules = Rules::read(config)?;
        for set in &mut options.sets {
            rules.add_to(set);
            set.include.extend(self.include.iter().cloned());
            set.exclude.extend(self.exclude.iter().cloned());
            set.described_by = set.described_by.take().or_else(|| self.set_describedby.clone());
        }
        options.out =
            self.out.unwrap_or_else(|| match (documents.strip_prefix(&options.state), &self.state) {
                (Ok(inside), Some(state)) => state.join(inside),
                _ => documents.clone(),
            });
        if let Some(state) = self.state {
            options.state = state;
        }
        options.hash = self.hash;
        options.described_by = self.describedby;
        options.spec_version = match self.spec_version {
            Version::V1_0 => SpecVersion::V1_0,
            Version::V1_1 => SpecVersion::V1_1,
        };
        options.lists.single_changelist = self.single_changelist;
        options.lists.snapshot = self.snapshot;
        options.lists.snapshot_every = self.snapshot_every;
        options.dumps.policy = match self.dump {
            Some(Dump::Auto) => DumpPolicy::Auto,
            Some(Dump::Always) => DumpPolicy::Always,
            Some(Dump::Never) => DumpPolicy::Never,
            None => dumps,
        };
        options.dumps.changes = self.change_dump;
        options.dumps.changes_every = self.change_dump_every;
        options.keep_states = self.change_dump;
        options.keep_bytes = self.keep_bytes;
        options.patches = self.patches.then(|| {
            let mut patches = PatchOptions::default();
            (patches.share, patches.most_bytes) = (self.patch_share, self.patch_max);
            patches
        });
        options.archives = self.archives.then(Archives::default);
        options.gzip_twins = self.gzip;
        options.sitemap_twin = self.sitemap;
        options.robots = !self.no_robots;
        Ok(options)
    }
}

//! Options of a Source: its content and its documents. The options of a server are in `server.rs`.

mod archive;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use instep_destination::MaxDelete;
use instep_oai::RepositoryUrl;
use instep_source::{DumpPolicy, MaxDeletions, ObjectPlace, PublishOptions, Unreadable};
use resourcesync::{Algorithm, Uri, xml::SpecVersion};

use super::{
    content::{ContentArgs, ContentPlace},
    documents_out::{DocumentsOut, folder_and_delivery},
    folders,
    headings::{DOCUMENTS, WHAT_TO_PUBLISH},
    packages::PackageArgs,
    rules::Rules,
    sets::sets,
    values,
};
use crate::{config::Config, pages::STYLESHEET};

/// The content of a Source and the documents made of it.
#[derive(Debug, Args)]
#[command(next_help_heading = WHAT_TO_PUBLISH)]
pub(crate) struct SourceArgs {
    /// Only files whose path matches, such as '*.pdf' or 'letters/**'
    #[arg(long, value_name = "PATTERN")]
    include: Vec<String>,
    /// No files whose path matches; wins over --include
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Take the resources from a CSV or JSON Lines file (- is standard input), a copy, a web archive (a WARC file or a folder
    /// of them), an OAI-PMH repository (`oai+https://...`) or object storage (`s3://BUCKET/PREFIX`), not from DIR
    #[arg(long, value_name = "ORIGIN", hide_short_help = true)]
    from: Option<PathBuf>,
    #[command(flatten)]
    content_args: ContentArgs,
    /// Folder for the documents; without a server also s3://BUCKET/PREFIX [default: DIR; serve: STATE/documents]
    #[arg(long, value_parser = DocumentsOut::parse, value_name = "DIR", help_heading = DOCUMENTS)]
    out: Option<DocumentsOut>,
    /// URL of the object storage of --out, if it is not that of AWS [default: AWS_ENDPOINT_URL]
    #[arg(long, value_name = "URL", help_heading = DOCUMENTS, hide_short_help = true)]
    endpoint_url: Option<String>,
    /// Folder for the catalogue, and what else a Source keeps [default: DIR/.instep]
    #[arg(long, value_parser = values::path, value_name = "DIR", help_heading = DOCUMENTS, hide_short_help = true)]
    state: Option<PathBuf>,
    /// Keep the catalogue in PostgreSQL: postgres://USER@HOST/DATABASE [default: where it is; a new one in the folder of --state]
    #[arg(long, value_name = "URL", help_heading = DOCUMENTS, hide_short_help = true)]
    catalogue: Option<String>,
    /// Digests: md5, sha-1, sha-256, sha-384, sha-512
    #[arg(long, value_delimiter = ',', default_value = "sha-256", value_name = "ALGORITHMS", value_parser = algorithm,
        help_heading = DOCUMENTS)]
    hash: Vec<Algorithm>,
    /// URI of a description of the Source [default: a small page]
    #[arg(long, value_name = "URI", help_heading = DOCUMENTS, hide_short_help = true)]
    describedby: Option<Uri>,
    /// URI of a description of the set of resources [default: a small page]
    #[arg(long, value_name = "URI", help_heading = DOCUMENTS, hide_short_help = true)]
    set_describedby: Option<Uri>,
    /// Version of the standard to write; 1.0 adds lastmod = time of the change
    #[arg(long, default_value = "1.1", value_parser = values::spec_version(), value_name = "VERSION",
        help_heading = DOCUMENTS, hide_short_help = true)]
    spec_version: SpecVersion,
    /// Write one plain Change List instead of an index of lists
    #[arg(long, help_heading = DOCUMENTS, hide_short_help = true)]
    single_changelist: bool,
    /// Renew the Resource List now
    #[arg(long, help_heading = DOCUMENTS, hide_short_help = true)]
    snapshot: bool,
    /// Renew the Resource List of a large set when it is older than this
    #[arg(long, default_value = "24h", value_parser = values::duration, value_name = "DURATION",
        help_heading = DOCUMENTS, hide_short_help = true)]
    snapshot_every: Duration,
    /// Write a .gz twin of each document
    #[arg(long, help_heading = DOCUMENTS, hide_short_help = true)]
    gzip: bool,
    /// Replace files at the names of documents that this Source did not write
    #[arg(long, help_heading = DOCUMENTS, hide_short_help = true)]
    overwrite_documents: bool,
    /// Name an XSL stylesheet in each document, so that browsers that still support XSLT show it as a page
    #[arg(long, help_heading = DOCUMENTS, hide_short_help = true)]
    stylesheet: bool,
    /// Also write a plain Sitemap for search engines
    #[arg(long, help_heading = DOCUMENTS, hide_short_help = true)]
    sitemap: bool,
    /// Do not write robots.txt
    #[arg(long, help_heading = DOCUMENTS, hide_short_help = true)]
    no_robots: bool,
    #[command(flatten)]
    packages: PackageArgs,
    /// Close the open Change List after this many changes
    #[arg(long, default_value_t = 5_000, value_parser = values::at_least_one::<usize>, value_name = "N",
        help_heading = DOCUMENTS, hide_short_help = true)]
    rotate_entries: usize,
    /// Close the open Change List this long after its first change
    #[arg(long, default_value = "24h", value_parser = values::duration, value_name = "DURATION",
        help_heading = DOCUMENTS, hide_short_help = true)]
    rotate_after: Duration,
    /// List at most this many closed Change Lists, and packages of changes; older ones are archived or removed
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = values::number::<usize>, help_heading = DOCUMENTS, hide_short_help = true)]
    closed_lists: usize,
    /// Publish at most this many deletions at once: a number or a percentage [default: 10 or 10%, the larger]
    #[arg(long, value_name = "N", help_heading = DOCUMENTS, hide_short_help = true)]
    max_delete: Option<MaxDelete>,
    /// Allow the last resource of a set to be published as deleted
    #[arg(long, help_heading = DOCUMENTS, hide_short_help = true)]
    allow_empty: bool,
    /// Files that not everybody may read: skip them (their published entries stay), or fail
    #[arg(long, default_value = "skip", value_name = "WHAT", help_heading = WHAT_TO_PUBLISH, hide_short_help = true)]
    publish_unreadable: WhenUnreadable,
}

/// Treatment of files that not everybody may read.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum WhenUnreadable {
    Fail,
    Skip,
}

fn algorithm(text: &str) -> Result<Algorithm, String> {
    match Algorithm::parse(text.trim()) {
        Algorithm::Other(name) => {
            Err(format!("{name} cannot be computed; use md5, sha-1, sha-256, sha-384 or sha-512"))
        }
        known => Ok(known),
    }
}

/// Returns the limit of the library for a limit as both `publish` and `sync` read it.
fn most_deletions(limit: MaxDelete) -> MaxDeletions {
    match limit {
        MaxDelete::Default => MaxDeletions::Default,
        MaxDelete::Count(count) => MaxDeletions::Count(count),
        MaxDelete::Percent(percent) => MaxDeletions::Percent(percent),
    }
}

impl SourceArgs {
    /// Returns the folder of the state.
    pub(crate) fn state(&self, folder: &Path) -> PathBuf {
        self.state.clone().unwrap_or_else(|| folders::state(folder, None))
    }

    /// Returns `true` if a folder for the documents is named.
    pub(crate) fn names_out(&self) -> bool {
        self.out.is_some()
    }

    /// Returns `true` if the documents go to object storage.
    pub(crate) fn is_delivered(&self) -> bool {
        self.out.as_ref().is_some_and(|out| out.objects().is_some())
    }

    /// Replaces missing folders by those below a temporary one, because a dry run makes none.
    pub(crate) fn show_in(&mut self, scratch: &Path) {
        self.content_args.scratch = Some(scratch.to_owned());
    }

    /// Takes the resources from a place in object storage. Returns the folder for the catalogue and the documents, which is
    /// made if it is not there; in a dry run a temporary one takes its place.
    ///
    /// Errors: no folder is named, or it cannot be made.
    pub(crate) fn take_from_objects(&mut self, place: &str) -> anyhow::Result<PathBuf> {
        let Some(folder) = self.state.take() else {
            bail!("{place} has no room for the catalogue; name a folder for it with --state DIR");
        };
        let folder = match &self.content_args.scratch {
            Some(scratch) if !folder.exists() => scratch.join("objects"),
            _ => folder,
        };
        fs::create_dir_all(&folder).with_context(|| format!("Cannot make {}", folder.display()))?;
        self.from = Some(place.into());
        Ok(folder)
    }

    /// Sets the folder of the catalogue if none is named.
    pub(crate) fn with_state(mut self, state: PathBuf) -> Self {
        self.state.get_or_insert(state);
        self
    }

    /// Returns the settings for a folder that is published at a base URL. `documents` and `dumps` are the defaults
    /// for the place of documents and for dumps.
    ///
    /// Errors: the folder is missing, the configuration is invalid, or options contradict it or each other.
    pub(crate) fn options(
        self,
        folder: &Path,
        base_url: &str,
        documents: PathBuf,
        dumps: DumpPolicy,
        config: &Config,
    ) -> anyhow::Result<PublishOptions> {
        folders::refuse_missing(folder)?;
        let mut options = PublishOptions::new(folder, base_url);
        options.guard.allow_empty = self.allow_empty;
        options.guard.most = most_deletions(self.max_delete.unwrap_or_default());
        self.set_content(folder, config, &mut options)?;
        let rules = Rules::read(config)?;
        for set in &mut options.sets {
            rules.add_to(set);
            set.include.extend(self.include.iter().cloned());
            set.exclude.extend(self.exclude.iter().cloned());
            set.described_by = set.described_by.take().or_else(|| self.set_describedby.clone());
        }
        let documents = match (documents.strip_prefix(&options.state), &self.state) {
            (Ok(inside), Some(state)) => state.join(inside),
            _ => documents,
        };
        if let Some(state) = self.state {
            options.state = state;
        }
        (options.out, options.deliver_to) =
            folder_and_delivery(self.out, self.endpoint_url, &options.state, documents)?;
        options.catalogue = self.catalogue;
        options.hash = self.hash;
        options.described_by = self.describedby;
        options.spec_version = self.spec_version;
        options.lists.single_changelist = self.single_changelist;
        options.lists.snapshot = self.snapshot;
        options.lists.snapshot_every = self.snapshot_every;
        self.packages.apply(dumps, &mut options);
        options.lists.rotation.entries = self.rotate_entries as u64;
        options.lists.rotation.age = self.rotate_after;
        options.lists.closed_lists = self.closed_lists;
        options.unreadable = match self.publish_unreadable {
            WhenUnreadable::Fail => Unreadable::Fail,
            WhenUnreadable::Skip => Unreadable::Skip,
        };
        options.gzip_twins = self.gzip;
        options.stylesheet = self.stylesheet.then(|| STYLESHEET.into());
        options.sitemap_twin = self.sitemap;
        options.overwrite_documents = self.overwrite_documents;
        options.robots = !self.no_robots;
        Ok(options)
    }

    /// Sets the content of each set: the places of `[[set]]`, or the one that `--from` names. Otherwise the folder is the
    /// content.
    fn set_content(
        &self,
        folder: &Path,
        config: &Config,
        options: &mut PublishOptions,
    ) -> anyhow::Result<()> {
        let mut content_args = self.content_args.clone();
        content_args.hash.clone_from(&self.hash);
        content_args.guard = options.guard;
        content_args.documents = self.out.as_ref().and_then(DocumentsOut::objects).cloned();
        let from = self.from.as_deref().and_then(Path::to_str);
        let has_objects = from.is_some_and(ObjectPlace::is_meant);
        if !from.is_some_and(RepositoryUrl::is_meant) && config.shared("set").is_none() {
            content_args.refuse_harvest_options()?;
        }
        if let Some(sets) = sets(config, folder, &content_args)? {
            if let Some(from) = &self.from {
                bail!(
                    "{} has [[set]], each with its own resources, so {} would not be read: write from = {:?} in one of \
                     them, or use another --config",
                    config.path().display(),
                    from.display(),
                    from.display().to_string()
                );
            }
            options.sets = sets;
        } else if content_args.names_inventory() && !has_objects {
            bail!("--inventory replaces the listing of a bucket; publish s3://BUCKET/PREFIX with it");
        } else if let Some(path) = self.from.clone() {
            let place =
                ContentPlace { root: folder, prefix: None, set: "", full_texts: false, inventory: None };
            options.sets[0].content = vec![content_args.content(path, place, config)?];
        }
        Ok(())
    }
}

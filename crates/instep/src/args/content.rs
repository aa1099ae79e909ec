//! Options for resources that come from elsewhere: a manifest, a copy, a repository.

use std::{
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, bail};
use clap::Args;
use instep_destination::{AccessOptions, Contents};
use instep_oai::{HarvestOptions, HarvestedRepository, RepositoryUrl};
use instep_source::{BucketContent, Content, DeletionGuard, ObjectPlace, Supply};
use resourcesync::Algorithm;

use super::{access::credentials, headings::WHAT_TO_PUBLISH, values};
use crate::{config::Config, copy::CopyContent, web_archive::way_to_warc};

/// The treatment of resources that come from elsewhere.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = WHAT_TO_PUBLISH)]
pub(crate) struct ContentArgs {
    /// Also fetch the full texts that harvested records name
    #[arg(long, hide_short_help = true)]
    full_text: bool,
    /// Fetch full texts from this origin too, such as `https://files.example.org`; the repository's own host is allowed
    #[arg(long, value_name = "ORIGIN", hide_short_help = true)]
    full_text_from: Vec<String>,
    /// Time between two harvests of a repository while serving; `publish` harvests each time [default: 1h]
    #[arg(long, value_parser = values::duration, value_name = "DURATION", hide_short_help = true)]
    harvest_every: Option<Duration>,
    /// Time between two comparisons of all records with a repository that lists no deletions [default: 24h]
    #[arg(long, value_parser = values::duration, value_name = "DURATION", hide_short_help = true)]
    inventory_every: Option<Duration>,
    /// Read the objects of a bucket from an inventory that the service writes as CSV: its `manifest.json`, or the folder
    /// of its inventories to use the newest
    #[arg(long, value_name = "s3://BUCKET/PATH", value_parser = object_place, hide_short_help = true)]
    inventory: Option<ObjectPlace>,
    /// The digests that are published.
    #[arg(skip)]
    pub(crate) hash: Vec<Algorithm>,
    /// The place in object storage that the documents are delivered to.
    #[arg(skip)]
    pub(crate) documents: Option<ObjectPlace>,
    /// The deletions that may be published.
    #[arg(skip)]
    pub(crate) guard: DeletionGuard,
    /// The folder that a dry run uses in the place of one that is not there; `None` if what is missing is made.
    #[arg(skip)]
    pub(crate) scratch: Option<PathBuf>,
}

/// The place of a set's content: a folder on disk, and the URI that it is served at.
pub(crate) struct ContentPlace<'a> {
    /// The folder that is published.
    pub(crate) root: &'a Path,
    /// The prefix of the URIs; `None` for the base URL.
    pub(crate) prefix: Option<String>,
    /// The name of the set; empty for the only one.
    pub(crate) set: &'a str,
    /// `true` if the set includes full texts.
    pub(crate) full_texts: bool,
    /// The inventory of the set; `None` for that of the options.
    pub(crate) inventory: Option<ObjectPlace>,
}

impl ContentArgs {
    /// Returns `true` if an inventory of a bucket is named.
    pub(crate) fn names_inventory(&self) -> bool {
        self.inventory.is_some()
    }

    /// Refuses the options that have an effect on a harvested repository only. It is called if none is harvested.
    ///
    /// Errors: one of these options is given.
    pub(crate) fn refuse_harvest_options(&self) -> anyhow::Result<()> {
        let given = [
            ("--full-text", self.full_text),
            ("--full-text-from", !self.full_text_from.is_empty()),
            ("--harvest-every", self.harvest_every.is_some()),
            ("--inventory-every", self.inventory_every.is_some()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) => {
                bail!("{name} is for a harvested repository; publish --from oai+https://... with it")
            }
            None => Ok(()),
        }
    }

    /// Returns content other than a folder: a manifest, a republished copy, a repository, or objects.
    ///
    /// Errors: a copy that cannot be opened, a missing manifest, or a URL that is not that of a repository.
    pub(crate) fn content(
        &self,
        from: PathBuf,
        place: ContentPlace<'_>,
        config: &Config,
    ) -> anyhow::Result<Content> {
        if let Some(url) = from.to_str().filter(|text| RepositoryUrl::is_meant(text)) {
            return self.repository(&RepositoryUrl::parse(url)?, place, config);
        }
        if place.full_texts {
            bail!("{} is no repository, so full-text has nothing to fetch; leave it out", from.display());
        }
        if let Some(url) = from.to_str().filter(|text| ObjectPlace::is_meant(text)) {
            let mut objects = BucketContent::new(ObjectPlace::parse(url)?, place.root, self.hash.clone());
            if let Some(documents) = &self.documents {
                objects = objects.with_documents_at(documents);
            }
            if let Some(inventory) = place.inventory.or_else(|| self.inventory.clone()) {
                objects = objects.with_inventory(inventory);
            }
            return Ok(Content::Supplied { supply: Supply(Arc::new(objects)), prefix: place.prefix });
        }
        // A relative path begins at the current folder, as everywhere; if there is no such folder, at the published
        // one, because a `[[set]]` may name a copy below it.
        let folder = if from.is_dir() { from.clone() } else { place.root.join(&from) };
        if folder.is_dir() {
            if !Contents::are_at(&folder) {
                bail!(
                    "{} is a folder, but neither a copy of a Source nor a folder of WARC files. Give it as DIR, or as \
                     `content` of a set, to publish its files",
                    folder.display()
                );
            }
            return Ok(Arc::new(CopyContent::open(&folder)?).into_content(place.prefix));
        }
        if from != Path::new("-") {
            // Checked at the start, because a manifest that never existed is a mistyped name. One that is removed later
            // is a problem of that publication.
            std::fs::metadata(&from).map_err(|error| {
                let from = from.display().to_string();
                let advice = if from.starts_with("http://") || from.starts_with("https://") {
                    format!("For an OAI-PMH repository write oai+{from}; for a Source copy it first")
                } else {
                    "Check that the path is right".to_owned()
                };
                anyhow::anyhow!("Cannot read {from}: {error}. {advice}")
            })?;
        }
        if let Some(way) = way_to_warc(&from) {
            bail!("{} is a web archive, but no WARC file: {way}", from.display());
        }
        Ok(Content::Manifest { path: from, root: place.root.to_owned() })
    }

    fn repository(
        &self,
        url: &RepositoryUrl,
        place: ContentPlace<'_>,
        config: &Config,
    ) -> anyhow::Result<Content> {
        let mut access = AccessOptions::default();
        access.credentials = credentials(config)?;
        access.allow_origins.clone_from(&self.full_text_from);
        let http = access.http_options(&url.base).with_context(|| url.base.clone())?;
        let mut options = HarvestOptions::default();
        options.full_texts = self.full_text || place.full_texts;
        if !options.full_texts && !self.full_text_from.is_empty() {
            bail!("--full-text-from allows hosts of full texts; add --full-text");
        }
        options.every = self.harvest_every.unwrap_or(options.every);
        options.inventory_every = self.inventory_every.unwrap_or(options.inventory_every);
        options.guard = self.guard;
        let prefix = place
            .prefix
            .or_else(|| Some(place.set).filter(|set| !set.is_empty()).map(|set| format!("{set}/")));
        let below = prefix.as_deref().and_then(plain_folder).unwrap_or_else(|| place.set.into());
        let folder = match (place.root.join(&below), &self.scratch) {
            (folder, Some(scratch)) if !folder.exists() => scratch.join(below),
            (folder, _) => folder,
        };
        std::fs::create_dir_all(&folder).with_context(|| format!("Cannot make {}", folder.display()))?;
        let source = HarvestedRepository::new(url.clone(), folder, options, http)?;
        Ok(Content::Supplied { supply: Supply(Arc::new(source)), prefix })
    }
}

fn object_place(text: &str) -> Result<ObjectPlace, String> {
    ObjectPlace::parse(text).map_err(|error| error.to_string())
}

/// Returns the folder from which a web server serves the URIs of a prefix; `None` if the prefix is not below the base
/// URL, or has escapes or hidden folders.
fn plain_folder(prefix: &str) -> Option<PathBuf> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    let path = Path::new(prefix);
    let is_below = path
        .components()
        .all(|part| matches!(part, Component::Normal(name) if !name.as_encoded_bytes().starts_with(b".")));
    (prefix.bytes().all(is_plain) && is_below).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    /// A command line with these options alone.
    #[derive(Parser)]
    struct ContentLine {
        #[command(flatten)]
        content: ContentArgs,
    }

    #[test]
    fn o615_a_dry_run_makes_no_folder_for_the_records_of_a_repository() {
        let (published, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut arguments = ContentLine::parse_from(["publish"]).content;
        let content = |arguments: &ContentArgs| {
            let place = ContentPlace {
                root: published.path(),
                prefix: None,
                set: "papers",
                full_texts: false,
                inventory: None,
            };
            arguments.content("oai+http://127.0.0.1:9/oai".into(), place, &Config::default()).unwrap()
        };
        arguments.scratch = Some(scratch.path().to_owned());
        let _ = content(&arguments);
        assert!(!published.path().join("papers").exists() && scratch.path().join("papers").exists());
        arguments.scratch = None;
        let _ = content(&arguments);
        assert!(published.path().join("papers").exists());
    }

    #[test]
    fn only_a_plain_prefix_is_the_folder_of_its_records() {
        for (prefix, folder) in [
            ("museum/", Some("museum/")),
            ("a/b", Some("a/b")),
            ("https://example.org/x/", None),
            ("../x/", None),
            ("/x/", None),
            (".instep/", None),
            ("a%20b/", None),
        ] {
            assert_eq!(plain_folder(prefix).as_deref(), folder.map(Path::new), "{prefix}");
        }
    }
}

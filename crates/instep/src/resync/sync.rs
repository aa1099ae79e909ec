//! `resync-sync`: translates a baseline, an incremental synchronization, an audit or the output of one document into
//! `instep sync`, `audit`, `explore` or `validate`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{ArgGroup, Parser};
use resourcesync::DateTime;

use super::{
    status,
    translation::{NO_LOG, NO_REGEX, NO_SPLIT, Translated, document_uri, has_scheme, refuse},
};

/// Copy a Source as resync-sync does, with the options of the reference client
///
/// The command is translated into `instep sync`, `audit` or `explore`, which is printed and run.
#[derive(Debug, Parser)]
#[command(name = "resync-sync", infer_long_args = true, max_term_width = 100, after_help = HELP)]
#[command(group = ArgGroup::new("mode").required(true))]
pub(super) struct ResyncSync {
    /// Copy the resources of the Source
    #[arg(short, long, group = "mode")]
    baseline: bool,
    /// Apply the changes since the last run, or since --from
    #[arg(short, long, visible_alias = "inc", group = "mode")]
    incremental: bool,
    /// Compare the copy with the Source
    #[arg(short, long, group = "mode")]
    audit: bool,
    /// Show a document's kind and number of entries
    #[arg(short, long, group = "mode")]
    parse: bool,
    /// URI PATH, or any number of URI=PATH
    map: Vec<String>,
    /// URI of the Resource List
    #[arg(long, value_name = "URI")]
    sitemap: Option<String>,
    /// URI of the Capability List
    #[arg(long, visible_alias = "capability-list", value_name = "URI")]
    capabilitylist: Option<String>,
    /// URI of the Change List for --incremental
    #[arg(long, visible_alias = "change-list-uri", value_name = "URI")]
    changelist_uri: Option<String>,
    /// Begin --incremental here
    #[arg(long, value_name = "DATETIME")]
    from: Option<DateTime>,
    /// Delete resources that the Source deleted
    #[arg(long)]
    delete: bool,
    /// Show what would be done; write nothing
    #[arg(short = 'n', long)]
    dryrun: bool,
    /// Fetch from the exact origin of a document only
    #[arg(long)]
    strictauth: bool,
    /// Bearer token for the origin of the Source
    #[arg(long, value_name = "TOKEN")]
    access_token: Option<String>,
    /// Seconds between two requests
    #[arg(long, value_name = "SECONDS")]
    delay: Option<f64>,
    /// Attempts for a resource
    #[arg(short, long, value_name = "TRIES", value_parser = clap::value_parser!(u32).range(1..))]
    tries: Option<u32>,
    /// Timeout in seconds
    #[arg(short = 'T', long, value_name = "SECONDS")]
    timeout: Option<u32>,
    /// Print a line per resource
    #[arg(short, long)]
    verbose: bool,
    /// Accepted: the strongest digest that the Source offers is always verified
    #[arg(long, value_name = "HASH")]
    hash: Vec<String>,
    /// Accepted, as --hash
    #[arg(long)]
    checksum: bool,
    /// Accepted: the run always continues, and the exit code is 3
    #[arg(long)]
    ignore_failures: bool,
    /// Accepted: documents of both versions are read
    #[arg(long, value_name = "VERSION", value_parser = ["1.0", "1.1"])]
    spec_version: Option<String>,
    #[arg(long, hide = true)]
    noauth: bool,
    #[arg(long, hide = true)]
    exclude: Vec<String>,
    #[arg(short, long, hide = true)]
    multifile: bool,
    #[arg(long, hide = true)]
    max_sitemap_entries: Option<u32>,
    #[arg(short, long, hide = true)]
    eval: bool,
    #[arg(short, long, hide = true)]
    logger: bool,
    #[arg(long, hide = true)]
    logfile: Option<PathBuf>,
    #[arg(long, hide = true)]
    empty: bool,
    #[arg(long, hide = true)]
    reference: Option<String>,
    #[arg(long, hide = true)]
    newreference: Option<String>,
}

const HELP: &str = "\
Refused, with the reason: --noauth, --exclude, --multifile, --max-sitemap-entries, --eval, --logger, --logfile,
--empty, --reference, --newreference. Exit codes are those of instep: instep help exit-codes";

/// A URI of the Source and the folder for the resources below it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) uri: String,
    pub(super) folder: PathBuf,
}

impl ResyncSync {
    /// Returns the equivalent command.
    ///
    /// Errors: an option has no counterpart, or Source and folder are not named.
    pub(super) fn translate(&self) -> anyhow::Result<Translated> {
        self.refuse()?;
        let mappings = mappings(&self.map)?;
        if self.parse {
            return self.translate_parse(&mappings);
        }
        let [first, ..] = &mappings[..] else {
            bail!("Name the Source and the folder of the copy: URI PATH")
        };
        let folder = common_folder(&mappings)?;
        let url = self.url(first)?;
        let mut arguments = vec![if self.audit { "audit" } else { "sync" }.to_owned(), url.clone()];
        arguments.push(text(&folder)?);
        if !self.audit {
            // Paths in a copy begin after the folder of its URL, so a mapping is needed if it has another beginning.
            for mapping in mappings.iter().filter(|mapping| mappings.len() > 1 || mapping.differs_from(&url))
            {
                let below = mapping.folder.strip_prefix(&folder).unwrap_or(Path::new("."));
                let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
                arguments.push(format!("--map={}={}", mapping.uri, text(below)?));
            }
            self.translate_transfer(first, &folder, &mut arguments);
        }
        self.translate_access(&mut arguments)?;
        Ok(Translated { arguments, bearer: self.access_token.clone() })
    }

    fn refuse(&self) -> anyhow::Result<()> {
        let no_build = "this option belongs to resync-build";
        refuse(&[
            (
                "--noauth",
                self.noauth,
                "hosts are trusted one by one; use instep sync --allow-origin https://HOST for each",
            ),
            ("--exclude", !self.exclude.is_empty(), NO_REGEX),
            ("--multifile", self.multifile, NO_SPLIT),
            ("--max-sitemap-entries", self.max_sitemap_entries.is_some(), NO_SPLIT),
            ("--eval", self.eval, "use --verbose, or instep sync --events FILE for programs"),
            ("--logger", self.logger, NO_LOG),
            ("--logfile", self.logfile.is_some(), NO_LOG),
            ("--empty", self.empty, no_build),
            ("--reference", self.reference.is_some(), no_build),
            ("--newreference", self.newreference.is_some(), no_build),
        ])
    }

    /// Returns the URL of the document that an option names, or else of the Source.
    fn url(&self, first: &Mapping) -> anyhow::Result<String> {
        Ok(match (&self.changelist_uri, &self.sitemap, &self.capabilitylist) {
            (Some(changes), ..) if self.incremental && has_scheme(changes) => changes.clone(),
            // The reference client looks for such a name below the URI of the Source.
            (Some(changes), ..) if self.incremental => format!("{}/{changes}", first.uri),
            (_, Some(list), _) => document_uri("--sitemap", list)?.to_owned(),
            (_, _, Some(list)) => document_uri("--capabilitylist", list)?.to_owned(),
            _ => format!("{}/", first.uri),
        })
    }

    fn translate_parse(&self, mappings: &[Mapping]) -> anyhow::Result<Translated> {
        let url = match (&self.sitemap, mappings) {
            (Some(sitemap), _) if Path::new(sitemap).is_file() => sitemap.clone(),
            (Some(sitemap), _) => document_uri("--sitemap", sitemap)?.to_owned(),
            (None, [first, ..]) => format!("{}/", first.uri),
            (None, []) => bail!("Name the document: --sitemap URI"),
        };
        let command = if Path::new(&url).is_file() { "validate" } else { "explore" };
        let mut arguments = vec![command.to_owned(), url];
        self.translate_access(&mut arguments)?;
        Ok(Translated { arguments, bearer: self.access_token.clone() })
    }

    fn translate_transfer(&self, first: &Mapping, folder: &Path, arguments: &mut Vec<String>) {
        let mut add = |given: bool, option: &str| given.then(|| arguments.push(option.to_owned()));
        add(self.delete, "--delete");
        add(self.dryrun, "--dry-run");
        // The reference client keeps its state in its working folder.
        let list = self.sitemap.clone().unwrap_or_else(|| format!("{}/resourcelist.xml", first.uri));
        let last_change = status::last_change(Path::new("."), &list);
        add(last_change.is_some(), "--adopt");
        let is_copy = folder.join(".instep").exists();
        // A baseline of the reference client looks at the files, and a run over a copy only at what it has recorded.
        add(self.baseline && is_copy, "--repair");
        let beginning = self.from.or(last_change.filter(|_| !is_copy)).filter(|_| self.incremental);
        if let Some(beginning) = beginning {
            arguments.push(format!("--since={beginning}"));
        }
    }

    fn translate_access(&self, arguments: &mut Vec<String>) -> anyhow::Result<()> {
        if self.strictauth {
            arguments.push("--strict-origin".into());
        }
        if let Some(delay) = self.delay {
            if !(delay.is_finite() && delay >= 0.0) {
                bail!("--delay: {delay} is not a number of seconds");
            }
            if delay > 0.0 {
                arguments.push(format!("--rate={}/h", 3600.0 / delay));
            }
        }
        if let Some(tries) = self.tries {
            arguments.push(format!("--retries={}", tries - 1));
        }
        if let Some(seconds) = self.timeout {
            arguments.push(format!("--timeout={seconds}s"));
        }
        if self.verbose {
            arguments.push("--verbose".into());
        }
        Ok(())
    }
}

impl Mapping {
    fn new(uri: &str, folder: &str) -> Self {
        Self { uri: uri.trim_end_matches('/').to_owned(), folder: folder.into() }
    }

    /// Returns `true` if resources below the URI would have other paths without the mapping.
    fn differs_from(&self, url: &str) -> bool {
        url.rsplit_once('/').is_none_or(|(base, _)| base != self.uri)
    }
}

/// Reads `URI PATH`, any number of `URI=PATH`, or a URI alone, from which the name of the folder is made.
pub(super) fn mappings(given: &[String]) -> anyhow::Result<Vec<Mapping>> {
    match given {
        [uri] if !uri.contains('=') => Ok(vec![Mapping::new(uri, &folder_of(uri))]),
        [uri, folder] if !uri.contains('=') && !folder.contains('=') => Ok(vec![Mapping::new(uri, folder)]),
        _ => given
            .iter()
            .map(|mapping| {
                let (uri, folder) = mapping.split_once('=').context("Write mappings as URI=PATH")?;
                Ok(Mapping::new(uri, folder))
            })
            .collect(),
    }
}

/// Returns the folder that the reference client chooses for a URI: host and path, with one `_` for any characters that
/// are not letters, digits, `-` or `.`.
fn folder_of(uri: &str) -> String {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let mut name = String::new();
    for character in rest.chars() {
        let kept = character.is_alphanumeric() || matches!(character, '_' | '-' | '.');
        let character = if kept { character } else { '_' };
        if character != '_' || !name.ends_with('_') {
            name.push(character);
        }
    }
    name.trim_matches(['_', '.']).to_owned()
}

/// Returns the folder that contains the folders of all mappings, because a copy is one folder with one state.
///
/// Errors: they have no folder in common.
fn common_folder(mappings: &[Mapping]) -> anyhow::Result<PathBuf> {
    let mut folders = mappings.iter().map(|mapping| &mapping.folder);
    let mut common = folders.next().cloned().unwrap_or_default();
    for folder in folders {
        while !folder.starts_with(&common) {
            if !common.pop() {
                break;
            }
        }
    }
    if common.as_os_str().is_empty() || common == Path::new("/") {
        bail!("The folders of the mappings have no folder in common: make a copy of each with instep sync");
    }
    Ok(common)
}

fn text(path: &Path) -> anyhow::Result<String> {
    path.to_str().map(str::to_owned).context("The path of the copy is not UTF-8")
}

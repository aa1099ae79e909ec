//! `instep source add` and `instep source import`: add one Source, or a list of them, to a fleet.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail};
use clap::Args;
use instep_destination::MaxDelete;
use instep_fleet::{
    Cadence, FleetPlace, FleetRecord, ImportFormat, ImportedList, SourceDefinition, SourceName, import,
    plain_url,
};
use serde_json::json;

use super::acting::{operator, seconds};
use crate::{
    args::{
        headings::{CREDENTIALS, DELETING, SCHEDULE, WHAT_TO_COPY},
        source_url::source_url,
        values,
    },
    exit::Exit,
    fleet::times_of_day,
    ui::{LineLevel, Output, format::counted},
};

/// The rules for new Sources.
#[derive(Debug, Args)]
struct NewSourceArgs {
    /// Time between two runs, such as 1h [default: by how often the Source changes]
    #[arg(long, value_parser = values::duration, value_name = "DURATION", conflicts_with = "at", help_heading = SCHEDULE)]
    every: Option<Duration>,
    /// Time of day for a run, UTC, such as 03:30; can be given several times
    #[arg(long, value_name = "TIME", help_heading = SCHEDULE)]
    at: Vec<String>,
    /// Also listen to the channels of the Source, and run at once when it announces something
    #[arg(long, help_heading = SCHEDULE)]
    follow: bool,
    /// Rank among the due Sources: each step counts as five minutes of waiting
    #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true, help_heading = SCHEDULE,
        hide_short_help = true)]
    priority: i8,
    /// Measure the Source with a dry run, and wait for `instep source approve` before copying
    #[arg(long, help_heading = SCHEDULE)]
    approve: bool,
    /// Only paths that match, such as '*.pdf' or 'letters/**'
    #[arg(long, value_name = "PATTERN", help_heading = WHAT_TO_COPY)]
    include: Vec<String>,
    /// No paths that match; wins over --include
    #[arg(long, value_name = "PATTERN", help_heading = WHAT_TO_COPY, hide_short_help = true)]
    exclude: Vec<String>,
    /// Delete resources that the Source deleted
    #[arg(long, help_heading = DELETING)]
    delete: bool,
    /// Most deletions in a run, and in a day of runs, as 500 or 10% [default: 10%, at least 10]
    #[arg(long, value_name = "LIMIT", help_heading = DELETING)]
    max_delete: Option<MaxDelete>,
    /// File with a bearer token for the origin of the URL
    #[arg(long, value_name = "FILE", help_heading = CREDENTIALS, hide_short_help = true)]
    bearer_file: Option<PathBuf>,
    /// File in netrc format with a login for the host of the URL
    #[arg(long, value_name = "FILE", help_heading = CREDENTIALS, hide_short_help = true)]
    netrc_file: Option<PathBuf>,
    /// Also fetch from this origin, such as `https://mirror.example.org`
    #[arg(long, value_name = "ORIGIN", help_heading = CREDENTIALS, hide_short_help = true)]
    allow_origin: Vec<String>,
}

impl NewSourceArgs {
    fn definition(&self, name: SourceName, url: &str) -> anyhow::Result<SourceDefinition> {
        let mut definition = SourceDefinition::new(name, url);
        definition.cadence = match self.every {
            Some(every) => Cadence::Every { seconds: every.as_secs() },
            None if self.at.is_empty() => Cadence::Adaptive,
            None => times_of_day(&self.at).map_err(anyhow::Error::msg)?,
        };
        definition.follow = self.follow;
        (definition.priority, definition.approve) = (self.priority, self.approve);
        (definition.include, definition.exclude) = (self.include.clone(), self.exclude.clone());
        definition.delete = self.delete;
        definition.max_delete = self.max_delete.map(|limit| match limit {
            MaxDelete::Count(count) => count.to_string(),
            limit => limit.to_string(),
        });
        definition.bearer_file = self.bearer_file.as_deref().map(absolute).transpose()?;
        definition.netrc_file = self.netrc_file.as_deref().map(absolute).transpose()?;
        definition.allow_origins.clone_from(&self.allow_origin);
        Ok(definition)
    }
}

/// Returns the plain form of a URL, which is equal for two spellings of the same URL.
fn as_compared(url: &str) -> String {
    plain_url(url).unwrap_or_else(|_| url.to_owned())
}

/// Returns the absolute path of a file, because the process that reads it later may have another working folder.
fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("Cannot use {}", path.display()))
}

const ADD_EXAMPLES: &str = "\
Examples:
  instep source add https://example.org/ --every 1h
  instep source add https://example.org/ --name letters --at 03:30 --include 'letters/**' --approve";

/// A Source to add.
#[derive(Debug, Args)]
#[command(after_help = "All options and examples: instep source add --help", after_long_help = ADD_EXAMPLES)]
pub(super) struct AddArgs {
    /// Any URL of the Source
    url: String,
    /// Its name in the fleet [default: its host]
    #[arg(long, value_name = "NAME")]
    name: Option<SourceName>,
    /// Folder of the copy, relative to that of the fleet [default: the name]
    #[arg(long, value_parser = values::path, value_name = "DIR", hide_short_help = true)]
    into: Option<PathBuf>,
    #[command(flatten)]
    rules: NewSourceArgs,
}

impl AddArgs {
    pub(super) fn run(self, fleet: &FleetPlace, output: &Output) -> anyhow::Result<Exit> {
        let url = source_url(&self.url)?.into_string();
        let mut record = FleetRecord::open(fleet)?;
        let known = record.sources()?;
        let same = known.iter().find(|source| source.definition.has_url(&url));
        // A URL that is added again by mistake must not become a second copy of the same Source (P22).
        if let Some(same) = same.filter(|_| self.name.is_none()) {
            bail!("{url} is kept already, as {}; give --name NAME for a second copy", same.definition.name);
        }
        let taken = known.into_iter().map(|source| source.definition.name).collect();
        let name = self.name.unwrap_or_else(|| SourceName::propose(None, &url, &taken));
        let mut definition = self.rules.definition(name.clone(), &url)?;
        definition.into = self.into;
        record.add_logged(std::slice::from_ref(&definition), (&operator(), "add"), seconds())?;
        output.closing(format!("{name} added: {url}"));
        output.object("source", json!({ "name": name, "url": url, "action": "add" }));
        Ok(Exit::Done)
    }
}

const IMPORT_EXAMPLES: &str = "\
Examples:
  instep source import sources.opml --approve
  instep source import registry.csv --every 24h --delete";

/// A list of Sources to add.
#[derive(Debug, Args)]
#[command(after_help = "All options and examples: instep source import --help", after_long_help = IMPORT_EXAMPLES)]
pub(super) struct ImportArgs {
    /// The list; - for standard input
    file: PathBuf,
    /// Form of the list: list, opml or csv [default: by its name and beginning]
    #[arg(long, value_name = "FORM")]
    format: Option<ImportFormat>,
    #[command(flatten)]
    rules: NewSourceArgs,
}

impl ImportArgs {
    pub(super) fn run(self, fleet: &FleetPlace, output: &Output) -> anyhow::Result<Exit> {
        let (shown, text) = read_list(&self.file)?;
        let format = self.format.unwrap_or_else(|| ImportFormat::of(&self.file.to_string_lossy(), &text));
        let ImportedList { sources: listed, faults, without_url, .. } =
            import(&text, format).with_context(|| format!("Cannot read {shown}"))?;
        if listed.is_empty() {
            match faults.into_iter().next() {
                Some(fault) => return Err(fault).with_context(|| format!("{shown} lists no Source")),
                None => bail!("{shown} lists no Source"),
            }
        }
        for fault in &faults {
            output.problem(
                LineLevel::Error,
                &format!("! {shown}, {fault}"),
                json!({ "subject": shown, "what": fault.to_string(), "skipped": true }),
            );
        }
        let mut record = FleetRecord::open(fleet)?;
        let known = record.sources()?;
        let urls: BTreeSet<_> = known.iter().map(|source| as_compared(&source.definition.url)).collect();
        let mut taken: BTreeSet<_> = known.into_iter().map(|source| source.definition.name).collect();
        let mut added = Vec::new();
        for source in listed.iter().filter(|source| !urls.contains(&source.url)) {
            let name = SourceName::propose(source.name.as_deref(), &source.url, &taken);
            added.push(self.rules.definition(name.clone(), &source.url)?);
            taken.insert(name);
        }
        record.add_logged(&added, (&operator(), "import"), seconds())?;
        let there = listed.len() - added.len();
        let also = if there > 0 {
            format!("; {} there already", counted(there as u64, "URL"))
        } else {
            String::new()
        };
        let lines = |number: u64, what: &str| match number {
            0 => String::new(),
            number => format!("; {} {what}", counted(number, "line")),
        };
        let (bare, left_out) = (lines(without_url, "without a URL"), lines(faults.len() as u64, "left out"));
        output.closing(format!("{} added{also}{bare}{left_out}", counted(added.len() as u64, "Source")));
        output.object(
            "summary",
            json!({
                "command": "source import", "added": added.len(), "known": there, "without_url": without_url,
                "left_out": faults.len(),
            }),
        );
        Ok(if faults.is_empty() { Exit::Done } else { Exit::Problems })
    }
}

/// Reads a list from a file, or from standard input for `-`. Returns its name for messages, and its text.
fn read_list(file: &Path) -> anyhow::Result<(String, String)> {
    let is_piped = file.as_os_str() == "-";
    let shown = if is_piped { "standard input".to_owned() } else { file.display().to_string() };
    let mut bytes = Vec::new();
    let read = if is_piped {
        io::stdin().read_to_end(&mut bytes)
    } else {
        File::open(file).and_then(|mut file| file.read_to_end(&mut bytes))
    };
    read.with_context(|| format!("Cannot read {shown}"))?;
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        bail!("{shown} is in UTF-16; save it as UTF-8");
    }
    // Bytes that are not UTF-8 are replaced: in a name they do not matter, and a URL with them is refused by itself.
    Ok((shown, String::from_utf8_lossy(&bytes).into_owned()))
}

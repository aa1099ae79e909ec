//! Options that select resources of a Source.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use instep_destination::SelectionOptions;
use resourcesync::DateTime;

use super::{headings::WHAT_TO_COPY, piped::text_of, values};

/// The part of the Source's resources to copy or compare; all if no option is given.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = WHAT_TO_COPY)]
pub(crate) struct SelectionArgs {
    /// Only paths that match, such as '*.pdf' or 'letters/**'
    #[arg(long, value_name = "PATTERN")]
    include: Vec<String>,
    /// No paths that match; wins over --include
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Only the paths in this file, one per line or each ended by a NUL; - for standard input
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    files_from: Option<PathBuf>,
    /// Only these media types, such as text/*
    #[arg(long = "type", value_parser = values::media_type, value_name = "TYPE", hide_short_help = true)]
    types: Vec<String>,
    /// Skip resources that are listed as larger than SIZE
    #[arg(long, value_parser = values::size, value_name = "SIZE", hide_short_help = true)]
    max_size: Option<u64>,
    /// Skip resources that were last modified or changed before this time
    #[arg(long, value_parser = values::datetime, value_name = "DATETIME", hide_short_help = true)]
    since: Option<DateTime>,
    /// At most N resources, to try a Source first
    #[arg(long, value_name = "N", value_parser = values::at_least_one::<u64>, hide_short_help = true)]
    limit: Option<u64>,
    /// Only this set of resources: the URI of its Capability List or the last part of it
    #[arg(long, value_parser = values::word, value_name = "SET", hide_short_help = true)]
    set: Vec<String>,
    /// Also copy the targets of links with this relation
    #[arg(long = "with", value_parser = values::word, value_name = "REL", hide_short_help = true)]
    with_links: Vec<String>,
    /// Only resources that have a link with this relation
    #[arg(long = "only", value_parser = values::word, value_name = "REL", hide_short_help = true)]
    only_links: Vec<String>,
    /// Only members of this collection
    #[arg(long, value_parser = values::word, value_name = "URI", hide_short_help = true)]
    collection: Vec<String>,
    /// Only resources of this profile
    #[arg(long, value_parser = values::word, value_name = "URI", hide_short_help = true)]
    profile: Vec<String>,
    /// Take the alternate of this media type if there is one; the preferred first
    #[arg(long, value_parser = values::word, value_name = "TYPE", hide_short_help = true)]
    prefer_type: Vec<String>,
    /// Only resources whose metadata record matches: '/year >= 2020 and creator ~ Noether'
    #[arg(long, value_name = "EXPR", hide_short_help = true)]
    where_metadata: Option<String>,
}

impl SelectionArgs {
    /// Returns the settings.
    ///
    /// Errors: the list of paths cannot be read.
    pub(crate) fn options(self) -> anyhow::Result<SelectionOptions> {
        let mut options = SelectionOptions::default();
        options.paths = self.files_from.as_deref().map(paths).transpose()?;
        options.sets = self.set;
        options.include = self.include;
        options.exclude = self.exclude;
        options.types = self.types;
        options.max_size = self.max_size;
        options.since = self.since;
        options.limit = self.limit;
        options.with_links = self.with_links;
        options.only_links = self.only_links;
        options.collections = self.collection;
        options.profiles = self.profile;
        options.prefer_types = self.prefer_type;
        options.where_metadata = self.where_metadata;
        Ok(options)
    }
}

/// Reads a list of paths as rsync does: empty lines and lines that begin with `#` or `;` are skipped. If the list
/// contains a NUL, as the output of `find -print0` does, each path ends with one and may have line breaks.
fn paths(file: &Path) -> anyhow::Result<Vec<String>> {
    let text = text_of(file).with_context(|| format!("Cannot read {}", file.display()))?;
    // Some editors begin a file with a byte order mark, which would become a part of the first path.
    Ok(listed(text.trim_start_matches('\u{feff}')))
}

fn listed(text: &str) -> Vec<String> {
    if text.contains('\0') {
        return text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    }
    let is_path = |line: &&str| !line.is_empty() && !line.starts_with(['#', ';']);
    text.lines().map(str::trim).filter(is_path).map(str::to_owned).collect()
}

//! Which resources are wanted.

use clap::Args;
use instep_destination::SelectionOptions;
use resourcesync::DateTime;

use super::values;

/// Which of the Source's resources are wanted; all where nothing is said.
#[derive(Debug, Args)]
#[command(next_help_heading = "Selection")]
pub(crate) struct Selection {
    /// Only this set of resources, by the URI of its Capability List or the last part of it
    #[arg(long, value_name = "SET")]
    set: Vec<String>,
    /// Only URIs that match a glob or begin with a prefix
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    /// No URIs that match a glob or begin with a prefix
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Only these media types, such as text/*
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Nothing larger
    #[arg(long, value_parser = values::size, value_name = "SIZE")]
    max_size: Option<u64>,
    /// Nothing that was last modified or changed before
    #[arg(long, value_parser = values::datetime, value_name = "DATETIME")]
    since: Option<DateTime>,
    /// At most so many resources: to try a little first
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// The targets of links with this relation too
    #[arg(long = "with", value_name = "REL")]
    with_links: Vec<String>,
    /// Only resources that have a link with this relation
    #[arg(long = "only", value_name = "REL")]
    only_links: Vec<String>,
    /// Only members of this collection
    #[arg(long, value_name = "URI")]
    collection: Vec<String>,
    /// Only resources of this profile
    #[arg(long, value_name = "URI")]
    profile: Vec<String>,
    /// Take the alternate representation of this media type where there is one; the preferred first
    #[arg(long, value_name = "TYPE")]
    prefer_type: Vec<String>,
    /// Only resources whose describedby record matches: '/year >= 2020 and creator ~ Noether'
    #[arg(long, value_name = "EXPR")]
    where_metadata: Option<String>,
}

impl Selection {
    /// The options.
    pub(crate) fn options(self) -> SelectionOptions {
        let mut options = SelectionOptions::default();
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
        options
    }
}

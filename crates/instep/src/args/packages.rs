//! Options for the additions to the lists of a Source: dumps, patches and archives.

use std::time::Duration;

use clap::{Args, ValueEnum};
use instep_source::{Archives, DumpPolicy, PatchOptions, PublishOptions};

use super::{headings::PACKAGES, values};

/// The dumps, patches and archives of a Source.
#[derive(Debug, Args)]
pub(crate) struct PackageArgs {
    /// Offer a Resource Dump: auto, always or never; auto: up to 1 GiB [default: never; serve: auto]
    #[arg(long, value_name = "WHEN", help_heading = PACKAGES, hide_possible_values = true)]
    dump: Option<DumpChoice>,
    /// Offer a Change Dump; keeps past states for it
    #[arg(long, help_heading = PACKAGES, hide_short_help = true)]
    change_dump: bool,
    /// Pack changes when the oldest is older than this [default: at once; serve: 1h]
    #[arg(long, requires = "change_dump", value_parser = values::duration, value_name = "DURATION", help_heading = PACKAGES, hide_short_help = true)]
    change_dump_every: Option<Duration>,
    /// Offer patches; stores resources up to --patch-max a second time
    #[arg(long, help_heading = PACKAGES, hide_short_help = true)]
    patches: bool,
    /// Offer a patch that is smaller than this share of the resource
    #[arg(long, requires = "patches", default_value = "50%", value_parser = values::percent, value_name = "PERCENT",
        help_heading = PACKAGES, hide_short_help = true)]
    patch_share: u8,
    /// Make patches for resources up to this size
    #[arg(long, requires = "patches", default_value = "8MiB", value_parser = values::size, value_name = "SIZE",
        help_heading = PACKAGES, hide_short_help = true)]
    patch_max: u64,
    /// Bytes of past states to keep for Change Dumps and patches; the oldest are removed first
    #[arg(long, default_value = "1GiB", value_parser = values::size, value_name = "SIZE",
        help_heading = PACKAGES, hide_short_help = true)]
    keep_bytes: u64,
    /// Renew the Resource Dump with the next change when it is older than this
    #[arg(long, default_value = "24h", value_parser = values::duration, value_name = "DURATION",
        help_heading = PACKAGES, hide_short_help = true)]
    dump_every: Duration,
    /// Keep closed and superseded documents, and offer archives
    #[arg(long, help_heading = PACKAGES, hide_short_help = true)]
    archives: bool,
    /// Keep at most this many documents in each archive besides the current ones
    #[arg(long, requires = "archives", default_value_t = 10_000, value_name = "N", value_parser = values::number::<usize>, help_heading = PACKAGES, hide_short_help = true)]
    archive_count: usize,
    /// Keep archived documents for this long
    #[arg(long, requires = "archives", default_value = "2160h", value_parser = values::duration, value_name = "DURATION",
        help_heading = PACKAGES, hide_short_help = true)]
    archive_age: Duration,
}

/// Choices of offering a Resource Dump.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum DumpChoice {
    /// While it saves requests and is not larger than 1 GiB
    Auto,
    /// However large it is
    Always,
    /// Not at all
    Never,
}

impl PackageArgs {
    /// Adds the settings to those of a publication. `dumps` says when to offer a Resource Dump if `--dump` is not
    /// given.
    pub(crate) fn apply(self, dumps: DumpPolicy, options: &mut PublishOptions) {
        options.dumps.policy = match self.dump {
            Some(DumpChoice::Auto) => DumpPolicy::Auto,
            Some(DumpChoice::Always) => DumpPolicy::Always,
            Some(DumpChoice::Never) => DumpPolicy::Never,
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
        options.dumps.every = self.dump_every;
        options.archives = self.archives.then(|| {
            let mut archives = Archives::default();
            (archives.count, archives.age) = (self.archive_count, self.archive_age);
            archives
        });
    }
}

#![doc = include_str!("../README.md")]
#![cfg_attr(
    not(feature = "notify"),
    expect(dead_code, reason = "some functions are used only by the server and the channels")
)]
#![cfg_attr(
    not(feature = "patch"),
    expect(unreachable_pub, reason = "the options for patches are public where patches are made")
)]

pub mod catalogue;
mod content;
mod dump;
mod error;
#[cfg(feature = "serve")]
mod live;
mod monitor;
#[cfg(feature = "notify")]
pub mod notify;
mod options;
mod publish;
mod records;
mod render;
mod scan;
#[cfg(feature = "serve")]
pub mod serve;
mod sink;
#[cfg(feature = "serve")]
mod status;
#[cfg(test)]
mod tests;

pub use catalogue::{Clock, Recorded, ResourceState};
pub use content::{BucketContent, ChangeReporter, SpoolUsage, Supplied, Supplier, Supply};
pub use dump::{BuiltDumps, DumpJob};
pub use error::{Error, ErrorKind, UpstreamFailure, UpstreamFault};
pub use instep_objects::ObjectPlace;
pub use monitor::{
    LeftOut, LeftOutCounts, NoMonitor, PublishEvents, PublishMonitor, PublishPhase, PublishProblem,
    PublishProgress, RecordingMonitor,
};
#[cfg(feature = "patch")]
pub use options::PatchOptions;
pub use options::{
    Archives, CodingRule, Content, DeletionGuard, DumpOptions, DumpPolicy, FrequencyRule, GenericRule,
    LinkRule, ListOptions, MaxDeletions, PublishOptions, Rotation, SetOptions, Unreadable, VersionOptions,
};
pub use publish::{
    BackupReport, Compaction, PublishReport, Publisher, backup, check, is_published, preview, publish,
    published_base_url, restore, setup,
};
pub use render::{HostSetup, Redirect, SetPlace, SourcePlace};
pub use scan::{Difference, DifferenceKind, ReportedChange, ScanReport};
#[cfg(feature = "serve")]
pub use status::{Overview, RecentChange, SetOverview};

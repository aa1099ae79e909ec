#![doc = include_str!("../README.md")]

pub mod catalogue;
pub mod content;
mod dump;
mod error;
pub mod live;
mod monitor;
pub mod notify;
mod options;
mod publish;
mod records;
mod render;
pub mod scan;
pub mod serve;
pub mod sink;
mod status;

pub use dump::{Batch, BatchLimits, BatchRequest, BatchSelection, Batches, BuiltDumps, DumpJob};
pub use error::{Error, ErrorKind};
pub use monitor::{
    LeftOut, LeftOutCounts, Monitor, Phase, Problem, Progress, Seen, TestMonitor, VoidMonitor,
};
pub use options::{
    Archives, CodingRule, Content, DeletionGuard, DumpOptions, DumpPolicy, FrequencyRule, GenericRule,
    LinkRule, ListOptions, MaxDeletions, PatchOptions, PublishOptions, Rotation, SetOptions, Unreadable,
    VersionOptions,
};
pub use publish::{
    Backup, Compaction, PublishReport, Publisher, backup, check, is_published, preview, publish, restore,
    setup,
};
pub use render::{HostSetup, Place, Redirect, SetPlace};
pub use status::{Overview, RecentChange, SetOverview};

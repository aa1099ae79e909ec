#![doc = include_str!("../README.md")]

mod audit;
mod changes;
mod clock;
pub mod commit;
mod contents;
pub mod discover;
pub mod documents;
mod draft;
mod error;
pub mod fetch;
mod follow;
mod list;
mod listen;
pub mod map;
mod monitor;
mod options;
pub mod package;
pub mod plan;
mod read;
mod records;
mod repair;
mod report;
mod run;
mod shutdown;
pub mod state;
mod status;
pub mod store;
mod sync;
mod transfer;
mod versions;

pub use audit::audit;
pub use changes::{ChangeSink, CopyChange};
pub use clock::now;
pub use contents::Contents;
pub use error::{Error, ErrorKind, Guard};
pub use instep_net as http;
pub use list::{StreamOptions, changes, resources};
pub use monitor::{
    Event, Item, Letter, Monitor, Phase, PlanTotals, Problem, ProblemKind, RecordedEvents, TestMonitor,
    VoidMonitor,
};
pub use options::{
    AccessOptions, AuditOptions, CallbackOptions, Credential, Durability, MaxDelete, Secret,
    SelectionOptions, SyncOptions, Verify, Via,
};
pub use plan::{Accounting, Coverage, Strategy};
pub use report::{AuditReport, Outcome, Status, SyncReport};
pub use shutdown::Shutdown;
pub use status::status;
pub use sync::sync;

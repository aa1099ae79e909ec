#![doc = include_str!("../README.md")]

mod audit;
mod changes;
pub mod commit;
mod contents;
pub mod discover;
pub mod documents;
mod error;
pub mod fetch;
mod listen;
pub mod map;
mod monitor;
mod options;
pub mod package;
pub mod plan;
mod records;
mod report;
pub mod state;
mod status;
pub mod store;
mod sync;

pub use audit::audit;
pub use changes::{ChangeSink, CopyChange};
pub use contents::Contents;
pub use error::{Error, ErrorKind, Guard};
pub use instep_net as http;
pub use monitor::{
    Event, Heard, Item, Letter, Monitor, Phase, PlanTotals, Problem, ProblemKind, TestMonitor, VoidMonitor,
};
pub use options::{
    AccessOptions, AuditOptions, CallbackOptions, Credential, Durability, MaxDelete, Secret,
    SelectionOptions, SyncOptions, Verify, Via,
};
pub use plan::Strategy;
pub use report::{AuditReport, Outcome, Status, SyncReport};
pub use status::status;
pub use sync::{now, sync};

#![doc = include_str!("../README.md")]

mod audit;
mod changes;
mod clock;
mod commit;
mod contents;
pub mod discover;
pub mod documents;
mod draft;
mod error;
pub mod exit_code;
mod follow;
#[cfg(feature = "postgres")]
mod help;
mod history;
mod list;
mod listen;
mod location;
mod map;
mod monitor;
mod options;
mod plan;
mod read;
mod records;
mod repair;
mod report;
mod run;
mod shutdown;
mod slices;
mod state;
mod state_file;
mod status;
mod store;
mod sync;
mod transfer;
mod versions;
mod watch;
mod web_archive;

pub use audit::audit;
pub use changes::{ChangeSink, CopyChange};
pub use clock::now;
pub use contents::{Contents, ResourceAt};
pub use error::{Error, ErrorKind, Guard};
#[cfg(feature = "postgres")]
pub use help::{SharedPlans, help};
pub use instep_net::{Client, HttpError, HttpOptions, InFlight, Origin, Permission, Traffic};
pub use list::{StreamOptions, changes, resources};
pub use location::CopyLocation;
pub use map::CopyPath;
pub use monitor::{
    Event, Item, Letter, Monitor, Phase, PlanTotals, Problem, ProblemKind, RecordedEvents, TestMonitor,
    VoidMonitor,
};
pub use options::{
    AccessOptions, AuditOptions, CallbackOptions, CopyPlace, Credential, Durability, LastmodTrust, MaxDelete,
    ObjectLayout, Secret, SelectionOptions, SyncOptions, Verify, Via,
};
pub use plan::{Accounting, Coverage, Strategy};
pub use report::{
    AuditReport, ObjectsStatus, Outcome, PastRun, PendingRetry, RunProblem, RunStatus, SourceAudit,
    SourceStatus, Status, SyncReport,
};
pub use shutdown::Shutdown;
pub use state::{HeldResource, ReachedPoint, ResourceMetadata};
pub use state_file::StateFigures;
pub use status::{CopySize, status};
pub use sync::sync;
pub use watch::{ChannelWatch, SharedCallbacks};
pub use web_archive::ArchiveOptions;

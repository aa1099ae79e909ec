//! The state of a copy: its held resources, its pending retries, and the progress of each set.
//!
//! Other modules access it through traits: [`ReadState`] for readers, [`CopyState`] for the
//! [`Committer`](crate::commit::Committer), the only writer. An engine behind them stores the rows. The actions of a
//! plan are not part of the state: they are a file that is removed with its run, with every engine.

mod action;
mod actions;
pub(crate) mod codec;
mod engine;
mod error;
mod ledger;
mod meeting;
mod place;
mod plan_note;
mod portable;
#[cfg(feature = "postgres")]
mod postgres;
mod reached;
mod record;
mod remembered;
mod repeated_actions;
mod row_set;
mod runs;
mod shared_actions;
mod slices;
mod sqlite;
mod uri_index;
mod writing;

pub use crate::plan::ResourceMetadata;
pub(crate) use action::{Action, ActionKind};
pub(crate) use actions::Actions;
pub(crate) use actions::Pushing;
pub(crate) use engine::{BASE, Meet, ReadFollowed, ReadHeld, ReadLog, ReadPacks, ReadPending, ReadState};
#[cfg(test)]
pub(crate) use error::DatabaseError;
pub(crate) use error::StateError;
pub(crate) use ledger::{IntentId, Ledger};
use meeting::Meeting;
pub(crate) use place::StatePlace;
pub(crate) use plan_note::PlanNote;
pub(crate) use portable::{EachRecord, ExportState, ImportFeed, ImportState, StateRecord};
#[cfg(feature = "postgres")]
pub(crate) use postgres::{PostgresError, WaitingPlans};
pub use reached::ReachedPoint;
use reached::{KEPT_POINTS, MINUTE};
pub use record::HeldResource;
pub(crate) use record::{
    Checkpoint, DocumentRecord, HeldAt, HeldFile, KeptDeletion, Owed, PackTotals, PassedEntry, Repacked,
    SetId, Setting, SourceId, Waits,
};
pub(crate) use row_set::RowSet;
use runs::KEPT_RUNS;
pub(crate) use runs::{LoggedProblem, LoggedRun, RunId};
#[cfg(feature = "postgres")]
pub(crate) use slices::{ClaimedSlice, DoneActions, JoinedPlan, PlanShare};
pub(crate) use slices::{
    NewSlice, SLICE, ShareCounts, SharePlan, SharerId, SliceBoard, SliceFailure, SliceId, SliceLedger,
    SliceProgress,
};
pub(crate) use sqlite::by_origin;
pub(crate) use writing::{CopyState, WriteGroups, WritePacks, WriteRecords};

pub(crate) use crate::records::operations::Operation;

#[cfg(test)]
mod contract;

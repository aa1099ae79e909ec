//! Reading: turns documents of the Source into desired states. Inventories, changes since a time, dumps of both
//! kinds, and their coverage of the Source. Decisions about them are made elsewhere.

mod applied;
mod archives;
mod change_dumps;
mod change_lists;
mod changes;
mod dump;
mod dump_package;
mod former;
mod inventory;
mod kind;
mod known_changes;
mod member_times;
mod metadata;
mod packages;
mod passed;
mod unchanged;

pub(crate) use change_lists::{ChangeDocuments, is_gone};
pub(crate) use changes::Changes;
pub(crate) use dump::Dump;
pub(crate) use dump_package::DumpPackage;
pub(crate) use inventory::Inventory;
pub(crate) use kind::ChangeKind;
pub(crate) use packages::PackageList;
pub(crate) use passed::{LostDocument, ReadChanges};
pub(crate) use unchanged::Unchanged;

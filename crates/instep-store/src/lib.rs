#![doc = include_str!("../README.md")]

pub mod database;
mod error_chain;
mod filter;
mod lock;
mod next_bytes;
mod obstacle;
mod open_files;
mod parent;
mod root;
mod shortage;
mod space;
mod staging;
mod sync;
pub mod versioned;

pub use error_chain::error_chain;
pub use filter::{PathFilter, PatternError};
pub use lock::{Lock, LockError};
pub use next_bytes::next_bytes;
pub use obstacle::Obstacle;
pub use open_files::{open_files_limit, raise_open_files_limit};
pub use parent::parent_folder;
pub use root::{NameKind, RootFolder, kind_at};
pub use shortage::Shortage;
pub use space::{DiskSpace, ReserveReached, SpaceWatch, WRITTEN_BETWEEN_LOOKS, expect_space, free_space};
pub use staging::{StagedName, Staging};
pub use sync::{sync_file_system, sync_group};

//! Packages: size-bounded parts, streaming, reproducible.

#[cfg(feature = "serve")]
mod batch;
mod bitstream;
mod change_dump;
mod item;
mod pack;
mod path;
mod resource_dump;

pub(crate) use change_dump::ChangePackages;

#[cfg(feature = "serve")]
pub(crate) use batch::{Batch, BatchLimits, BatchRequest, BatchSelection, Batches};
pub use resource_dump::{BuiltDumps, DumpJob};

//! Packages: size-bounded parts, streaming, reproducible.

mod batch;
mod bitstream;
mod item;
mod pack;
mod path;
mod resource_dump;

pub use batch::{Batch, BatchLimits, BatchRequest, BatchSelection, Batches};
pub use resource_dump::{BuiltDumps, DumpJob};

//! Packages: size-bounded parts, streaming, reproducible.
//!
//! `manifest.xml` comes first in a package: its digests and CRC-32 come from the catalogue, each bitstream is hashed
//! again while it is packed, and a difference restarts that part. Media types that compress are deflated, others are
//! stored. Features that need the bytes of past states copy them, while hashing, into the spool of `content/`.

#[cfg(feature = "serve")]
mod batch;
mod bitstream;
mod change_dump;
mod item;
mod pack;
mod path;
mod resource_dump;
mod room;

pub(crate) use change_dump::{ChangePackages, report_without_change_dump};
pub(crate) use resource_dump::{first_without_file, report_without_dump};

#[cfg(feature = "serve")]
pub(crate) use batch::{Batch, BatchLimits, BatchRequest, BatchSelection, Batches};
pub use resource_dump::{BuiltDumps, DumpJob};

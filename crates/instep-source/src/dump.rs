//! Packages: size-bounded parts, streaming, reproducible.

mod bitstream;
mod pack;
mod path;
mod resource_dump;

pub use resource_dump::{BuiltDumps, DumpJob};

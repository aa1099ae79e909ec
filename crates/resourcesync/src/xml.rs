//! The codec: bytes to typed documents and back, as streams.
//!
//! One engine reads for all: `scan` finds the pieces of XML, `window` holds them, `reader` makes entries and findings
//! of them. `obligations` and `fidelity` refuse what the writer must not write.

mod attributes;
mod decode;
mod fidelity;
mod limits;
mod names;
mod obligations;
mod reader;
mod scan;
pub mod schema;
mod tag;
mod version;
mod window;
mod writer;

pub use decode::Decoded;
pub use limits::Limits;
pub use reader::{DocumentReader, ReadOptions};
pub use version::SpecVersion;
pub use writer::{DocumentWriter, WriteOptions};

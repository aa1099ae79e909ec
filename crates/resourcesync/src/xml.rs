//! The codec: bytes to typed documents and back, as streams.
//!
//! There is one engine for all input: `scan` finds the pieces of XML, `window` holds them, `reader` turns them into
//! entries and findings. `obligations` and `fidelity` refuse values that must not be written.

mod attributes;
mod declaration;
mod decode;
mod fidelity;
mod limits;
mod name;
mod names;
mod obligations;
mod prefixes;
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

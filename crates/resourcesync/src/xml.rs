//! Bytes to typed documents and back, streaming.

mod attributes;
mod decode;
mod limits;
mod meter;
mod names;
mod obligations;
mod reader;
pub mod schema;
mod writer;

pub use decode::Decoded;
pub use limits::Limits;
pub use reader::{DocumentReader, ReadOptions};
pub use writer::{DocumentWriter, SpecVersion, WriteOptions};

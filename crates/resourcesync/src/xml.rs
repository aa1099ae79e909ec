//! Bytes to typed documents and back, streaming.

mod attributes;
mod decode;
mod limits;
mod names;
mod obligations;
mod reader;
mod scan;
pub mod schema;
mod tag;
mod window;
mod writer;

pub use decode::Decoded;
pub use limits::Limits;
pub use reader::{DocumentReader, ReadOptions};
pub use writer::{DocumentWriter, SpecVersion, WriteOptions};

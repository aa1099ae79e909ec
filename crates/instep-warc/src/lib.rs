#![doc = include_str!("../README.md")]

mod cdxj;
mod damage;
mod digest;
mod error;
mod head;
mod http;
#[cfg(test)]
mod interrupted;
mod reader;
mod writer;

pub use cdxj::{CaptureFields, CdxjLine, RecordPlace, surt};
pub use damage::find_record;
pub use digest::{PayloadDigest, PayloadHasher};
pub use error::WarcError;
pub use head::{IDENTICAL_PAYLOAD, NOT_MODIFIED, WarcField, WarcHead, WarcKind};
pub use http::{HttpHead, payload};
pub use reader::{WarcReader, WarcRecord};
pub use writer::{RecordPacking, WarcWriter, WrittenRecord};

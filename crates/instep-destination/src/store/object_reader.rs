//! A reader of an object that may be large.

use std::{
    io::{self, Read},
    sync::Arc,
};

use bytes::{Buf, Bytes};
use instep_objects::{Bucket, ObjectStart};

use super::StoreError;

/// The number of bytes that are read at a time.
const PIECE: u64 = 8 << 20;

/// An object while it is read, a piece in memory at a time.
#[derive(Debug)]
pub(super) struct ObjectReader {
    bucket: Arc<Bucket>,
    key: Box<str>,
    /// Its length and validator: pieces of a later object under the key are not mixed with those of this one.
    start: ObjectStart,
    piece: Bytes,
    at: u64,
}

impl ObjectReader {
    /// Opens an object, and checks its length if it is given. As with a file, a missing object is reported now.
    ///
    /// # Errors
    /// If it is not there or has another length, or storage fails.
    pub(super) fn open(bucket: &Arc<Bucket>, key: &str, length: Option<u64>) -> Result<Self, StoreError> {
        let failed = |error| StoreError::of_bucket("read", key, bucket, error);
        let mut start = bucket.begin(key, PIECE).map_err(failed)?;
        if let Some(length) = length.filter(|length| *length != start.length) {
            let what = format!("it has {} bytes instead of {length}", start.length);
            return Err(StoreError::io("read", key, io::Error::new(io::ErrorKind::InvalidData, what)));
        }
        let piece = std::mem::take(&mut start.bytes);
        Ok(Self { bucket: Arc::clone(bucket), key: key.into(), start, at: piece.len() as u64, piece })
    }
}

impl Read for ObjectReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.piece.is_empty() && self.at < self.start.length {
            let end = self.start.length.min(self.at + PIECE);
            let piece = self.bucket.read_on(&self.key, &self.start, self.at..end);
            self.piece = piece.map_err(io::Error::other)?;
            self.at = end;
        }
        let read = buffer.len().min(self.piece.len());
        self.piece.copy_to_slice(&mut buffer[..read]);
        Ok(read)
    }
}

//! Exchanges with their bodies: small bodies are kept in memory, large ones in a file without a name.

use std::{
    fs::File,
    io::{self, Read, Seek as _, Write as _},
    path::Path,
};

use bytes::Bytes;
use instep_net::Exchange;
use instep_warc::PayloadDigest;

/// The most bytes of a body that are kept in memory.
const IN_MEMORY: u64 = 1 << 20;

/// An exchange with its body.
pub(super) struct Captured {
    pub(super) exchange: Exchange,
    pub(super) body: CapturedBody,
    /// The digest of the body as received.
    pub(super) digest: PayloadDigest,
    /// `false` if the body was not received to its end.
    pub(super) is_whole: bool,
}

/// Pieces with at most this many bytes are copied. A stored piece would keep the whole buffer of its connection in
/// memory.
const COPIED: usize = 16 << 10;

/// The bytes of a body.
#[derive(Default)]
pub(super) struct CapturedBody {
    pieces: Vec<Bytes>,
    length: u64,
    file: Option<File>,
}

impl CapturedBody {
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Returns the bytes that are held in memory.
    pub(super) fn in_memory(&self) -> u64 {
        if self.file.is_some() { 0 } else { self.length }
    }

    /// Adds a piece of the body. A large body waits in a file without a name in `folder`.
    pub(super) fn push(&mut self, piece: &Bytes, folder: &Path) -> io::Result<()> {
        self.length += piece.len() as u64;
        if self.file.is_none() {
            let is_small = piece.len() <= COPIED;
            self.pieces.push(if is_small { Bytes::copy_from_slice(piece) } else { piece.clone() });
            if self.length <= IN_MEMORY {
                return Ok(());
            }
            let mut file = tempfile::tempfile_in(folder)?;
            for kept in self.pieces.drain(..) {
                file.write_all(&kept)?;
            }
            self.file = Some(file);
            return Ok(());
        }
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(piece))
    }

    /// Returns a reader of the bytes, from the first one on.
    pub(super) fn read(self) -> io::Result<Box<dyn Read>> {
        match self.file {
            Some(mut file) => {
                file.rewind()?;
                Ok(Box::new(file))
            }
            None => Ok(Box::new(Pieces { pieces: self.pieces.into_iter(), now: Bytes::new() })),
        }
    }
}

/// Reads pieces one after the other.
struct Pieces {
    pieces: std::vec::IntoIter<Bytes>,
    now: Bytes,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.now.is_empty() {
            match self.pieces.next() {
                Some(next) => self.now = next,
                None => return Ok(0),
            }
        }
        let most = buffer.len().min(self.now.len());
        buffer[..most].copy_from_slice(&self.now.split_to(most));
        Ok(most)
    }
}

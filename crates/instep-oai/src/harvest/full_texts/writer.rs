//! The file of a full text while it arrives: hashed, counted, and decompressed if the server compresses unasked.

use std::{
    fs::File,
    io::{self, Write},
};

use flate2::write::MultiGzDecoder;
use instep_store::SpaceWatch;
use ring::digest::{Context, SHA256};

/// The most bytes for each one that arrives, as in packages: a server that compresses unasked could fill the disk with
/// little (D14).
const MOST_RATIO: u64 = 200;
/// The bytes that may swell so much although fewer have arrived, because a short text may repeat itself.
const FIRST_BYTES: u64 = 64 << 10;

/// The file of a full text. Some servers compress although the request does not accept it.
pub(super) enum TextWriter {
    Plain(Box<HashedText>),
    /// The decoder, and the bytes that have arrived.
    Gzip(Box<MultiGzDecoder<HashedText>>, u64),
}

impl TextWriter {
    pub(super) fn new(file: File, is_gzip: bool, reserve: Option<u64>) -> Self {
        let watch = SpaceWatch::new(reserve);
        let file = HashedText { file, digest: Context::new(&SHA256), length: 0, watch };
        if is_gzip { Self::Gzip(Box::new(MultiGzDecoder::new(file)), 0) } else { Self::Plain(Box::new(file)) }
    }

    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.write_all(bytes),
            Self::Gzip(decoder, arrived) => {
                decoder.write_all(bytes)?;
                *arrived += bytes.len() as u64;
                let most = (*arrived).max(FIRST_BYTES).saturating_mul(MOST_RATIO);
                if decoder.get_ref().length > most {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "it swells too much"));
                }
                Ok(())
            }
        }
    }

    pub(super) fn finish(self) -> io::Result<HashedText> {
        match self {
            Self::Plain(file) => Ok(*file),
            Self::Gzip(decoder, _) => decoder.finish(),
        }
    }
}

/// A file whose bytes are hashed and counted as they are written, as long as the disk has room.
pub(super) struct HashedText {
    file: File,
    pub(super) digest: Context,
    pub(super) length: u64,
    watch: SpaceWatch,
}

impl Write for HashedText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.digest.update(&bytes[..written]);
        self.length += written as u64;
        self.watch.wrote(&self.file, written as u64)?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o875_a_full_text_that_swells_too_much_is_not_unpacked_to_its_end() {
        let unpacked = |length: usize| {
            let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            coder.write_all(&vec![0; length]).unwrap();
            let mut text = TextWriter::new(tempfile::tempfile().unwrap(), true, Some(0));
            text.write_all(&coder.finish().unwrap())?;
            text.finish().map(|text| text.length)
        };
        assert_eq!(unpacked(8 << 20).unwrap(), 8 << 20);
        let error = unpacked(64 << 20).unwrap_err();
        assert_eq!((error.kind(), &*error.to_string()), (io::ErrorKind::InvalidData, "it swells too much"));
    }
}

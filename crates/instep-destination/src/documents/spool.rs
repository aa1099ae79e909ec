//! The bytes of a document: in memory while they are few, otherwise in an unnamed file. They are decoded when they are
//! read.

use std::{
    fmt,
    fs::File,
    io::{self, BufRead, BufReader, Cursor, Read, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;

/// A document while it arrives.
#[derive(Debug)]
pub(crate) struct Spool {
    folder: PathBuf,
    start: Vec<u8>,
    file: Option<File>,
    bytes: u64,
}

impl Spool {
    /// The most bytes that are kept in memory. Most documents are smaller.
    const IN_MEMORY: usize = 1 << 20;

    /// Returns an empty spool. If it needs a file, that is created in `folder` without a name.
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), start: Vec::new(), file: None, bytes: 0 }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn write(&mut self, data: &[u8]) -> io::Result<()> {
        self.bytes += data.len() as u64;
        if let Some(file) = &mut self.file {
            return file.write_all(data);
        }
        self.start.extend_from_slice(data);
        if self.start.len() > Self::IN_MEMORY {
            let mut file = tempfile::tempfile_in(&self.folder)?;
            file.write_all(&self.start)?;
            (self.start, self.file) = (Vec::new(), Some(file));
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> DocumentBytes {
        match self.file {
            Some(file) => DocumentBytes::File(Arc::new(file)),
            None => DocumentBytes::Memory(self.start.into()),
        }
    }
}

/// The place of a document in a file of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// A complete document, coded as it arrived.
#[derive(Clone)]
pub(crate) enum DocumentBytes {
    /// A document of at most 1 MiB.
    Memory(Bytes),
    /// The file of a large document, which is complete and no longer written.
    File(Arc<File>),
    /// The part of such a file that has this document.
    Stretch(Arc<File>, Stretch),
}

impl fmt::Debug for DocumentBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(bytes) => write!(f, "{} bytes in memory", bytes.len()),
            Self::File(_) => f.write_str("a file"),
            Self::Stretch(..) => f.write_str("a part of a file"),
        }
    }
}

impl DocumentBytes {
    /// Reads it from its beginning, decoded. At most two layers of gzip are removed: one of the transfer and one of the
    /// file (AMB-B36).
    pub(crate) fn open(&self, most_ratio: u64) -> io::Result<Box<dyn BufRead + Send>> {
        let mut reader = self.open_coded();
        for _ in 0..2 {
            if !reader.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
                break;
            }
            reader = Box::new(BufReader::with_capacity(32 << 10, Gunzip::new(reader, most_ratio)));
        }
        Ok(reader)
    }

    /// Reads it from its beginning, as it was transferred.
    pub(crate) fn open_coded(&self) -> Box<dyn BufRead + Send> {
        match self {
            Self::Memory(bytes) => Box::new(Cursor::new(bytes.clone())),
            Self::File(file) => {
                let at = At { file: Arc::clone(file), offset: 0, end: u64::MAX };
                Box::new(BufReader::with_capacity(64 << 10, at))
            }
            Self::Stretch(file, Stretch { start, end }) => {
                let at = At { file: Arc::clone(file), offset: *start, end: *end };
                Box::new(BufReader::with_capacity(64 << 10, at))
            }
        }
    }
}

/// A reader of a file with an offset of its own, so that several readers can share the file.
struct At {
    file: Arc<File>,
    offset: u64,
    end: u64,
}

impl Read for At {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.offset).unwrap_or(usize::MAX);
        let most = buffer.len().min(left);
        let read = std::os::unix::fs::FileExt::read_at(&*self.file, &mut buffer[..most], self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// A reader that decodes gzip members one after the other, and fails if the bytes grow too much (D14).
struct Gunzip<R> {
    decoder: MultiGzDecoder<Counted<R>>,
    decoded: u64,
    most_ratio: u64,
}

impl<R: BufRead> Gunzip<R> {
    /// The decoded bytes below which no ratio is refused: small files of blanks are harmless.
    const HARMLESS: u64 = 16 << 20;

    fn new(source: R, most_ratio: u64) -> Self {
        Self { decoder: MultiGzDecoder::new(Counted { source, bytes: 0 }), decoded: 0, most_ratio }
    }
}

impl<R: BufRead> Read for Gunzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.decoder.read(buffer)?;
        self.decoded += read as u64;
        let coded = self.decoder.get_ref().bytes.max(1);
        if self.decoded > Self::HARMLESS && self.decoded / coded > self.most_ratio {
            let what = format!("gzip grows by more than {} times", self.most_ratio);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(read)
    }
}

/// Counts the bytes that are consumed.
struct Counted<R> {
    source: R,
    bytes: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.source.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.bytes += amount as u64;
        self.source.consume(amount);
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn read(content: &DocumentBytes) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        content.open(200)?.read_to_end(&mut all)?;
        Ok(all)
    }

    #[test]
    fn gzip_layers_are_taken_off_and_members_joined() {
        let twice = gzip(&gzip(b"text"));
        assert_eq!(read(&DocumentBytes::Memory(twice.into())).unwrap(), b"text");
        let members = [gzip(b"te"), gzip(b"xt")].concat();
        assert_eq!(read(&DocumentBytes::Memory(members.into())).unwrap(), b"text");
        assert_eq!(read(&DocumentBytes::Memory(Bytes::from_static(b"text"))).unwrap(), b"text");
    }

    #[test]
    fn d14_a_gzip_bomb_ends_at_its_ratio() {
        let bomb = gzip(&vec![b' '; 64 << 20]);
        assert!(bomb.len() < 100_000);
        let error = read(&DocumentBytes::Memory(bomb.into())).unwrap_err();
        assert!(error.to_string().contains("200 times"), "{error}");
    }

    #[test]
    fn a_large_document_lies_in_a_file_and_is_read_by_several_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(folder.path());
        let piece = vec![7; 700 << 10];
        spool.write(&piece).unwrap();
        spool.write(&piece).unwrap();
        assert_eq!(spool.bytes(), 1400 << 10);
        let content = spool.finish();
        assert!(matches!(content, DocumentBytes::File(_)));
        let (mut first, mut second) = (content.open(200).unwrap(), content.open(200).unwrap());
        let (mut one, mut two) = (Vec::new(), Vec::new());
        first.read_to_end(&mut one).unwrap();
        second.read_to_end(&mut two).unwrap();
        assert_eq!((one.len(), two.len()), (1400 << 10, 1400 << 10));
    }
}

//! Bytes as they were sent to bytes for the parser: gzip is decompressed, other encodings become UTF-8.

use std::{
    io::{self, BufRead, BufReader, Cursor, Read},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use encoding_rs::{CoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use flate2::bufread::MultiGzDecoder;

/// Bytes that an XML declaration may take.
const PROLOGUE: usize = 512;
/// Bytes that are decoded at a time.
const BLOCK: usize = 64 << 10;

/// A source of decoded bytes. Its first bytes showed its compression and encoding.
pub struct Decoded<R> {
    stage: DecodeStage<R>,
    encoding: &'static Encoding,
    /// The name of an encoding other than UTF-8 that the document declares.
    declared: Option<String>,
    compressed: bool,
    /// `true` once bytes were replaced that are not in the encoding.
    replaced: Arc<AtomicBool>,
    /// The last decoded bytes: a parser requests the same bytes many times, and each stage has many layers.
    block: Vec<u8>,
    consumed: usize,
    filled: usize,
}

/// The first bytes, which were inspected, and the rest.
type Inspected<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// The inspected bytes and the rest, decompressed.
type Unzipped<R> = Inspected<BufReader<MultiGzDecoder<Inspected<R>>>>;

enum DecodeStage<R> {
    Plain(Inspected<R>),
    Gzip(Box<Unzipped<R>>),
    Converted(Box<Converter<Inspected<R>>>),
    GzipConverted(Box<Converter<Unzipped<R>>>),
}

impl<R: BufRead> Decoded<R> {
    /// Inspects the first bytes: `1f 8b` is gzip; a byte order mark or the XML declaration names the encoding.
    ///
    /// # Errors
    /// If the bytes cannot be read, or the gzip header is damaged.
    pub fn new(source: R) -> io::Result<Self> {
        let replaced = Arc::default();
        let (inspected, prologue) = inspect(source)?;
        if !prologue.starts_with(&[0x1f, 0x8b]) {
            let (encoding, declared) = encoding_of(&prologue);
            let stage = if is_utf8(encoding) {
                DecodeStage::Plain(inspected)
            } else {
                DecodeStage::Converted(Box::new(Converter::new(inspected, encoding, &replaced)))
            };
            return Ok(Self::over(stage, (encoding, declared), false, replaced));
        }
        let (inspected, prologue) = inspect(BufReader::with_capacity(BLOCK, MultiGzDecoder::new(inspected)))?;
        let (encoding, declared) = encoding_of(&prologue);
        let stage = if is_utf8(encoding) {
            DecodeStage::Gzip(Box::new(inspected))
        } else {
            DecodeStage::GzipConverted(Box::new(Converter::new(inspected, encoding, &replaced)))
        };
        Ok(Self::over(stage, (encoding, declared), true, replaced))
    }

    /// Returns the name of the document's encoding; `UTF-8` if none is stated.
    pub fn encoding(&self) -> &'static str {
        self.encoding.name()
    }

    /// Returns the name of the encoding as the document writes it: `windows-1252` is also what `ISO-8859-1` means.
    pub(super) fn name_as_written(&self) -> &str {
        self.declared.as_deref().unwrap_or(self.encoding.name())
    }

    /// Returns the encoding that the document declares if it has another one, or if nobody knows it.
    pub(super) fn misdeclared(&self) -> Option<&str> {
        self.declared.as_deref().filter(|_| is_utf8(self.encoding))
    }

    /// Returns the mark that is set once bytes were replaced that are not in the encoding.
    pub(super) fn replaced(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.replaced)
    }

    /// Returns `true` if the document was compressed.
    pub fn is_compressed(&self) -> bool {
        self.compressed
    }

    fn over(
        stage: DecodeStage<R>,
        (encoding, declared): (&'static Encoding, Option<String>),
        compressed: bool,
        replaced: Arc<AtomicBool>,
    ) -> Self {
        Self {
            stage,
            encoding,
            declared,
            compressed,
            replaced,
            block: vec![0; BLOCK],
            consumed: 0,
            filled: 0,
        }
    }

    #[cold]
    #[inline(never)]
    fn fill(&mut self) -> io::Result<()> {
        let reader: &mut dyn Read = match &mut self.stage {
            DecodeStage::Plain(reader) => reader,
            DecodeStage::Gzip(reader) => reader,
            DecodeStage::Converted(reader) => reader,
            DecodeStage::GzipConverted(reader) => reader,
        };
        (self.consumed, self.filled) = (0, 0);
        self.filled = reader.read(&mut self.block)?;
        Ok(())
    }
}

impl<R> std::fmt::Debug for Decoded<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoded")
            .field("encoding", &self.encoding.name())
            .field("compressed", &self.compressed)
            .finish_non_exhaustive()
    }
}

impl<R: BufRead> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let amount = bytes.len().min(buffer.len());
        buffer[..amount].copy_from_slice(&bytes[..amount]);
        self.consume(amount);
        Ok(amount)
    }
}

impl<R: BufRead> BufRead for Decoded<R> {
    #[inline]
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.consumed == self.filled {
            self.fill()?;
        }
        Ok(&self.block[self.consumed..self.filled])
    }

    #[inline]
    fn consume(&mut self, amount: usize) {
        self.consumed += amount;
    }
}

fn inspect<R: BufRead>(mut source: R) -> io::Result<(Inspected<R>, Vec<u8>)> {
    let mut prologue = Vec::with_capacity(PROLOGUE);
    source.by_ref().take(PROLOGUE as u64).read_to_end(&mut prologue)?;
    Ok((Cursor::new(prologue.clone()).chain(source), prologue))
}

fn is_utf8(encoding: &'static Encoding) -> bool {
    encoding == UTF_8
}

/// Recognizes the encoding by the first bytes (XML 1.0, appendix F); UTF-8 if they name none, or an unknown one. Also
/// returns the declared one, if it is another one than UTF-8.
fn encoding_of(prologue: &[u8]) -> (&'static Encoding, Option<String>) {
    match prologue {
        [0xfe, 0xff, ..] | [0, b'<', ..] => return (UTF_16BE, None),
        [0xff, 0xfe, ..] | [b'<', 0, ..] => return (UTF_16LE, None),
        _ => {}
    }
    let Some(label) = declared(prologue) else { return (UTF_8, None) };
    // Each document in ASCII is one in UTF-8.
    if label.eq_ignore_ascii_case(b"us-ascii") || label.eq_ignore_ascii_case(b"ascii") {
        return (UTF_8, None);
    }
    let name = || Some(String::from_utf8_lossy(label).into_owned());
    match Encoding::for_label(label) {
        Some(encoding) if is_utf8(encoding) => (UTF_8, None),
        // A declaration that is readable as ASCII is not in UTF-16, regardless of the encoding that it names.
        Some(encoding) if encoding != UTF_16LE && encoding != UTF_16BE => (encoding, name()),
        _ => (UTF_8, name()),
    }
}

/// Returns the name in `<?xml ... encoding="name"?>`.
fn declared(prologue: &[u8]) -> Option<&[u8]> {
    let prologue = prologue.strip_prefix(b"\xef\xbb\xbf").unwrap_or(prologue);
    let end = memchr::memmem::find(prologue, b"?>")?;
    let declaration = prologue[..end].strip_prefix(b"<?xml")?;
    let at = memchr::memmem::find(declaration, b"encoding")?;
    let value = declaration[at + b"encoding".len()..].trim_ascii_start().strip_prefix(b"=")?;
    let (quote, value) = value.trim_ascii_start().split_first()?;
    Some(&value[..memchr::memchr(*quote, value)?])
}

/// Converts an encoding to UTF-8, as many bytes at a time as are requested.
struct Converter<R> {
    inner: R,
    decoder: encoding_rs::Decoder,
    finished: bool,
    replaced: Arc<AtomicBool>,
}

impl<R: BufRead> Converter<R> {
    fn new(inner: R, encoding: &'static Encoding, replaced: &Arc<AtomicBool>) -> Self {
        Self { inner, decoder: encoding.new_decoder(), finished: false, replaced: Arc::clone(replaced) }
    }
}

impl<R: BufRead> Read for Converter<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.finished {
            let input = self.inner.fill_buf()?;
            let last = input.is_empty();
            let (result, read, written, has_replaced) = self.decoder.decode_to_utf8(input, buffer, last);
            if has_replaced {
                self.replaced.store(true, Ordering::Relaxed);
            }
            self.inner.consume(read);
            self.finished = last && result == CoderResult::InputEmpty;
            if written > 0 {
                return Ok(written);
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use crate::{DocumentReader, ReadOptions};

    #[test]
    fn o632_bytes_that_are_not_in_the_encoding_of_a_document_leave_a_finding() {
        let bytes = |entry: &[u8]| {
            let start = b"<?xml version='1.0' encoding='Shift_JIS'?>\
                <urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>";
            [&start[..], entry, b"</urlset>"].concat()
        };
        let documents: [(&[u8], usize); 3] = [
            (b"<url><loc>http://a/b</loc></url>", 0),
            (b"<url><loc>http://a/b</loc></url><!-- \xff -->", 1),
            (b"<!-- \xff -->", 1),
        ];
        for (entry, found) in documents {
            let document = bytes(entry);
            let mut reader = DocumentReader::open(&document[..], ReadOptions::new()).unwrap();
            assert!(reader.entries().all(|entry| entry.is_ok()));
            let findings = reader.take_findings();
            let told = findings.iter().filter(|finding| finding.found.contains("replaced"));
            assert_eq!(told.count(), found, "{findings:?}");
        }
    }

    #[test]
    fn o426_an_encoding_is_named_as_the_document_names_it_and_ascii_is_utf_8() {
        for (name, found) in [
            ("ISO-8859-1", Some("the encoding ISO-8859-1")),
            ("US-ASCII", None),
            ("utf-8", None),
            ("none-such", Some("the encoding none-such, which it has not")),
        ] {
            let text = format!(
                "<?xml version='1.0' encoding='{name}'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'/>"
            );
            let findings = DocumentReader::open(text.as_bytes(), ReadOptions::new()).unwrap().take_findings();
            let told = findings.iter().find(|finding| finding.rule == "GEN-24");
            assert_eq!(told.map(|finding| &*finding.found), found, "{name}");
        }
    }
}

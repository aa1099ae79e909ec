//! Bodies that arrived completely, and their documents.

use std::io::{self, BufRead, Read};

use http::{HeaderMap, header};
use instep_net::{Origin, Validators};
use resourcesync::{
    Capability, DateTime, DocumentReader, Entry, Finding, Form, Header, Limits, ReadError, ReadOptions, Uri,
};

use super::{error::DocumentError, spool::DocumentBytes};
use crate::clock::http_date;

/// The number of decoded bytes for each coded one beyond which a document is refused as a bomb (D14).
pub(super) const MOST_RATIO: u64 = 200;

/// A body that arrived completely. Its type is not known yet.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Download {
    /// The URI that it came from, after redirects.
    pub uri: Uri,
    /// The headers of the response.
    pub headers: HeaderMap,
    /// The validators for the next request.
    pub validators: Validators,
    pub(super) content: DocumentBytes,
    pub(super) limits: Limits,
}

impl Download {
    /// Returns up to `most` of its first bytes, decoded. It blocks.
    ///
    /// # Errors
    /// If it cannot be decoded.
    pub fn start(&self, most: usize) -> io::Result<Vec<u8>> {
        let mut start = Vec::new();
        self.content.open(MOST_RATIO)?.take(most as u64).read_to_end(&mut start)?;
        Ok(start)
    }

    /// Reads all its bytes, decoded, from the beginning. It blocks.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&self) -> io::Result<Box<dyn BufRead + Send>> {
        self.content.open(MOST_RATIO)
    }

    /// Reads its bytes from the beginning without decoding them. It blocks.
    pub fn read_coded(&self) -> Box<dyn BufRead + Send> {
        self.content.open_coded()
    }

    /// Returns the media type, without parameters and in lower case.
    pub fn media_type(&self) -> Option<String> {
        let text = self.headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        Some(text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
    }

    /// Reads the header of the document that it is.
    ///
    /// # Errors
    /// If it is not a document.
    pub fn document(&self) -> Result<Document, DocumentError> {
        let unreadable = |source| DocumentError::Read { uri: self.uri.as_str().to_owned(), source };
        let mut reader = open(&self.content, &self.uri, self.limits).map_err(unreadable)?;
        let (mut header, findings) = (reader.header().clone(), reader.take_findings());
        if is_index_as_list(&header, &mut reader) {
            header.form = Form::Index;
        }
        Ok(Document {
            uri: self.uri.clone(),
            header,
            validators: self.validators.clone(),
            findings,
            date: date_of(&self.headers),
            content: self.content.clone(),
            limits: self.limits,
        })
    }
}

/// Returns `true` if the first entry of a list is marked as a list itself: some Sources write their indexes as lists
/// (B29). An error is ignored here, because it is found again when the document is read.
fn is_index_as_list(header: &Header, reader: &mut Entries) -> bool {
    let lists =
        [Capability::ResourceList, Capability::ChangeList, Capability::ResourceDump, Capability::ChangeDump];
    let mut first = Entry::default();
    if header.form != Form::List || !matches!(reader.read_entry(&mut first), Ok(true)) {
        return false;
    }
    let capability = first.metadata.capability;
    let is_list = capability.as_ref().is_some_and(|capability| lists.contains(capability));
    is_list && header.capability().is_none_or(|own| Some(own) == capability.as_ref())
}

/// Returns the time at which an answer was sent, by its server's clock.
pub(super) fn date_of(headers: &HeaderMap) -> Option<DateTime> {
    http_date(headers.get(header::DATE)?.to_str().ok()?)
}

/// A document that arrived. It may still be truncated at its origin, so nothing in it is used before it was read to its
/// end (D16).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Document {
    /// The URI that it came from, after redirects.
    pub uri: Uri,
    /// The part before its entries.
    pub header: Header,
    /// The validators for the next request.
    pub validators: Validators,
    /// The deviations from the standard that were found in the header.
    pub findings: Vec<Finding>,
    /// The time at which it was sent, by the server's clock; `None` if the server states none. For a part of another file,
    /// such as the manifest of a package, the latest time of all clocks.
    pub date: Option<DateTime>,
    pub(super) content: DocumentBytes,
    pub(super) limits: Limits,
}

/// Reads the entries of a document, from the first one.
pub type Entries = DocumentReader<Box<dyn BufRead + Send>>;

impl Document {
    /// Returns the origin in whose scope it leads; `None` for a file.
    pub fn origin(&self) -> Option<Origin> {
        Origin::parse(self.uri.as_str()).ok()
    }

    /// Reads the entries from the first one. It blocks, and can be called any number of times.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&self) -> Result<Entries, DocumentError> {
        open(&self.content, &self.uri, self.limits).map_err(|source| self.unreadable(source))
    }

    /// Calls a function for each entry, and returns their number. It blocks.
    ///
    /// # Errors
    /// If the document ends early or is malformed.
    pub fn for_each(&self, mut take: impl FnMut(&Entry)) -> Result<u64, DocumentError> {
        let mut entries = self.read()?;
        let mut entry = Entry::default();
        while entries.read_entry(&mut entry).map_err(|source| self.unreadable(source))? {
            take(&entry);
        }
        Ok(entries.entries_read())
    }

    /// Calls a function for each entry, and returns the number of those that it cannot get, because they have no usable
    /// `loc` (O708). It blocks.
    ///
    /// # Errors
    /// If the document ends early or is malformed.
    pub(crate) fn for_each_usable(&self, mut take: impl FnMut(&Entry)) -> Result<u64, DocumentError> {
        let mut usable = 0;
        let all = self.for_each(|entry| {
            usable += 1;
            take(entry);
        })?;
        Ok(all - usable)
    }

    /// Returns the BLAKE3 digest of its decoded bytes. It blocks. Only this program compares the digest, so it need not
    /// be one of the standard's. It costs a tenth of SHA-256 on processors without instructions for the latter.
    ///
    /// # Errors
    /// If the stored bytes cannot be read.
    pub(crate) fn digest(&self) -> io::Result<[u8; 32]> {
        let mut bytes = self.content.open(MOST_RATIO)?;
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            match bytes.read(&mut buffer)? {
                0 => break,
                read => drop(hasher.update(&buffer[..read])),
            }
        }
        Ok(*hasher.finalize().as_bytes())
    }

    /// Adds its URI to an error of reading it.
    pub(crate) fn unreadable(&self, source: ReadError) -> DocumentError {
        DocumentError::Read { uri: self.uri.as_str().to_owned(), source }
    }
}

fn open(content: &DocumentBytes, uri: &Uri, limits: Limits) -> Result<Entries, ReadError> {
    let mut options = ReadOptions::for_base(uri.clone());
    options.limits = limits;
    DocumentReader::new(content.open(MOST_RATIO)?, options)
}

//! Fetches documents: conditional, capped, decoded, read entry by entry.

mod error;
mod shelf;
mod spool;

use std::{
    io::{BufRead, Read},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use http::{HeaderMap, StatusCode, header};
use resourcesync::{DocumentReader, Entry, Finding, Header, Limits, ReadError, ReadOptions, Uri};

pub use error::DocumentError;
pub use shelf::Shelf;
use spool::{Content, Spool};

use crate::http::{Client, HttpError, Origin, Request, Response, Validators};

/// Brings documents, whole or not at all.
#[derive(Clone, Debug)]
pub struct Documents {
    client: Client,
    folder: PathBuf,
    limits: Limits,
    files: bool,
    most: u64,
    asked_for: Arc<AtomicU64>,
}

/// What came of asking for a document.
#[derive(Debug)]
pub enum Fetched {
    /// It is what the validators stand for.
    Unchanged,
    /// It arrived.
    Arrived(Box<Download>),
}

impl Documents {
    /// Decoded bytes for each coded one, beyond which a document is a bomb (D14).
    pub const MOST_RATIO: u64 = 200;

    /// Documents that one run asks for; what leads to more leads nowhere (D15).
    pub const MOST: u64 = 100_000;

    /// Documents fetched by a client and put aside, where they are large, as unnamed files in `folder`.
    pub fn new(client: Client, folder: impl Into<PathBuf>) -> Self {
        let (limits, asked_for) = (Limits::default(), Arc::default());
        Self { client, folder: folder.into(), limits, files: false, most: Self::MOST, asked_for }
    }

    /// With another limit than [`Self::MOST`]; clones count together.
    #[must_use]
    pub fn at_most(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// With other limits than the usual ones.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Follows `file:` URIs too: for an operator who began with a path (D26).
    #[must_use]
    pub fn with_files(self) -> Self {
        Self { files: true, ..self }
    }

    /// The client they are fetched by.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Brings what lies at a URI, whatever it is.
    ///
    /// # Errors
    /// When it does not arrive whole, is too large, or is out of scope.
    pub async fn fetch(
        &self,
        uri: &Uri,
        speaker: Option<&Origin>,
        held: Option<&Validators>,
    ) -> Result<Fetched, DocumentError> {
        if uri.as_str().starts_with("file:") {
            return self.open_file(uri).map(|download| Fetched::Arrived(Box::new(download)));
        }
        if self.asked_for.fetch_add(1, Relaxed) >= self.most {
            return Err(DocumentError::TooMany { uri: uri.as_str().to_owned(), most: self.most });
        }
        let mut request = Request::document(uri.clone());
        request.speaker = speaker.cloned();
        request.held = held.filter(|held| !held.is_empty()).cloned();
        let mut attempts = self.client.attempts();
        loop {
            match self.receive(&request).await {
                Err(DocumentError::Http(error)) => attempts.again(error).await?,
                other => return other,
            }
        }
    }

    /// Brings what lies at a URI, whatever it is and whether or not it was held before.
    ///
    /// # Errors
    /// As [`Self::fetch`].
    pub async fn get(&self, uri: &Uri, speaker: Option<&Origin>) -> Result<Download, DocumentError> {
        match self.fetch(uri, speaker, None).await? {
            Fetched::Arrived(download) => Ok(*download),
            Fetched::Unchanged => {
                let (uri, status) = (uri.as_str().to_owned(), StatusCode::NOT_MODIFIED);
                Err(HttpError::Status { uri, status, retry_after: None }.into())
            }
        }
    }

    /// Brings a document and reads its header.
    ///
    /// # Errors
    /// As [`Self::fetch`]; or when it is no document.
    pub async fn open(&self, uri: &Uri, speaker: Option<&Origin>) -> Result<Document, DocumentError> {
        self.get(uri, speaker).await?.document()
    }

    /// Keeps a document that lies in something else, as a manifest in its package, under the URI of that.
    pub(crate) fn keep(&self, uri: &Uri, mut source: impl Read) -> Result<Document, DocumentError> {
        let failed = |source| DocumentError::Spool { uri: uri.as_str().to_owned(), source };
        let (mut spool, most) = (Spool::new(&self.folder), self.limits.bytes);
        let mut buffer = vec![0; 64 << 10];
        loop {
            match source.read(&mut buffer).map_err(failed)? {
                0 => break,
                read if spool.bytes() + read as u64 > most => {
                    return Err(DocumentError::TooLarge { uri: uri.as_str().to_owned(), most });
                }
                read => spool.write(&buffer[..read]).map_err(failed)?,
            }
        }
        let (uri, content, limits) = (uri.clone(), spool.finish(), self.limits);
        Download { uri, headers: HeaderMap::new(), validators: Validators::default(), content, limits }
            .document()
    }

    async fn receive(&self, request: &Request) -> Result<Fetched, DocumentError> {
        let mut response = self.client.send_once(request).await?.successful()?;
        if response.status == StatusCode::NOT_MODIFIED {
            return Ok(Fetched::Unchanged);
        }
        if let Some(coding) = response.coding().filter(|coding| coding != "gzip" && coding != "x-gzip") {
            return Err(DocumentError::Coding { uri: response.uri.into_string(), coding });
        }
        let content = self.spool(&mut response).await?;
        Ok(Fetched::Arrived(Box::new(Download {
            validators: response.validators(),
            uri: response.uri,
            headers: response.headers,
            content,
            limits: self.limits,
        })))
    }

    async fn spool(&self, response: &mut Response) -> Result<Content, DocumentError> {
        let uri = || response.uri.as_str().to_owned();
        let most = self.limits.bytes;
        let mut spool = Spool::new(&self.folder);
        while let Some(data) = response.body.chunk().await? {
            if spool.bytes() + data.len() as u64 > most {
                return Err(DocumentError::TooLarge { uri: uri(), most });
            }
            spool.write(&data).map_err(|source| DocumentError::Spool { uri: uri(), source })?;
        }
        Ok(spool.finish())
    }

    fn open_file(&self, uri: &Uri) -> Result<Download, DocumentError> {
        let text = || uri.as_str().to_owned();
        let refused = || DocumentError::File { uri: text() };
        let path = url::Url::parse(uri.as_str()).ok().and_then(|url| url.to_file_path().ok());
        let path = path.filter(|_| self.files).ok_or_else(refused)?;
        let content = open_regular(&path).map_err(|source| DocumentError::Spool { uri: text(), source })?;
        let (uri, limits) = (uri.clone(), self.limits);
        Ok(Download { uri, headers: HeaderMap::new(), validators: Validators::default(), content, limits })
    }
}

fn open_regular(path: &Path) -> std::io::Result<Content> {
    let file = std::fs::File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(Content::File(file.into()))
}

/// Something that arrived whole; what it is, is not yet known.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Download {
    /// Where it came from, after redirects.
    pub uri: Uri,
    /// The headers it came with.
    pub headers: HeaderMap,
    /// What to ask with next time.
    pub validators: Validators,
    content: Content,
    limits: Limits,
}

impl Download {
    /// Its first bytes, decoded: enough for a page or a robots.txt.
    ///
    /// # Errors
    /// When it cannot be decoded.
    pub fn start(&self, most: usize) -> std::io::Result<Vec<u8>> {
        let mut start = Vec::new();
        self.content.open(Documents::MOST_RATIO)?.take(most as u64).read_to_end(&mut start)?;
        Ok(start)
    }

    /// All its bytes, decoded, from the beginning: for a thread that may block.
    ///
    /// # Errors
    /// When they cannot be read from where they lie.
    pub fn read(&self) -> std::io::Result<Box<dyn BufRead + Send>> {
        self.content.open(Documents::MOST_RATIO)
    }

    /// Returns its bytes as they were transferred, from the beginning: for a thread that may block.
    pub fn read_coded(&self) -> Box<dyn BufRead + Send> {
        self.content.open_coded()
    }

    /// The media type, without parameters and in lower case.
    pub fn media_type(&self) -> Option<String> {
        let text = self.headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        Some(text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
    }

    /// This as a document; its header is read.
    ///
    /// # Errors
    /// When it is none.
    pub fn document(&self) -> Result<Document, DocumentError> {
        let unreadable = |source| DocumentError::Read { uri: self.uri.as_str().to_owned(), source };
        let mut reader = open(&self.content, &self.uri, self.limits).map_err(unreadable)?;
        Ok(Document {
            uri: self.uri.clone(),
            header: reader.header().clone(),
            validators: self.validators.clone(),
            findings: reader.take_findings(),
            content: self.content.clone(),
            limits: self.limits,
        })
    }
}

/// A document that arrived whole. Whether it is whole is known when its last entry has been read: nothing in it counts before (D16).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Document {
    /// Where it came from, after redirects.
    pub uri: Uri,
    /// What stands before its entries.
    pub header: Header,
    /// What to ask with next time.
    pub validators: Validators,
    /// What was noticed in the header.
    pub findings: Vec<Finding>,
    content: Content,
    limits: Limits,
}

/// Reads the entries of a document, from the first one.
pub type Entries = DocumentReader<Box<dyn BufRead + Send>>;

impl Document {
    /// The origin that it speaks for; none for a file.
    pub fn origin(&self) -> Option<Origin> {
        Origin::parse(self.uri.as_str()).ok()
    }

    /// Reads it from its beginning: for a thread that may block. It can be read any number of times.
    ///
    /// # Errors
    /// When it cannot be read from where it lies.
    pub fn read(&self) -> Result<Entries, DocumentError> {
        open(&self.content, &self.uri, self.limits).map_err(|source| self.unreadable(source))
    }

    /// Hands each entry to a function: for a thread that may block. Gives the number of entries, once the document has proved complete.
    ///
    /// # Errors
    /// When the document ends early or is wrong.
    pub fn for_each(&self, mut take: impl FnMut(&Entry)) -> Result<u64, DocumentError> {
        let mut entries = self.read()?;
        let mut entry = Entry::default();
        while entries.read_entry(&mut entry).map_err(|source| self.unreadable(source))? {
            take(&entry);
        }
        Ok(entries.entries_read())
    }

    /// An error of reading it, with where it came from.
    pub fn unreadable(&self, source: ReadError) -> DocumentError {
        DocumentError::Read { uri: self.uri.as_str().to_owned(), source }
    }
}

fn open(content: &Content, uri: &Uri, limits: Limits) -> Result<Entries, ReadError> {
    let mut options = ReadOptions::for_base(uri.clone());
    options.limits = limits;
    DocumentReader::new(content.open(Documents::MOST_RATIO)?, options)
}

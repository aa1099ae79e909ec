//! Documents, fetched whole: conditional, capped, decoded, read entry by entry.
//!
//! Nothing here decides what a document leads to.

mod error;
mod shelf;
mod spool;

use std::{
    io::{self, BufRead, Read},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use http::{HeaderMap, StatusCode, header};
use resourcesync::{DateTime, DocumentReader, Entry, Finding, Header, Limits, ReadError, ReadOptions, Uri};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

pub use error::DocumentError;
pub use shelf::Shelf;
use spool::{Content, Spool};

use crate::http::{Client, HttpError, Origin, Request, Response, Validators};

/// Fetches documents, whole or not at all.
#[derive(Clone, Debug)]
pub struct Documents {
    client: Client,
    folder: PathBuf,
    limits: Limits,
    files: bool,
    most: u64,
    asked_for: Arc<AtomicU64>,
    stop: CancellationToken,
    deadline: Option<Instant>,
}

/// The result of fetching a document.
#[derive(Debug)]
pub enum Fetched {
    /// The held copy is current.
    Unchanged,
    /// It arrived.
    Arrived(Box<Download>),
}

impl Documents {
    /// The number of decoded bytes for each coded one beyond which a document is refused as a bomb (D14).
    pub const MOST_RATIO: u64 = 200;

    /// The number of documents that one run fetches. Further ones are refused, so that an endless chain of indexes ends (D15).
    pub const MOST: u64 = 100_000;

    /// Returns documents that are fetched by a client. Large ones are kept in unnamed files in `folder`.
    pub fn new(client: Client, folder: impl Into<PathBuf>) -> Self {
        Self {
            client,
            folder: folder.into(),
            limits: Limits::default(),
            files: false,
            most: Self::MOST,
            asked_for: Arc::default(),
            stop: CancellationToken::new(),
            deadline: None,
        }
    }

    /// Allows another number of documents than [`Self::MOST`]. Clones count together.
    #[must_use]
    pub fn at_most(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// Reads documents within other limits than the usual ones.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Stops waiting for a document once the token is cancelled or the time is over, whatever it waits for: a slow server, a retry, or a
    /// `Retry-After` of an hour (B12).
    #[must_use]
    pub fn ending(self, stop: CancellationToken, after: Option<Duration>) -> Self {
        Self { stop, deadline: after.map(|after| Instant::now() + after), ..self }
    }

    /// Follows `file:` URIs too, for an operator who began with a path (D26).
    #[must_use]
    pub fn with_files(self) -> Self {
        Self { files: true, ..self }
    }

    /// Returns the folder where large documents are put aside.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Fetches a URI, whatever it has.
    ///
    /// # Errors
    /// If it does not arrive whole, is too large, or is out of scope.
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
        let stopped = || DocumentError::Stopped { uri: uri.as_str().to_owned() };
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(stopped()),
            fetched = self.receive_with_retries(&request) => fetched,
            () = sleep_until(self.deadline.unwrap_or_else(Instant::now)), if self.deadline.is_some() => Err(stopped()),
        }
    }

    async fn receive_with_retries(&self, request: &Request) -> Result<Fetched, DocumentError> {
        let mut attempts = self.client.attempts();
        loop {
            match self.receive(request).await {
                Err(DocumentError::Http(error)) => attempts.again(error).await?,
                other => return other,
            }
        }
    }

    /// Fetches a URI unconditionally, whatever it has.
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

    /// Fetches a document and reads its header.
    ///
    /// # Errors
    /// As [`Self::fetch`], or if it is not a document.
    pub async fn open(&self, uri: &Uri, speaker: Option<&Origin>) -> Result<Document, DocumentError> {
        self.get(uri, speaker).await?.document()
    }

    /// Keeps a document that is part of something else, such as a manifest in its package, under the URI of that.
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

fn open_regular(path: &Path) -> io::Result<Content> {
    let file = std::fs::File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(Content::File(file.into()))
}

/// A body that arrived whole. Its type is not known yet.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Download {
    /// The URI that it came from, after redirects.
    pub uri: Uri,
    /// The headers of the response.
    pub headers: HeaderMap,
    /// The validators for the next request.
    pub validators: Validators,
    content: Content,
    limits: Limits,
}

impl Download {
    /// Returns its first bytes, decoded: enough for a page or a robots.txt.
    ///
    /// # Errors
    /// If it cannot be decoded.
    pub fn start(&self, most: usize) -> io::Result<Vec<u8>> {
        let mut start = Vec::new();
        self.content.open(Documents::MOST_RATIO)?.take(most as u64).read_to_end(&mut start)?;
        Ok(start)
    }

    /// Reads all its bytes, decoded, from the beginning. It blocks.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&self) -> io::Result<Box<dyn BufRead + Send>> {
        self.content.open(Documents::MOST_RATIO)
    }

    /// Reads its bytes as they were transferred, from the beginning. It blocks.
    pub fn read_coded(&self) -> Box<dyn BufRead + Send> {
        self.content.open_coded()
    }

    fn date(&self) -> Option<DateTime> {
        let time = httpdate::parse_http_date(self.headers.get(header::DATE)?.to_str().ok()?).ok()?;
        let seconds = time.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
        Some(DateTime::from_unix_seconds(i64::try_from(seconds).ok()?))
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
        Ok(Document {
            uri: self.uri.clone(),
            header: reader.header().clone(),
            validators: self.validators.clone(),
            findings: reader.take_findings(),
            date: self.date(),
            content: self.content.clone(),
            limits: self.limits,
        })
    }
}

/// A document that arrived. It may still be truncated at its origin: only its last entry proves it complete, and nothing in it counts
/// before (D16).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Document {
    /// The URI that it came from, after redirects.
    pub uri: Uri,
    /// The part before its entries.
    pub header: Header,
    /// The validators for the next request.
    pub validators: Validators,
    /// The findings in the header.
    pub findings: Vec<Finding>,
    /// When it was sent, by the server's clock. `None` if the server does not say, or it came in something else.
    pub date: Option<DateTime>,
    content: Content,
    limits: Limits,
}

/// Reads the entries of a document, from the first one.
pub type Entries = DocumentReader<Box<dyn BufRead + Send>>;

impl Document {
    /// Returns the origin in whose scope it leads; `None` for a file.
    pub fn origin(&self) -> Option<Origin> {
        Origin::parse(self.uri.as_str()).ok()
    }

    /// Reads it from its beginning. It blocks, and can be called any number of times.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&self) -> Result<Entries, DocumentError> {
        open(&self.content, &self.uri, self.limits).map_err(|source| self.unreadable(source))
    }

    /// Calls a function for each entry and returns the number of entries of a document that proved complete. It blocks.
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

    /// Returns the SHA-256 of its decoded bytes. It blocks.
    ///
    /// # Errors
    /// If they cannot be read from where they lie.
    pub fn digest(&self) -> io::Result<[u8; 32]> {
        let mut bytes = self.content.open(Documents::MOST_RATIO)?;
        let mut context = ring::digest::Context::new(&ring::digest::SHA256);
        let mut buffer = vec![0; 64 << 10];
        loop {
            match bytes.read(&mut buffer)? {
                0 => break,
                read => context.update(&buffer[..read]),
            }
        }
        let mut digest = [0; 32];
        digest.copy_from_slice(context.finish().as_ref());
        Ok(digest)
    }

    /// Adds its URI to an error of reading it.
    pub fn unreadable(&self, source: ReadError) -> DocumentError {
        DocumentError::Read { uri: self.uri.as_str().to_owned(), source }
    }
}

fn open(content: &Content, uri: &Uri, limits: Limits) -> Result<Entries, ReadError> {
    let mut options = ReadOptions::for_base(uri.clone());
    options.limits = limits;
    DocumentReader::new(content.open(Documents::MOST_RATIO)?, options)
}

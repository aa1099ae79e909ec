//! Fetches complete documents: with conditional requests, within limits, decoded, and read entry by entry.
//!
//! The meaning of a document is decided elsewhere: in `discover/` and `read/`.

mod ahead;
mod arrived;
mod cache;
mod error;
mod spool;
mod together;

use std::{
    fmt,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use http::{HeaderMap, StatusCode};
use instep_net::{Client, HttpError, Origin, Request, Response, Validators};
use resourcesync::{Limits, Uri};
use tokio_util::sync::CancellationToken;

use crate::clock::Clocks;
pub(crate) use ahead::{DocumentEnd, read_ahead};
pub use arrived::{Document, Download, Entries};
pub use cache::DocumentCache;
pub use error::DocumentError;
pub(crate) use spool::Stretch;
use spool::{DocumentBytes, Spool};
pub(crate) use together::DocumentFile;

/// Fetches documents, whole or not at all.
///
/// ```no_run
/// use instep_destination::documents::Documents;
/// use resourcesync::Uri;
///
/// # async fn run(documents: &Documents) -> Result<(), Box<dyn std::error::Error>> {
/// let list = documents.open(&Uri::parse("https://example.org/resourcelist.xml")?, None).await?;
/// list.for_each(|entry| println!("{}", entry.loc))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Documents {
    client: Client,
    folder: PathBuf,
    limits: Limits,
    files: bool,
    most: u64,
    asked_for: Arc<AtomicU64>,
    clocks: Clocks,
    stop: CancellationToken,
    observer: Option<Arc<dyn DocumentObserver>>,
}

/// Receives each document that a run fetches, as it arrived, before anything in it is used.
pub trait DocumentObserver: fmt::Debug + Send + Sync {
    /// Receives the document at a URI when it has arrived completely. The run waits until this returns.
    fn arrived(&self, uri: &Uri, document: &Download);
}

/// The result of fetching a document.
#[derive(Debug)]
pub enum Fetched {
    /// The document has not changed since it was kept.
    Unchanged,
    /// The document arrived completely.
    Arrived(Box<Download>),
}

impl Documents {
    /// The number of decoded bytes for each coded one beyond which a document is refused as a bomb (D14).
    pub const MOST_RATIO: u64 = arrived::MOST_RATIO;

    /// The number of documents that one run fetches. Further ones are refused, so that an endless chain of indexes ends
    /// (D15).
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
            clocks: Clocks::default(),
            stop: CancellationToken::new(),
            observer: None,
        }
    }

    /// Allows another number of documents than [`Self::MOST`]. The number holds for all clones together.
    #[must_use]
    pub fn at_most(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// Returns documents with a separate budget.
    pub(crate) fn with_budget(&self, most: u64) -> Self {
        Self { most, asked_for: Arc::default(), ..self.clone() }
    }

    /// Reads documents within other limits than the usual ones.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Stops waiting for a document once the token is cancelled, in every case: a slow server, a retry, or a
    /// `Retry-After` of an hour (B12).
    #[must_use]
    pub(crate) fn ending(self, stop: CancellationToken) -> Self {
        Self { stop, ..self }
    }

    /// Passes each document that arrives to an observer.
    #[must_use]
    pub(crate) fn observed_by(self, observer: Option<Arc<dyn DocumentObserver>>) -> Self {
        Self { observer, ..self }
    }

    /// Allows `file:` URIs too, for an operator who began with a path (D26).
    #[must_use]
    pub(crate) fn with_files(self) -> Self {
        Self { files: true, ..self }
    }

    /// Returns the folder in which large documents are stored.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns this machine's clock, and those of the servers that sent documents.
    pub(crate) fn clocks(&self) -> &Clocks {
        &self.clocks
    }

    /// Returns the token that ends the wait for a document.
    pub(crate) fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Fetches a URI with any content.
    ///
    /// # Errors
    /// If it does not arrive completely, is too large, or is out of scope.
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
        let fetched = self.stop.run_until_cancelled(Box::pin(self.receive_with_retries(&request))).await;
        let fetched =
            fetched.unwrap_or_else(|| Err(DocumentError::Stopped { uri: uri.as_str().to_owned() }))?;
        if let (Some(observer), Fetched::Arrived(document)) = (&self.observer, &fetched) {
            observer.arrived(uri, document);
        }
        Ok(fetched)
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

    /// Fetches a URI with any content, unconditionally.
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

    /// Stores a document that is part of another file, such as a manifest in its package, under the URI of that file.
    pub(crate) fn keep(&self, uri: &Uri, mut source: impl Read) -> Result<Document, DocumentError> {
        let failed = |source| DocumentError::Spool { uri: uri.as_str().to_owned(), source };
        let (mut spool, most) = (Spool::new(&self.folder), self.limits.bytes);
        let mut buffer = vec![0; 64 << 10];
        loop {
            match source.read(&mut buffer).map_err(|error| DocumentError::unread(uri.as_str(), error))? {
                0 => break,
                read if spool.bytes() + read as u64 > most => {
                    return Err(DocumentError::TooLarge { uri: uri.as_str().to_owned(), most });
                }
                read => spool.write(&buffer[..read]).map_err(failed)?,
            }
        }
        let (uri, content, limits) = (uri.clone(), spool.finish(), self.limits);
        let (headers, validators) = (HeaderMap::new(), Validators::default());
        let document = Download { uri, headers, validators, content, limits }.document()?;
        // It has no answer of its own, and this machine's clock may be behind that of the Source (O771).
        Ok(Document { date: Some(self.clocks.present()), ..document })
    }

    async fn receive(&self, request: &Request) -> Result<Fetched, DocumentError> {
        let mut response = self.client.send_once(request).await?.successful()?;
        if let Some(date) = arrived::date_of(&response.headers) {
            self.clocks.note(date);
        }
        let status = response.status;
        if status == StatusCode::NOT_MODIFIED && request.held.is_some() {
            return Ok(Fetched::Unchanged);
        }
        if [StatusCode::NOT_MODIFIED, StatusCode::PARTIAL_CONTENT].contains(&status) {
            // The server sent a status that was not requested: without a condition, 304 does not show that anything is
            // current, and a part is not a document (B28).
            let uri = response.uri.into_string();
            return Err(HttpError::Status { uri, status, retry_after: None }.into());
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

    async fn spool(&self, response: &mut Response) -> Result<DocumentBytes, DocumentError> {
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

fn open_regular(path: &Path) -> io::Result<DocumentBytes> {
    // Looked at before it is opened: a named pipe without a writer would be waited for without end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(DocumentBytes::File(std::fs::File::open(path)?.into()))
}

#[cfg(test)]
mod tests {
    use std::{process::Command, sync::mpsc, thread, time::Duration};

    use super::*;

    #[test]
    fn o592_a_named_pipe_is_refused_as_a_document_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("list.xml");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (sender, opened) = mpsc::channel();
        thread::spawn(move || drop(sender.send(open_regular(&pipe).map(drop))));
        let error = opened.recv_timeout(Duration::from_secs(10)).unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}

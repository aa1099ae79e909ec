use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use resourcesync::Uri;

use super::{Body, HttpError, Origin, Refusal};

/// What is asked for; the URI goes out as it is written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// The URI as the document or the operator wrote it.
    pub uri: Uri,
    /// The origin of the document that leads there; none where the operator does. Redirects stay in its scope.
    pub speaker: Option<Origin>,
    /// Whether the body may come compressed. Resources are asked for as they are (D34).
    pub compressed: bool,
    /// Validators of a copy that is held.
    pub held: Option<Validators>,
    /// The part wanted: the first byte, and the last one where it is known.
    pub range: Option<(u64, Option<u64>)>,
    /// The strong ETag that a part must belong to (D32).
    pub if_range: Option<Box<str>>,
    /// The moment whose state is asked for (`Accept-Datetime`, RFC 7089).
    pub moment: Option<Box<str>>,
    /// What is sent, with its media type; makes it a POST.
    pub content: Option<(Bytes, &'static str)>,
}

impl Request {
    /// Asks for a URI as it is, without compression.
    pub fn get(uri: Uri) -> Self {
        Self {
            uri,
            speaker: None,
            compressed: false,
            held: None,
            range: None,
            if_range: None,
            moment: None,
            content: None,
        }
    }

    /// Asks for a document: it may come compressed.
    pub fn document(uri: Uri) -> Self {
        Self { compressed: true, ..Self::get(uri) }
    }

    /// On behalf of a document of an origin.
    #[must_use]
    pub fn on_behalf_of(self, speaker: Origin) -> Self {
        Self { speaker: Some(speaker), ..self }
    }

    pub(crate) fn headers(&self) -> Result<HeaderMap, Refusal> {
        let mut headers = HeaderMap::with_capacity(8);
        let coding = if self.compressed { "gzip" } else { "identity" };
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(coding));
        headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
        let mut set = |name, value: &str| {
            let value = HeaderValue::from_str(value)
                .map_err(|_| Refusal::Unusable { reason: format!("{name} has control characters") })?;
            headers.insert(name, value);
            Ok(())
        };
        if let Some(held) = &self.held {
            held.etag.iter().try_for_each(|etag| set(header::IF_NONE_MATCH, etag))?;
            held.last_modified.iter().try_for_each(|time| set(header::IF_MODIFIED_SINCE, time))?;
        }
        if let Some((first, last)) = self.range {
            set(
                header::RANGE,
                &last.map_or(format!("bytes={first}-"), |last| format!("bytes={first}-{last}")),
            )?;
            self.if_range.iter().try_for_each(|etag| set(header::IF_RANGE, etag))?;
        }
        if let Some(moment) = &self.moment {
            set(header::HeaderName::from_static("accept-datetime"), moment)?;
        }
        if let Some((_, media_type)) = self.content {
            set(header::CONTENT_TYPE, media_type)?;
        }
        Ok(headers)
    }
}

/// What a server says about a representation, to be asked about it later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Validators {
    /// `ETag`, as it is written.
    pub etag: Option<Box<str>>,
    /// `Last-Modified`, as it is written.
    pub last_modified: Option<Box<str>>,
}

impl Validators {
    /// Of what was fetched earlier.
    pub fn new(etag: Option<&str>, last_modified: Option<&str>) -> Self {
        Self { etag: etag.map(Into::into), last_modified: last_modified.map(Into::into) }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }

    /// The ETag, where it promises equal bytes.
    pub fn strong_etag(&self) -> Option<&str> {
        self.etag.as_deref().filter(|etag| etag.starts_with('"'))
    }
}

/// What came: the headers are here, the body is on its way.
#[derive(Debug)]
#[non_exhaustive]
pub struct Response {
    /// The status; never a followed redirect.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// Where it came from, after redirects: the base for references.
    pub uri: Uri,
    /// The body.
    pub body: Body,
}

impl Response {
    /// The validators of what came.
    pub fn validators(&self) -> Validators {
        Validators::new(self.header(header::ETAG), self.header(header::LAST_MODIFIED))
    }

    /// A header as text; none where it is missing or no text.
    pub fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The `Content-Length`.
    pub fn length(&self) -> Option<u64> {
        self.header(header::CONTENT_LENGTH)?.trim().parse().ok()
    }

    /// The content coding in lower case; none where the body is as it is.
    pub fn coding(&self) -> Option<String> {
        let coding = self.header(header::CONTENT_ENCODING)?.trim().to_ascii_lowercase();
        Some(coding).filter(|coding| !coding.is_empty() && coding != "identity")
    }

    /// This response where its status is a success or 304.
    ///
    /// # Errors
    /// [`HttpError::Status`] for every other one.
    pub fn successful(self) -> Result<Self, HttpError> {
        if self.status.is_success() || self.status == StatusCode::NOT_MODIFIED {
            return Ok(self);
        }
        Err(HttpError::Status { uri: self.uri.into_string(), status: self.status, retry_after: None })
    }
}

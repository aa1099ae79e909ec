//! A request before it is sent.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use resourcesync::Uri;

use crate::{
    error::Refusal,
    origin::{Origin, OriginError},
    validators::Validators,
};

/// A request. Its URI is sent as it is written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// The URI as the document or the operator wrote it.
    pub uri: Uri,
    /// The origin of the document that leads there, whose scope holds for the URI and for redirects; `None` if the
    /// operator named the URI.
    pub speaker: Option<Origin>,
    /// Accepts a compressed body. Resources are requested without compression, so that their length and digest can be
    /// compared (D34).
    pub compressed: bool,
    /// The validators of a copy that is held: an equal representation is answered with 304. They must have come from
    /// the same URI.
    pub held: Option<Validators>,
    /// The first byte of the wanted part, and the last one if it is known.
    pub range: Option<(u64, Option<u64>)>,
    /// The strong ETag that the part must belong to (D32).
    pub if_range: Option<Box<str>>,
    /// The moment whose state is wanted (`Accept-Datetime`, RFC 7089).
    pub moment: Option<Box<str>>,
    /// The method; `None` for POST with content and GET without.
    pub method: Option<Method>,
    /// The content to send and its media type.
    pub content: Option<(Bytes, &'static str)>,
    /// Further headers. A redirect to another origin does not get them.
    pub headers: HeaderMap,
}

impl Request {
    /// Returns a request for a URI, without compression.
    pub fn get(uri: Uri) -> Self {
        Self {
            uri,
            speaker: None,
            compressed: false,
            held: None,
            range: None,
            if_range: None,
            moment: None,
            method: None,
            content: None,
            headers: HeaderMap::new(),
        }
    }

    /// Returns a request for a document, which may arrive compressed.
    pub fn document(uri: Uri) -> Self {
        Self { compressed: true, ..Self::get(uri) }
    }

    /// Returns a POST of some content.
    pub fn post(uri: Uri, content: impl Into<Bytes>, media_type: &'static str) -> Self {
        Self { content: Some((content.into(), media_type)), ..Self::get(uri) }
    }

    /// Returns a request of any method, with headers that are sent only to the URI's own origin: for protocols over
    /// HTTP that sign their requests.
    pub fn of(method: Method, uri: Uri, headers: HeaderMap, content: Option<Bytes>) -> Self {
        let content = content.map(|content| (content, "application/octet-stream"));
        Self { method: Some(method), headers, content, ..Self::get(uri) }
    }

    /// Makes the request on behalf of a document of an origin.
    #[must_use]
    pub fn on_behalf_of(self, speaker: Origin) -> Self {
        Self { speaker: Some(speaker), ..self }
    }

    pub(crate) fn method(&self) -> Method {
        let usual = if self.content.is_some() { Method::POST } else { Method::GET };
        self.method.clone().unwrap_or(usual)
    }

    /// Returns the headers as they are sent to the URI's own origin, or to another one after a redirect.
    pub(crate) fn headers(&self, is_own_origin: bool) -> Result<HeaderMap, Refusal> {
        let mut headers = HeaderMap::with_capacity(8);
        let coding = if self.compressed { "gzip" } else { "identity" };
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(coding));
        headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
        let mut set = |name: HeaderName, value: &str| {
            let value = HeaderValue::from_str(value)
                .map_err(|_| OriginError::Unusable { reason: format!("{name} has control characters") })?;
            headers.insert(name, value);
            Ok::<_, Refusal>(())
        };
        if let Some(held) = &self.held {
            held.etag.iter().try_for_each(|etag| set(header::IF_NONE_MATCH, etag))?;
            held.last_modified.iter().try_for_each(|time| set(header::IF_MODIFIED_SINCE, time))?;
        }
        if let Some((first, last)) = self.range {
            let last = last.map_or(String::new(), |last| last.to_string());
            set(header::RANGE, &format!("bytes={first}-{last}"))?;
            self.if_range.iter().try_for_each(|etag| set(header::IF_RANGE, etag))?;
        }
        if let Some(moment) = &self.moment {
            set(HeaderName::from_static("accept-datetime"), moment)?;
        }
        if let Some((_, media_type)) = self.content {
            set(header::CONTENT_TYPE, media_type)?;
        }
        if is_own_origin {
            headers.extend(self.headers.clone());
        }
        Ok(headers)
    }
}

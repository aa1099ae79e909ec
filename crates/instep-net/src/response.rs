//! A response: its headers, and its body while it arrives.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, StatusCode, header};
use resourcesync::Uri;

use crate::{body::Body, error::HttpError, validators::Validators};

/// A response whose headers have arrived.
#[derive(Debug)]
#[non_exhaustive]
pub struct Response {
    /// The status; never that of a followed redirect.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The URI of the response, after redirects. References in the body are relative to it.
    pub uri: Uri,
    /// The body.
    pub body: Body,
    /// The body ends where the connection does, which may be too early: it has neither a length nor a coding that shows
    /// its end, nor TLS.
    pub has_open_end: bool,
}

impl Response {
    /// Returns the validators of the representation, without those that another representation of the same second may
    /// share.
    pub fn validators(&self) -> Validators {
        self.validators_beside(&self.times())
    }

    /// Returns the validators, for a caller that has already read the times of the response.
    pub fn validators_beside(&self, times: &ResponseTimes) -> Validators {
        Validators::new(self.header(header::ETAG), self.header(header::LAST_MODIFIED))
            .settled(times.modified, times.sent)
    }

    /// Reads the times of the response.
    pub fn times(&self) -> ResponseTimes {
        let time = |name| httpdate::parse_http_date(self.header(name)?).ok();
        let seconds = self.header(header::AGE).and_then(|age| age.trim().parse().ok());
        ResponseTimes {
            modified: time(header::LAST_MODIFIED),
            sent: time(header::DATE),
            age: seconds.map(Duration::from_secs),
        }
    }

    /// Returns a header as text; `None` if it is missing or not text.
    pub fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the `Content-Length`.
    pub fn length(&self) -> Option<u64> {
        self.header(header::CONTENT_LENGTH)?.trim().parse().ok()
    }

    /// Returns the content coding in lower case; `None` if the body is not coded.
    pub fn coding(&self) -> Option<String> {
        let coding = self.header(header::CONTENT_ENCODING)?.trim().to_ascii_lowercase();
        Some(coding).filter(|coding| !coding.is_empty() && coding != "identity")
    }

    /// Returns the `Content-Range` of a single part in bytes; `None` if it is missing, malformed, or of several parts
    /// (RFC 9110 §14.4).
    pub fn content_range(&self) -> Option<ContentRange> {
        ContentRange::parse(self.header(header::CONTENT_RANGE)?)
    }

    /// Returns the response if its status is a success or 304.
    ///
    /// # Errors
    /// [`HttpError::Status`] for every other status.
    pub fn successful(self) -> Result<Self, HttpError> {
        if self.status.is_success() || self.status == StatusCode::NOT_MODIFIED {
            return Ok(self);
        }
        Err(HttpError::Status { uri: self.uri.into_string(), status: self.status, retry_after: None })
    }
}

/// The times that a server states, by its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResponseTimes {
    /// `Last-Modified`; `None` if it is missing or no date.
    pub modified: Option<SystemTime>,
    /// `Date`, the time of the response; `None` if it is missing or no date.
    pub sent: Option<SystemTime>,
    /// `Age`, the time that the response was in a cache; `None` if it is missing or no number.
    pub age: Option<Duration>,
}

/// The position of a part in its representation, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContentRange {
    /// The first byte of the part.
    pub first: u64,
    /// The last byte of the part.
    pub last: u64,
    /// The length of the complete representation; `None` if the server does not state it.
    pub total: Option<u64>,
}

impl ContentRange {
    fn parse(text: &str) -> Option<Self> {
        let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let total = if total.trim() == "*" { None } else { Some(total.trim().parse().ok()?) };
        let range = Self { first: first.trim().parse().ok()?, last: last.trim().parse().ok()?, total };
        (range.first <= range.last && total.is_none_or(|total| range.last < total)).then_some(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_range_is_read_if_it_makes_sense() {
        let range = |first, last, total| Some(ContentRange { first, last, total });
        for (text, parsed) in [
            ("bytes 0-9/10", range(0, 9, Some(10))),
            (" bytes 5-9/* ", range(5, 9, None)),
            ("bytes 0-9/9", None),
            ("bytes 9-0/10", None),
            ("bytes */10", None),
            ("items 0-9/10", None),
            ("bytes 0-9", None),
            ("bytes 0-9/x", None),
            ("", None),
        ] {
            assert_eq!(ContentRange::parse(text), parsed, "{text:?}");
        }
    }
}

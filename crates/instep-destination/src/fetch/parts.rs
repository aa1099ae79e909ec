//! Large resources in parallel parts, where the server allows it.

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{StatusCode, header};

use super::{FetchError, partial::Partial, transfer::Transfer};
use crate::http::{HttpError, Request, Response};

/// Which resources are fetched in parts, and in which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parts {
    /// Bytes from which on a resource is fetched in parts; 64 MiB.
    pub from: u64,
    /// Bytes of one part; 4 MiB.
    pub bytes: u64,
}

impl Parts {
    /// Parts of so many bytes, for resources of at least so many.
    pub fn new(from: u64, bytes: u64) -> Self {
        Self { from, bytes: bytes.max(1) }
    }
}

impl Default for Parts {
    fn default() -> Self {
        Self::new(64 << 20, 4 << 20)
    }
}

/// Parts on their way at a time; so many wait in memory at most.
const AT_A_TIME: usize = 4;

impl Transfer<'_> {
    /// Fetches in parts what is large enough, one resource at a time; what does not arrive so, arrives in one piece: the rest is
    /// asked for as after any broken transfer.
    pub(super) async fn try_in_parts(&mut self) -> Result<(), FetchError> {
        let Some(length) = self.expected.most_bytes().filter(|length| *length >= self.shared.parts.from)
        else {
            return Ok(());
        };
        let Ok(_turn) = self.shared.in_parts.try_acquire() else { return Ok(()) };
        if self.request.held.is_some() || self.arrived() >= length {
            return Ok(());
        }
        match self.in_parts(length).await {
            Err(FetchError::Http(error)) if !matches!(error, HttpError::Refused { .. }) => {
                tracing::debug!(%error, uri = %self.request.uri, "not in parts");
                Ok(())
            }
            other => other,
        }
    }

    async fn in_parts(&mut self, length: u64) -> Result<(), FetchError> {
        if self.partial.is_none() && !self.first_part(length).await? {
            return Ok(());
        }
        let Some(mut partial) = self.partial.take() else { return Ok(()) };
        let Some(etag) = partial.strong_etag().map(str::to_owned) else {
            self.partial = Some(partial);
            return Ok(());
        };
        let request = Request { if_range: Some(etag.into()), ..self.request.clone() };
        let bytes = self.shared.parts.bytes;
        let firsts = (partial.bytes()..length).step_by(usize::try_from(bytes).unwrap_or(usize::MAX));
        let mut parts = stream::iter(firsts)
            .map(|first| {
                part(self.shared.client.clone(), request.clone(), first, (first + bytes).min(length) - 1)
            })
            .buffered(AT_A_TIME);
        let mut result = Ok(());
        while let Some(part) = parts.next().await {
            result = part.map_err(FetchError::from).and_then(|data| {
                self.received += data.len() as u64;
                partial.take(request.uri.as_str(), &data)
            });
            if result.is_err() {
                break;
            }
        }
        drop(parts);
        self.partial = Some(partial);
        result
    }

    /// The first part tells whether there are more: whether it is a part, of what was expected, under a strong ETag.
    async fn first_part(&mut self, length: u64) -> Result<bool, FetchError> {
        let bytes = self.shared.parts.bytes.min(length);
        let request = Request { range: Some((0, Some(bytes - 1))), ..self.request.clone() };
        let mut response = self.shared.client.send_once(&request).await?;
        let whole = format!("bytes 0-{}/{length}", bytes - 1);
        let usable = response.status == StatusCode::PARTIAL_CONTENT
            && response.header(header::CONTENT_RANGE).map(str::trim) == Some(&whole)
            && response.validators().strong_etag().is_some()
            && response.coding().is_none();
        if !usable {
            return Ok(false);
        }
        let algorithms = self.expected.algorithms(self.shared.verify);
        let mut partial = Partial::begin(&*self.shared.store, &algorithms, &response)?;
        let data = read_part(&mut response, bytes).await?;
        self.received += data.len() as u64;
        partial.take(request.uri.as_str(), &data)?;
        self.partial = Some(partial);
        Ok(true)
    }
}

async fn part(
    client: crate::http::Client,
    mut request: Request,
    first: u64,
    last: u64,
) -> Result<Bytes, HttpError> {
    request.range = Some((first, Some(last)));
    let mut attempts = client.attempts();
    loop {
        let received = match client.send_once(&request).await {
            Ok(mut response) if is_part(&response, &request, first) => {
                read_part(&mut response, last - first + 1).await
            }
            Ok(response) => {
                let (uri, status) = (response.uri.into_string(), response.status);
                return Err(HttpError::Status { uri, status, retry_after: None });
            }
            Err(error) => Err(error),
        };
        match received {
            Ok(data) => return Ok(data),
            Err(error) => attempts.again(error).await?,
        }
    }
}

fn is_part(response: &Response, request: &Request, first: u64) -> bool {
    let range = response.header(header::CONTENT_RANGE).unwrap_or_default().trim();
    let starts_right = range.strip_prefix("bytes ").and_then(|range| range.split('-').next()?.parse().ok());
    response.status == StatusCode::PARTIAL_CONTENT
        && starts_right == Some(first)
        && response.coding().is_none()
        && response.validators().etag.is_none_or(|etag| request.if_range == Some(etag))
}

/// A part has as many bytes as were asked for, or it is broken.
async fn read_part(response: &mut Response, bytes: u64) -> Result<Bytes, HttpError> {
    let most = usize::try_from(bytes).unwrap_or(usize::MAX);
    match response.body.read_up_to(most).await? {
        Some(data) if data.len() == most => Ok(data),
        _ => {
            let uri = response.uri.as_str().to_owned();
            Err(HttpError::Transfer { uri, source: "A part has another length than asked for".into() })
        }
    }
}

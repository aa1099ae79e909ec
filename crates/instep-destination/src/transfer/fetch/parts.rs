//! Large resources in parallel parts, if the server allows it.

use std::ops::RangeInclusive;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::StatusCode;
use instep_net::{HttpError, Request, Response};

use super::{error::FetchError, partial::Partial, transfer::Transfer};

/// The number of parts that are requested at a time. Parts that arrive early wait in memory: 16 MiB with the usual
/// size.
const AT_A_TIME: usize = 4;

impl Transfer<'_> {
    /// Fetches a large resource in parts, one resource at a time. If a part fails, the rest is requested in one
    /// piece, as after any broken transfer.
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
        let mut request = self.request.clone();
        request.if_range = Some(etag.into());
        let bytes = self.shared.parts.bytes;
        let firsts = (partial.bytes()..length).step_by(usize::try_from(bytes).unwrap_or(usize::MAX));
        let mut parts = stream::iter(firsts)
            .map(|first| {
                let range = first..=(first + bytes).min(length) - 1;
                part(self.shared.client.clone(), request.clone(), range, length)
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

    /// Fetches the first part. Returns `false` unless it is a part of a resource of the expected length with a strong
    /// ETag.
    async fn first_part(&mut self, length: u64) -> Result<bool, FetchError> {
        let bytes = self.shared.parts.bytes.min(length);
        let mut request = self.request.clone();
        request.range = Some((0, Some(bytes - 1)));
        let mut response = self.shared.client.send_once(&request).await?;
        let is_usable = is_range(&response, &(0..=bytes - 1), length)
            && response.validators().strong_etag().is_some()
            && response.coding().is_none();
        if !is_usable {
            return Ok(false);
        }
        let algorithms = self.expected.algorithms(self.shared.verify);
        let mut partial = Partial::begin(&*self.shared.store, &algorithms, &request.uri, &response)?;
        let part = read_part(&mut response, bytes).await?;
        self.received += part.len() as u64;
        partial.take(request.uri.as_str(), &part)?;
        self.partial = Some(partial);
        Ok(true)
    }
}

async fn part(
    client: instep_net::Client,
    mut request: Request,
    range: RangeInclusive<u64>,
    length: u64,
) -> Result<Bytes, HttpError> {
    request.range = Some((*range.start(), Some(*range.end())));
    let mut attempts = client.attempts();
    loop {
        let received = match client.send_once(&request).await {
            Ok(mut response) if is_part(&response, &request, &range, length) => {
                read_part(&mut response, range.end() - range.start() + 1).await
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

/// Returns `true` if a response is the requested part of the same version: the strong ETag and the total are those of
/// the first part (B7).
fn is_part(response: &Response, request: &Request, range: &RangeInclusive<u64>, length: u64) -> bool {
    let validators = response.validators();
    is_range(response, range, length)
        && response.coding().is_none()
        && validators.strong_etag().is_some_and(|etag| request.if_range.as_deref() == Some(etag))
}

fn is_range(response: &Response, range: &RangeInclusive<u64>, length: u64) -> bool {
    let sent = response.content_range();
    response.status == StatusCode::PARTIAL_CONTENT
        && sent.is_some_and(|sent| (sent.first..=sent.last) == *range && sent.total == Some(length))
}

/// Reads a part, which is broken unless it has the requested number of bytes.
async fn read_part(response: &mut Response, bytes: u64) -> Result<Bytes, HttpError> {
    let most = usize::try_from(bytes).unwrap_or(usize::MAX);
    match response.body.read_up_to(most).await? {
        Some(data) if data.len() == most => Ok(data),
        _ => {
            let uri = response.uri.as_str().to_owned();
            Err(HttpError::Transfer { uri, source: "A part has another length than requested".into() })
        }
    }
}

use std::{io::Write as _, sync::Arc};

use http::{StatusCode, header};
use resourcesync::{Hasher, Uri};

use super::{
    Expected, FetchError, Mismatch, Outcome, Shared, Stage, Staged, StagedFile, Task, coded,
};
use crate::http::{HttpError, Origin, Request, Response, Validators};

/// One resource from one place: what has arrived of it survives a broken connection.
pub(super) struct Transfer<'a> {
    shared: &'a Shared,
    request: Request,
    expected: &'a Expected,
    partial: Option<Partial>,
    received: u64,
}

/// The beginning of a resource.
struct Partial {
    staged: StagedFile,
    stage: Arc<dyn Stage>,
    hasher: Hasher,
    bytes: u64,
    head: Head,
    kept: bool,
}

/// What the response said that began it.
#[derive(Clone)]
struct Head {
    validators: Validators,
    media_type: Option<Box<str>>,
    coding: Option<String>,
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.kept {
            self.stage.discard(&self.staged.name);
        }
    }
}

impl<'a> Transfer<'a> {
    pub(super) fn new<T>(shared: &'a Shared, from: &Uri, task: &'a Task<T>) -> Self {
        let mut request = Request::get(from.clone());
        request.speaker = task.speaker.clone().or_else(|| Origin::parse(task.uri.as_str()).ok());
        request.held = task.held.clone().filter(|held| !held.is_empty());
        Self { shared, request, expected: &task.expected, partial: None, received: 0 }
    }

    /// Bytes that arrived, those of failed attempts too.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    pub(super) async fn run(&mut self, retries: u32) -> Result<Outcome, FetchError> {
        let mut attempts = self.shared.client.attempts().at_most(retries);
        loop {
            let before = self.partial.as_ref().map_or(0, |partial| partial.bytes);
            match self.attempt().await {
                Err(FetchError::Http(error)) => {
                    // A transfer that comes further each time may go on for as long as it takes.
                    let after = self.partial.as_ref().map_or(0, |partial| partial.bytes);
                    if after > before.saturating_add(Self::WORTHWHILE) {
                        attempts = self.shared.client.attempts().at_most(retries);
                    }
                    attempts.again(error).await?;
                }
                other => return other,
            }
        }
    }

    /// Bytes that make an attempt a step forward.
    const WORTHWHILE: u64 = 1 << 20;

    async fn attempt(&mut self) -> Result<Outcome, FetchError> {
        self.ask_for_the_rest();
        let mut response = self.shared.client.send_once(&self.request).await?;
        match response.status {
            StatusCode::NOT_MODIFIED if self.request.held.is_some() => return Ok(Outcome::NotModified),
            StatusCode::NOT_FOUND | StatusCode::GONE => {
                return Ok(Outcome::Gone { status: response.status.as_u16() });
            }
            StatusCode::RANGE_NOT_SATISFIABLE if self.request.range.is_some() => {
                self.partial = None;
                self.ask_for_the_rest();
                response = self.shared.client.send_once(&self.request).await?;
            }
            _ => {}
        }
        let response = response.successful()?;
        if !self.continues(&response) {
            self.partial = None;
            if response.status != StatusCode::OK {
                return Err(self.broken(&response, "a part that was not asked for"));
            }
            self.expect_length(&response)?;
        }
        self.receive(response).await?;
        self.finish()
    }

    /// A resource that broke off is asked for from where it broke, if the server's word or a digest will tell whether the parts
    /// belong together (D32).
    fn ask_for_the_rest(&mut self) {
        let partial = self.partial.as_ref().filter(|partial| {
            let validated = partial.head.validators.strong_etag().is_some();
            partial.bytes > 0 && (validated || self.expected.digests.strongest().is_some())
        });
        self.request.range = partial.map(|partial| (partial.bytes, None));
        self.request.if_range = partial.and_then(|partial| partial.head.validators.strong_etag()).map(Into::into);
    }

    /// Whether a response goes on where the partial file ends.
    fn continues(&self, response: &Response) -> bool {
        let Some(partial) = self.partial.as_ref().filter(|_| response.status == StatusCode::PARTIAL_CONTENT)
        else {
            return false;
        };
        let starts_right = response
            .header(header::CONTENT_RANGE)
            .and_then(|range| range.trim().strip_prefix("bytes ")?.split('-').next()?.trim().parse().ok())
            .is_some_and(|first: u64| first == partial.bytes);
        let etag = response.validators().etag;
        let same = etag.is_none() || etag == partial.head.validators.etag;
        starts_right && same && response.coding() == partial.head.coding
    }

    /// A wrong `Content-Length` is known before the body is.
    fn expect_length(&self, response: &Response) -> Result<(), FetchError> {
        match response.length() {
            Some(length) if response.coding().is_none() => Ok(self.expected.check_length(length)?),
            _ => Ok(()),
        }
    }

    async fn receive(&mut self, mut response: Response) -> Result<(), FetchError> {
        let head = Head {
            validators: response.validators(),
            media_type: response.header(header::CONTENT_TYPE).map(Into::into),
            coding: response.coding(),
        };
        let most = self.expected.length.filter(|_| head.coding.is_none());
        loop {
            let data = response.body.chunk().await?;
            let partial = match &mut self.partial {
                Some(partial) => partial,
                None => self.partial.insert(Partial::new(self.shared, self.expected, head.clone())?),
            };
            let Some(data) = data else { return Ok(()) };
            self.received += data.len() as u64;
            partial.take(&data)?;
            if let Some(expected) = most.filter(|most| partial.bytes > *most) {
                return Err(Mismatch::Length { found: partial.bytes, expected }.into());
            }
        }
    }

    fn finish(&mut self) -> Result<Outcome, FetchError> {
        let Some(mut partial) = self.partial.take() else {
            return Err(FetchError::Storage(std::io::ErrorKind::NotFound.into()));
        };
        if let Some(coding) = partial.head.coding.take() {
            return coded::settle(self.shared, self.expected, &coding, partial);
        }
        self.expected.check_length(partial.bytes)?;
        let digests = std::mem::replace(&mut partial.hasher, Hasher::new([])).finish();
        let verified = self.expected.check_digests(&digests)?;
        Ok(Outcome::Staged(partial.keep(digests, verified)))
    }

    fn broken(&self, response: &Response, what: &str) -> FetchError {
        let uri = response.uri.as_str().to_owned();
        HttpError::Transfer { uri, source: what.into() }.into()
    }
}

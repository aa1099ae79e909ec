//! The transfer of one resource from one place.

use http::{HeaderName, StatusCode};
use instep_net::{HttpError, Origin, Request, Response, Validators};
use resourcesync::{DateTime, Uri};

use super::{
    cached::TimeInCache,
    error::{FetchError, Mismatch},
    partial::{Partial, sent_at},
    shared::SharedTransfer,
    task::{Expected, FetchOutcome, Task},
};

/// The transfer of one resource from one place. The bytes that have arrived survive a broken connection.
pub(super) struct Transfer<'a> {
    pub(super) shared: &'a SharedTransfer,
    pub(super) request: Request,
    pub(super) expected: &'a Expected,
    pub(super) partial: Option<Partial>,
    pub(super) received: u64,
    modified: Option<DateTime>,
    /// `true` if the place is not the resource's own URI, to which its validators do not apply (B22).
    is_elsewhere: bool,
}

impl<'a> Transfer<'a> {
    /// The number of bytes from which on a broken attempt counts as progress, which resets the number of attempts.
    const STEP: u64 = 1 << 20;

    pub(super) fn new<T>(shared: &'a SharedTransfer, from: &Uri, task: &'a Task<T>) -> Self {
        let mut request = Request::get(from.clone());
        // A mirror without another origin counts as named by the resource's own origin.
        let own = || Origin::parse(task.uri.as_str()).ok();
        let is_elsewhere = *from != task.uri;
        request.speaker = task.speaker.clone().or_else(|| is_elsewhere.then(own).flatten());
        request.moment.clone_from(&task.moment);
        // An ETag means nothing to another server: a mirror that happens to use the same one would answer 304 (B22).
        request.held = task.held.clone().filter(|held| !held.is_empty() && !is_elsewhere);
        Self {
            shared,
            request,
            expected: &task.expected,
            modified: task.modified,
            is_elsewhere,
            partial: None,
            received: 0,
        }
    }

    /// Returns the bytes received, including those of failed attempts.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Makes attempts until the resource is complete. Their number is not limited while each of them makes progress.
    pub(super) async fn run(&mut self, retries: u32) -> Result<FetchOutcome, FetchError> {
        if self.expected.length.is_none_or(|length| length > Partial::LARGE) {
            let algorithms = self.expected.algorithms(self.shared.verify);
            let (store, uri) = (&*self.shared.store, self.request.uri.as_str());
            let has_digest = self.expected.digests.strongest().is_some();
            self.partial = Partial::resume(store, &algorithms, uri, has_digest)?;
        }
        self.try_in_parts().await?;
        let mut attempts = self.shared.client.attempts().at_most(retries);
        loop {
            let before = self.arrived();
            match self.attempt().await {
                Err(FetchError::Http(error)) => {
                    if self.arrived() > before + Self::STEP {
                        attempts = self.shared.client.attempts().at_most(retries);
                    }
                    attempts.again(error).await?;
                }
                other => return other,
            }
        }
    }

    async fn attempt(&mut self) -> Result<FetchOutcome, FetchError> {
        if let Some(partial) = self.partial.take_if(|partial| {
            let is_expected = self.expected.most_bytes() == Some(partial.bytes());
            is_expected && (partial.is_whole() || self.expected.digests.strongest().is_some())
        }) {
            return self.settle(partial);
        }
        self.ask_for_the_rest();
        let mut response = self.shared.client.send_once(&self.request).await?;
        if response.status == StatusCode::RANGE_NOT_SATISFIABLE && self.partial.is_some() {
            self.start_again()?;
            response = self.shared.client.send_once(&self.request).await?;
        }
        match response.status {
            StatusCode::NOT_MODIFIED if self.request.held.is_some() => {
                let times = response.times();
                let in_cache = TimeInCache::of(&times);
                return Ok(FetchOutcome::NotModified { sent: sent_at(&times), in_cache });
            }
            StatusCode::NOT_FOUND | StatusCode::GONE => {
                return Ok(FetchOutcome::Gone { status: response.status.as_u16() });
            }
            StatusCode::PARTIAL_CONTENT
                if self.request.range.is_some() && !self.continues_with(&response) =>
            {
                self.start_again()?;
                response = self.shared.client.send_once(&self.request).await?;
            }
            _ => {}
        }
        let partial = self.receive(response.successful()?).await?;
        self.settle(partial)
    }

    fn settle(&self, partial: Partial) -> Result<FetchOutcome, FetchError> {
        let (store, expected) = (&*self.shared.store, self.expected);
        let mut arrival = partial.settle(store, expected, self.modified)?;
        if self.is_elsewhere {
            arrival.validators = Validators::default();
            arrival.redirected_to = None;
        }
        Ok(FetchOutcome::Staged(arrival))
    }

    fn continues_with(&self, response: &Response) -> bool {
        let has_digest = self.expected.digests.strongest().is_some();
        // A server may send less than the rest, so something must show its end.
        let shows_end = has_digest || self.expected.most_bytes().is_some();
        self.partial.as_ref().is_some_and(|partial| {
            partial.continues_with(response, has_digest) && (shows_end || partial.has_total(response))
        })
    }

    pub(super) fn arrived(&self) -> u64 {
        self.partial.as_ref().map_or(0, Partial::bytes)
    }

    /// Requests the bytes after those that have arrived, if a validator or a digest can prove that the parts belong
    /// together (D32).
    fn ask_for_the_rest(&mut self) {
        let has_digest = self.expected.digests.strongest().is_some();
        let partial = self.partial.as_ref().filter(|partial| partial.can_continue(has_digest));
        self.request.range = partial.map(|partial| (partial.bytes(), None));
        self.request.if_range = partial.and_then(Partial::strong_etag).map(Into::into);
    }

    /// Discards the received bytes, because the rest of that version is no longer available.
    fn start_again(&mut self) -> Result<(), FetchError> {
        if let Some(partial) = self.partial.take() {
            partial.discard(&*self.shared.store)?;
        }
        self.ask_for_the_rest();
        Ok(())
    }

    /// Receives the body of a response: the complete resource, or the requested rest.
    async fn receive(&mut self, mut response: Response) -> Result<Partial, FetchError> {
        let shared = self.shared;
        let asked_for_rest = self.request.range.is_some() && response.status == StatusCode::PARTIAL_CONTENT;
        if !asked_for_rest {
            self.start_again()?;
        }
        let mut partial = match self.partial.take() {
            Some(mut partial) => {
                partial.continue_with(&response);
                partial
            }
            // An unrequested 206 has an unknown part of the resource, and is refused here (B1).
            None => {
                self.expect(&response)?;
                let algorithms = self.expected.algorithms(shared.verify);
                Partial::begin(&*shared.store, &algorithms, &self.request.uri, &response)?
            }
        };
        match self.fill(&mut partial, &mut response).await {
            Ok(()) => Ok(partial),
            Err(error @ FetchError::Mismatch(_)) => {
                partial.discard(&*shared.store)?;
                Err(error)
            }
            Err(error) => {
                self.partial = Some(partial);
                Err(error)
            }
        }
    }

    async fn fill(&mut self, partial: &mut Partial, response: &mut Response) -> Result<(), FetchError> {
        let most = self.expected.most_bytes().filter(|_| response.coding().is_none());
        while let Some(data) = response.body.chunk().await? {
            self.received += data.len() as u64;
            partial.take(self.request.uri.as_str(), &data)?;
            if let Some(expected) = most.filter(|most| partial.bytes() > *most) {
                return Err(Mismatch::Length { found: partial.bytes(), expected }.into());
            }
        }
        if let Some(expected) = partial.exceeded() {
            return Err(Mismatch::Length { found: partial.bytes(), expected }.into());
        }
        if partial.lacks_bytes() {
            let (uri, source) = (response.uri.to_string(), "The part is shorter than announced".into());
            return Err(HttpError::Transfer { uri, source }.into());
        }
        Ok(())
    }

    /// Refuses a state from after the requested time, with which a TimeGate answers if it has no earlier one (RFC 7089
    /// §4.5.3).
    fn expect_moment(&self, response: &Response) -> Result<(), Mismatch> {
        let time = |text: &str| httpdate::parse_http_date(text).ok();
        let found = response.header(HeaderName::from_static("memento-datetime"));
        let wanted = self.request.moment.as_deref().and_then(time);
        match found.and_then(time).zip(wanted) {
            Some((at, wanted)) if at > wanted => {
                Err(Mismatch::Moment { found: found.unwrap_or_default().to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// Compares the headers with the expectation, so that a wrong body need not be received.
    fn expect(&self, response: &Response) -> Result<(), FetchError> {
        let has_digest = self.expected.digests.strongest().is_some();
        match response.status {
            StatusCode::NON_AUTHORITATIVE_INFORMATION if !has_digest => return Err(FetchError::Transformed),
            // With 203 a digest shows if the proxy has changed the bytes.
            StatusCode::OK | StatusCode::NON_AUTHORITATIVE_INFORMATION => {}
            status => {
                let uri = response.uri.to_string();
                return Err(HttpError::Status { uri, status, retry_after: None }.into());
            }
        }
        if !has_digest {
            self.expect_moment(response)?;
        }
        match response.length() {
            Some(length) if response.coding().is_none() && self.expected.most_bytes().is_some() => {
                Ok(self.expected.check_length(length)?)
            }
            _ => Ok(()),
        }
    }
}

use http::StatusCode;
use resourcesync::{DateTime, Uri};

use super::{Expected, FetchError, Mismatch, Outcome, Shared, Task, partial::Partial};
use crate::http::{HttpError, Origin, Request, Response};

/// One resource from one place: what has arrived of it survives a broken connection.
pub(super) struct Transfer<'a> {
    pub(super) shared: &'a Shared,
    pub(super) request: Request,
    pub(super) expected: &'a Expected,
    pub(super) partial: Option<Partial>,
    pub(super) received: u64,
    modified: Option<DateTime>,
}

impl<'a> Transfer<'a> {
    /// Bytes that make an attempt a step forward.
    const STEP: u64 = 1 << 20;

    pub(super) fn new<T>(shared: &'a Shared, from: &Uri, task: &'a Task<T>) -> Self {
        let mut request = Request::get(from.clone());
        // Without a speaker a place speaks for itself.
        let own = || Origin::parse(task.uri.as_str()).ok();
        let elsewhere = *from != task.uri;
        request.speaker = task.speaker.clone().or_else(|| elsewhere.then(own).flatten());
        request.moment.clone_from(&task.moment);
        request.held = task.held.clone().filter(|held| !held.is_empty());
        Self {
            shared,
            request,
            expected: &task.expected,
            modified: task.modified,
            partial: None,
            received: 0,
        }
    }

    /// Bytes that arrived, those of failed attempts too.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Attempts until it is there. One that comes further each time may go on for as long as it takes.
    pub(super) async fn run(&mut self, retries: u32) -> Result<Outcome, FetchError> {
        if self.expected.length.is_some_and(|length| length > Partial::LARGE) {
            let algorithms = self.expected.algorithms(self.shared.verify);
            self.partial = Partial::resume(&*self.shared.store, &algorithms, self.request.uri.as_str())?;
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

    async fn attempt(&mut self) -> Result<Outcome, FetchError> {
        if self.partial.is_some() && self.expected.most_bytes() == Some(self.arrived()) {
            return self.settle();
        }
        self.ask_for_the_rest();
        let mut response = self.shared.client.send_once(&self.request).await?;
        if response.status == StatusCode::RANGE_NOT_SATISFIABLE && self.partial.is_some() {
            self.start_again();
            response = self.shared.client.send_once(&self.request).await?;
        }
        match response.status {
            StatusCode::NOT_MODIFIED if self.request.held.is_some() => return Ok(Outcome::NotModified),
            StatusCode::NOT_FOUND | StatusCode::GONE => {
                return Ok(Outcome::Gone { status: response.status.as_u16() });
            }
            StatusCode::PARTIAL_CONTENT if !self.goes_on_with(&response) => {
                self.start_again();
                response = self.shared.client.send_once(&self.request).await?;
            }
            _ => {}
        }
        self.receive(response.successful()?).await?;
        self.settle()
    }

    fn settle(&mut self) -> Result<Outcome, FetchError> {
        let (store, expected) = (&*self.shared.store, self.expected);
        match self.partial.take() {
            Some(partial) => Ok(Outcome::Staged(partial.settle(store, expected, self.modified)?)),
            None => Ok(Outcome::NotModified),
        }
    }

    fn goes_on_with(&self, response: &Response) -> bool {
        self.partial.as_ref().is_some_and(|partial| partial.goes_on_with(response))
    }

    pub(super) fn arrived(&self) -> u64 {
        self.partial.as_ref().map_or(0, Partial::bytes)
    }

    /// What broke off is asked for from there on, if a validator or a digest will tell whether the parts belong together (D32).
    fn ask_for_the_rest(&mut self) {
        let has_digest = self.expected.digests.strongest().is_some();
        let partial = self.partial.as_ref().filter(|partial| partial.can_go_on(has_digest));
        self.request.range = partial.map(|partial| (partial.bytes(), None));
        self.request.if_range = partial.and_then(Partial::strong_etag).map(Into::into);
    }

    fn start_again(&mut self) {
        self.partial = None;
        self.ask_for_the_rest();
    }

    async fn receive(&mut self, mut response: Response) -> Result<(), FetchError> {
        let shared = self.shared;
        let goes_on = response.status == StatusCode::PARTIAL_CONTENT;
        if !goes_on {
            self.expect(&response)?;
            let algorithms = self.expected.algorithms(shared.verify);
            self.partial = Some(Partial::begin(&*shared.store, &algorithms, &response)?);
        }
        let Some(mut partial) = self.partial.take() else { return Ok(()) };
        let result = self.fill(&mut partial, &mut response).await;
        match result {
            Err(FetchError::Mismatch(_)) => partial.discard(&*shared.store)?,
            _ => self.partial = Some(partial),
        }
        result
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
        Ok(())
    }

    /// What the headers give away need not be received.
    fn expect(&self, response: &Response) -> Result<(), FetchError> {
        if response.status != StatusCode::OK {
            let uri = response.uri.as_str().to_owned();
            return Err(HttpError::Status { uri, status: response.status, retry_after: None }.into());
        }
        match response.length() {
            Some(length) if response.coding().is_none() && self.expected.most_bytes().is_some() => {
                Ok(self.expected.check_length(length)?)
            }
            _ => Ok(()),
        }
    }
}

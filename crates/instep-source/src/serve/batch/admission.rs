//! The memory that batch requests may take, bounded before anything of a body is read.

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, header};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// The most bytes of a request: 10,000 URIs of 400 characters.
pub(super) const REQUEST_BYTES: usize = 4 << 20;
/// Bodies up to this size have their own share, so that a few slow large ones cannot block small ones.
const SMALL: usize = 256 << 10;
/// Bytes of all small bodies, in units of [`UNIT`]; the same for the large ones.
const SMALL_UNITS: usize = 1_024;
const LARGE_UNITS: usize = 3_072;
/// The bytes of a permit, and the least that a request is charged.
const UNIT: usize = 4 << 10;
/// Selections and packages at the same time: each takes up to 20 MB, measured with 10,000 resources.
const WORKERS: usize = 3;
/// The longest wait of a request for a worker; then it is asked to come again.
const WAIT: Duration = Duration::from_secs(20);

/// The permits of all batch requests of a server.
#[derive(Debug)]
pub(super) struct BatchAdmission {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
    workers: Arc<Semaphore>,
}

/// The reason why a body is not read.
#[derive(Debug, PartialEq)]
pub(super) enum BatchRefusal {
    TooLarge,
    Busy,
}

/// The right to read a body of a length.
#[derive(Debug)]
pub(super) struct BodyPermit {
    pub(super) most_bytes: usize,
    _permit: OwnedSemaphorePermit,
}

impl BatchAdmission {
    pub(super) fn new() -> Self {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Self { small: semaphore(SMALL_UNITS), large: semaphore(LARGE_UNITS), workers: semaphore(WORKERS) }
    }

    /// Charges a request for its body as its headers announce it; one without a length for the longest.
    pub(super) fn body(&self, headers: &HeaderMap) -> Result<BodyPermit, BatchRefusal> {
        let announced = headers.get(header::CONTENT_LENGTH);
        let length = match announced.and_then(|length| length.to_str().ok()?.parse::<u64>().ok()) {
            Some(length) => usize::try_from(length).map_err(|_| BatchRefusal::TooLarge)?,
            None => REQUEST_BYTES,
        };
        if length > REQUEST_BYTES {
            return Err(BatchRefusal::TooLarge);
        }
        let share = if length <= SMALL { &self.small } else { &self.large };
        let units = u32::try_from(length.div_ceil(UNIT).max(1)).unwrap_or(u32::MAX);
        let permit = Arc::clone(share).try_acquire_many_owned(units).map_err(|_| BatchRefusal::Busy)?;
        Ok(BodyPermit { most_bytes: length, _permit: permit })
    }

    /// Waits for the right to select resources and to build a package.
    pub(super) async fn worker(&self) -> Result<OwnedSemaphorePermit, BatchRefusal> {
        let worker = timeout(WAIT, Arc::clone(&self.workers).acquire_owned()).await;
        worker.ok().and_then(Result::ok).ok_or(BatchRefusal::Busy)
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn announcing(length: usize) -> HeaderMap {
        HeaderMap::from_iter([(header::CONTENT_LENGTH, HeaderValue::from(length))])
    }

    #[test]
    fn c7_bodies_are_charged_before_they_are_read_and_large_ones_keep_no_small_one_out() {
        let admission = BatchAdmission::new();
        assert_eq!(admission.body(&announcing(REQUEST_BYTES + 1)).unwrap_err(), BatchRefusal::TooLarge);
        let mut large = vec![admission.body(&HeaderMap::new()).unwrap()];
        assert_eq!(large[0].most_bytes, REQUEST_BYTES, "one without a length is charged for the longest");
        while let Ok(permit) = admission.body(&announcing(REQUEST_BYTES)) {
            large.push(permit);
        }
        assert_eq!(large.len(), LARGE_UNITS * UNIT / REQUEST_BYTES);
        assert_eq!(admission.body(&announcing(100)).unwrap().most_bytes, 100);
        large.pop();
        assert!(admission.body(&announcing(REQUEST_BYTES)).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn c7_who_gets_no_worker_in_time_is_told_to_come_again() {
        let admission = BatchAdmission::new();
        let mut workers = Vec::new();
        for _ in 0..WORKERS {
            workers.push(admission.worker().await.unwrap());
        }
        assert_eq!(admission.worker().await.unwrap_err(), BatchRefusal::Busy);
        drop(workers);
        assert!(admission.worker().await.is_ok());
    }
}

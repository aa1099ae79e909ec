//! The received part of a resource, and the conditions for its continuation.

use http::header;
use instep_net::{Response, ResponseTimes, Validators};
use resourcesync::{Algorithm, DateTime, Uri};

use super::{
    Arrival, Expected, FetchError, TimeInCache,
    decoding::{Decoding, DecodingError},
};
use crate::{
    clock::{in_seconds, now},
    store::{StagingArea, StagingFile, StoreError},
};

/// The bytes of a resource that have arrived, and the headers of the response that they began with.
pub(super) struct Partial {
    plain: StagingFile,
    /// The coding in which the bytes arrived although none was requested, and the decoded bytes.
    coded: Option<Coded>,
    /// The complete length as stated by the server; `None` for a chunked body and for a part that an earlier run
    /// left.
    total: Option<u64>,
    validators: Validators,
    media_type: Option<Box<str>>,
    modified: Option<DateTime>,
    /// The time of the response that they began with; `None` for a part that an earlier run left.
    sent: Option<DateTime>,
    /// The time that this response was in a cache.
    in_cache: Option<TimeInCache>,
    /// `true` if all bytes are from one response.
    came_whole: bool,
    has_open_end: bool,
    redirected_to: Option<Uri>,
    kept: bool,
}

struct Coded {
    coding: String,
    decoded: Option<Decoding>,
}

impl Partial {
    /// The size from which on a part is kept for the next run. Smaller parts cost less to fetch again than to keep.
    pub(super) const LARGE: u64 = 1 << 20;

    /// Begins with a response that has the complete resource, or the first part of a large one.
    pub(super) fn begin(
        store: &dyn StagingArea,
        algorithms: &[Algorithm],
        requested: &Uri,
        response: &Response,
    ) -> Result<Self, StoreError> {
        let coded = response.coding().map(|coding| {
            let decoded = Decoding::of(&coding, || store.stage(algorithms))?;
            Ok::<_, StoreError>(Coded { coding, decoded })
        });
        let times = response.times();
        Ok(Self {
            plain: store.stage(algorithms)?,
            coded: coded.transpose()?,
            total: response.content_range().map_or_else(|| response.length(), |range| range.total),
            validators: response.validators_beside(&times),
            media_type: response.header(header::CONTENT_TYPE).map(Into::into),
            modified: times.modified.and_then(in_seconds),
            sent: Some(sent_at(&times)),
            in_cache: TimeInCache::of(&times),
            came_whole: response.content_range().is_none(),
            has_open_end: response.has_open_end,
            redirected_to: Some(&response.uri).filter(|uri| *uri != requested).cloned(),
            kept: false,
        })
    }

    /// Returns the part of a large resource that an earlier run left, with its strong ETag; `None` if there is none
    /// (D32).
    pub(super) fn resume(
        store: &dyn StagingArea,
        algorithms: &[Algorithm],
        uri: &str,
        has_digest: bool,
    ) -> Result<Option<Self>, StoreError> {
        Ok(store.resume(uri, algorithms, has_digest)?.map(|(plain, etag)| Self {
            plain,
            coded: None,
            total: None,
            validators: Validators::new(Some(&etag), None),
            media_type: None,
            modified: None,
            sent: None,
            in_cache: None,
            came_whole: false,
            has_open_end: false,
            redirected_to: None,
            kept: true,
        }))
    }

    /// Returns the number of bytes that have arrived.
    pub(super) fn bytes(&self) -> u64 {
        self.plain.length()
    }

    pub(super) fn strong_etag(&self) -> Option<&str> {
        self.validators.strong_etag()
    }

    /// Returns `true` if the rest can be requested. Without a strong validator or a digest, a rest from another version
    /// would not be detected.
    pub(super) fn can_continue(&self, has_digest: bool) -> bool {
        self.bytes() > 0 && self.coded.is_none() && (has_digest || self.strong_etag().is_some())
    }

    /// Returns `true` if a response has the following bytes of the same version: the same total, and the same strong
    /// validator, or none at all if a digest will decide (B7).
    pub(super) fn continues_with(&self, response: &Response, has_digest: bool) -> bool {
        let Some(range) = response.content_range() else { return false };
        let same_total = self.total.is_none() || range.total.is_none() || range.total == self.total;
        let validators = response.validators();
        let same_version = match (self.strong_etag(), validators.strong_etag()) {
            (Some(before), Some(now)) => before == now,
            _ => has_digest && (validators.etag.is_none() || self.validators.etag.is_none()),
        };
        range.first == self.bytes() && same_total && same_version && response.coding().is_none()
    }

    /// Returns `true` if the complete length was stated, or a continuation states it.
    pub(super) fn has_total(&self, response: &Response) -> bool {
        self.total.or_else(|| response.content_range()?.total).is_some()
    }

    /// Applies the metadata of a continuation.
    pub(super) fn continue_with(&mut self, response: &Response) {
        self.total = self.total.or_else(|| response.content_range()?.total);
        self.came_whole = false;
        self.has_open_end = response.has_open_end;
    }

    /// Returns `true` if the announced number of bytes has arrived. A chunked body announces none: only its last
    /// chunk shows that it is complete.
    pub(super) fn is_whole(&self) -> bool {
        self.total == Some(self.bytes())
    }

    /// Returns `true` if announced bytes are missing, as after a part that was shorter than requested.
    pub(super) fn lacks_bytes(&self) -> bool {
        self.total.is_some_and(|total| self.bytes() < total)
    }

    /// Returns the announced number of bytes if more have arrived.
    pub(super) fn exceeded(&self) -> Option<u64> {
        self.total.filter(|total| self.bytes() > *total)
    }

    pub(super) fn take(&mut self, uri: &str, data: &[u8]) -> Result<(), FetchError> {
        self.plain.write(data)?;
        if let Some(coded) = &mut self.coded
            && let Some(decoding) = &mut coded.decoded
        {
            match decoding.write(data) {
                // Servers also state the coding for a file that is compressed itself, and such a file may be listed as
                // it is.
                Err(DecodingError::Coding) => coded.decoded = None,
                Err(DecodingError::Store(error)) => return Err(error.into()),
                Ok(()) => {}
            }
        }
        if !self.kept && self.plain.length() > Self::LARGE && self.coded.is_none() {
            if let Some(etag) = self.validators.strong_etag() {
                self.plain.keep_for(uri, etag)?;
            }
            self.kept = true;
        }
        Ok(())
    }

    /// Removes the bytes, even if they were kept for the next run.
    pub(super) fn discard(self, store: &dyn StagingArea) -> Result<(), StoreError> {
        if self.kept {
            let staged = self.plain.finish(None)?;
            store.discard(&[staged.name]);
        }
        Ok(())
    }

    /// Compares a complete resource with the expectation. A body in a content coding is accepted decoded if that form
    /// matches, otherwise as received if that matches (AMB-B38, AMB-B39); the two are never mixed.
    pub(super) fn settle(
        self,
        store: &dyn StagingArea,
        expected: &Expected,
        modified: Option<DateTime>,
    ) -> Result<Arrival, FetchError> {
        let modified = modified.or(self.modified);
        let plain = self.plain.finish(modified)?;
        let has_open_end = self.has_open_end && self.coded.is_none();
        let (decoded, unknown) = match self.coded {
            Some(Coded { coding, decoded }) => {
                match decoded.map(|decoding| decoding.finish(modified)).transpose() {
                    Ok(Some(decoded)) => (Some(decoded), None),
                    Ok(None) | Err(DecodingError::Coding) => (None, Some(coding)),
                    Err(DecodingError::Store(error)) => return Err(error.into()),
                }
            }
            None => (None, None),
        };
        if let Some(coding) = unknown.clone().filter(|_| !expected.is_known()) {
            store.discard(&[plain.name]);
            return Err(FetchError::Coding { coding });
        }
        let (staged, verified) = match (expected.choose_staged(store, plain, decoded), unknown) {
            // The coded bytes differ, which does not show if the resource does.
            (Err(_), Some(coding)) => return Err(FetchError::Coding { coding }),
            (choice, _) => choice?,
        };
        let Self { validators, media_type, sent, in_cache, came_whole, redirected_to, .. } = self;
        Ok(Arrival {
            staged,
            verified,
            validators,
            media_type,
            sent,
            in_cache,
            came_whole,
            has_open_end,
            redirected_to,
        })
    }
}

/// The number of microseconds by which this machine's clock may be ahead of that of a server which does not state its
/// time.
const SKEW: i64 = 60 * 1_000_000;

/// Returns the time at which the Source sent a response, by its clock. If that is unknown, returns a time a little before
/// this machine's.
pub(super) fn sent_at(times: &ResponseTimes) -> DateTime {
    let by_own_clock = || DateTime::from_unix_micros(now().unix_micros() - SKEW);
    let sent_to_cache = TimeInCache::of(times).map(|in_cache| in_cache.since);
    sent_to_cache.or_else(|| times.sent.and_then(in_seconds)).unwrap_or_else(by_own_clock)
}

use std::io::Write as _;

use flate2::write::MultiGzDecoder;
use http::header;
use resourcesync::{Algorithm, DateTime};

use super::{
    Arrival, Expected, FetchError,
    verify::{Form, Seen},
};
use crate::{
    documents::Documents,
    http::{Response, Validators},
    store::{Staged, StagingFile, Store, StoreError},
};

/// What has arrived of a resource, and what the server said when it began.
pub(super) struct Partial {
    plain: StagingFile,
    /// The coding that the bytes came in although none was asked for, and the bytes without it.
    coded: Option<Coded>,
    validators: Validators,
    media_type: Option<Box<str>>,
    modified: Option<DateTime>,
    kept: bool,
}

struct Coded {
    coding: String,
    decoded: Option<(MultiGzDecoder<Vec<u8>>, StagingFile)>,
}

impl Partial {
    /// Bytes from which on a part is worth keeping for the next run.
    pub(super) const LARGE: u64 = 16 << 20;

    /// The beginning of a response to a request for all of it.
    pub(super) fn begin(
        store: &dyn Store,
        algorithms: &[Algorithm],
        response: &Response,
    ) -> Result<Self, StoreError> {
        let coded = response.coding().map(|coding| {
            let known = coding == "gzip" || coding == "x-gzip";
            let decoded = known.then(|| store.stage(algorithms)).transpose()?;
            let decoded = decoded.map(|file| (MultiGzDecoder::new(Vec::new()), file));
            Ok::<_, StoreError>(Coded { coding, decoded })
        });
        Ok(Self {
            plain: store.stage(algorithms)?,
            coded: coded.transpose()?,
            validators: response.validators(),
            media_type: response.header(header::CONTENT_TYPE).map(Into::into),
            modified: response.header(header::LAST_MODIFIED).and_then(date),
            kept: false,
        })
    }

    /// What an earlier run left of a large resource, with the strong ETag that it had (D32).
    pub(super) fn resume(
        store: &dyn Store,
        algorithms: &[Algorithm],
        uri: &str,
    ) -> Result<Option<Self>, StoreError> {
        Ok(store.resume(uri, algorithms)?.map(|(plain, etag)| Self {
            plain,
            coded: None,
            validators: Validators::new(Some(&etag), None),
            media_type: None,
            modified: None,
            kept: true,
        }))
    }

    /// Bytes that the next part must follow.
    pub(super) fn bytes(&self) -> u64 {
        self.plain.length()
    }

    pub(super) fn strong_etag(&self) -> Option<&str> {
        self.validators.strong_etag()
    }

    /// Whether a part of the resource can be put behind this one.
    pub(super) fn can_go_on(&self, has_digest: bool) -> bool {
        self.bytes() > 0 && self.coded.is_none() && (has_digest || self.strong_etag().is_some())
    }

    /// Whether a response brings what follows this part, of the same state of the resource.
    pub(super) fn goes_on_with(&self, response: &Response) -> bool {
        let first: Option<u64> = response
            .header(header::CONTENT_RANGE)
            .and_then(|range| range.trim().strip_prefix("bytes ")?.split('-').next()?.trim().parse().ok());
        let etag = response.validators().etag;
        let same = etag.is_none() || self.validators.etag.is_none() || etag == self.validators.etag;
        first == Some(self.bytes()) && same && response.coding().is_none()
    }

    pub(super) fn take(&mut self, uri: &str, data: &[u8]) -> Result<(), FetchError> {
        self.plain.write(data)?;
        if let Some(Coded { coding, decoded: Some((decoder, file)) }) = &mut self.coded {
            let bad = |_| FetchError::Coding { coding: coding.clone() };
            decoder.write_all(data).map_err(bad)?;
            drain(decoder, file)?;
            let most = self.plain.length().max(64 << 10).saturating_mul(Documents::MOST_RATIO);
            if file.length() > most {
                return Err(FetchError::Coding { coding: coding.clone() });
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

    /// Forgets what arrived, also where it was to be kept for the next run.
    pub(super) fn discard(self, store: &dyn Store) -> Result<(), StoreError> {
        if self.kept {
            let staged = self.plain.finish(None)?;
            store.discard(&[staged.name]);
        }
        Ok(())
    }

    /// Everything has arrived: is it what was expected? What came in a coding is taken decoded where that is right, else as it came
    /// where that is (AMB-B38, AMB-B39); the two are never mixed.
    pub(super) fn settle(
        self,
        store: &dyn Store,
        expected: &Expected,
        modified: Option<DateTime>,
    ) -> Result<Arrival, FetchError> {
        let modified = modified.or(self.modified);
        let plain = self.plain.finish(modified)?;
        let decoded = match self.coded {
            Some(Coded { coding, decoded: None }) if !expected.is_known() => {
                store.discard(&[plain.name]);
                return Err(FetchError::Coding { coding });
            }
            Some(Coded { coding, decoded: Some((decoder, file)) }) => {
                Some(finish_decoding(decoder, file, modified, &coding)?)
            }
            _ => None,
        };
        fn seen(staged: &Staged) -> Seen<'_> {
            Seen { length: staged.length, digests: &staged.digests }
        }
        let choice = expected.choose(seen(&plain), decoded.as_ref().map(seen));
        let (staged, others) = match (&choice, decoded) {
            (Ok((Form::Decoded, _)), Some(decoded)) => (decoded, vec![plain.name]),
            (Ok(_), decoded) => (plain, decoded.into_iter().map(|decoded| decoded.name).collect()),
            (Err(_), decoded) => {
                let others = vec![plain.name];
                (plain, decoded.into_iter().map(|decoded| decoded.name).chain(others).collect())
            }
        };
        store.discard(&others);
        let (_, verified) = choice?;
        Ok(Arrival { staged, verified, validators: self.validators, media_type: self.media_type })
    }
}

fn finish_decoding(
    mut decoder: MultiGzDecoder<Vec<u8>>,
    mut file: StagingFile,
    modified: Option<DateTime>,
    coding: &str,
) -> Result<Staged, FetchError> {
    decoder.try_finish().map_err(|_| FetchError::Coding { coding: coding.to_owned() })?;
    drain(&mut decoder, &mut file)?;
    Ok(file.finish(modified)?)
}

fn drain(decoder: &mut MultiGzDecoder<Vec<u8>>, file: &mut StagingFile) -> Result<(), StoreError> {
    file.write(decoder.get_ref())?;
    decoder.get_mut().clear();
    Ok(())
}

fn date(text: &str) -> Option<DateTime> {
    let time = httpdate::parse_http_date(text).ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(DateTime::from_unix_seconds(i64::try_from(time.as_secs()).ok()?))
}

//! The decoded form of a body in the gzip coding, and the choice between it and the body as it is.

use std::io::Write as _;

use flate2::write::MultiGzDecoder;
use resourcesync::DateTime;

use super::{
    Expected, Mismatch,
    verify::{ListedForm, Seen},
};
use crate::{
    documents::Documents,
    store::{Staged, StagingArea, StagingFile, StoreError},
};

/// The decoded form of bytes in the gzip coding, staged while they arrive.
pub(crate) struct Decoding {
    decoder: MultiGzDecoder<Vec<u8>>,
    file: StagingFile,
    coded: u64,
}

/// The reason why there is no decoded form.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DecodingError {
    /// The bytes are not in this coding, or grow by more than the limit (D14).
    #[error("It is not in the content coding that is stated, or grows too much when it is decompressed")]
    Coding,
    /// The file for the decoded bytes cannot be written: the disk of the copy is at fault.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Decoding {
    /// Returns a decoder with a file for the decoded bytes; `None` if the coding is not gzip.
    pub(crate) fn of(
        coding: &str,
        stage: impl FnOnce() -> Result<StagingFile, StoreError>,
    ) -> Result<Option<Self>, StoreError> {
        let is_known = ["gzip", "x-gzip"].iter().any(|known| coding.eq_ignore_ascii_case(known));
        let file = is_known.then(stage).transpose()?;
        Ok(file.map(|file| Self { decoder: MultiGzDecoder::new(Vec::new()), file, coded: 0 }))
    }

    /// Decodes the next bytes.
    pub(crate) fn write(&mut self, data: &[u8]) -> Result<(), DecodingError> {
        self.decoder.write_all(data).map_err(|_| DecodingError::Coding)?;
        self.coded += data.len() as u64;
        self.drain()?;
        let most = self.coded.max(64 << 10).saturating_mul(Documents::MOST_RATIO);
        if self.file.length() > most { Err(DecodingError::Coding) } else { Ok(()) }
    }

    /// Completes the file, after all coded bytes were written.
    pub(crate) fn finish(mut self, modified: Option<DateTime>) -> Result<Staged, DecodingError> {
        self.decoder.try_finish().map_err(|_| DecodingError::Coding)?;
        self.drain()?;
        Ok(self.file.finish(modified)?)
    }

    fn drain(&mut self) -> Result<(), StoreError> {
        self.file.write(self.decoder.get_ref())?;
        self.decoder.get_mut().clear();
        Ok(())
    }
}

impl Expected {
    /// Returns the staged form that matches the listed one, and `true` if a digest confirms it (AMB-B38, AMB-B39). The
    /// other form is discarded, and both if neither matches; the two are never mixed.
    pub(crate) fn choose_staged(
        &self,
        store: &dyn StagingArea,
        plain: Staged,
        decoded: Option<Staged>,
    ) -> Result<(Staged, bool), Mismatch> {
        fn seen(staged: &Staged) -> Seen<'_> {
            Seen { length: staged.length, digests: &staged.digests }
        }
        let choice = self.choose(seen(&plain), decoded.as_ref().map(seen));
        let (chosen, other) = match (&choice, decoded) {
            (Ok((ListedForm::Decoded, _)), Some(decoded)) => (decoded, Some(plain)),
            (_, decoded) => (plain, decoded),
        };
        let mut unused: Vec<_> = other.map(|staged| staged.name).into_iter().collect();
        if choice.is_err() {
            unused.push(chosen.name);
        }
        store.discard(&unused);
        choice.map(|(_, verified)| (chosen, verified))
    }
}

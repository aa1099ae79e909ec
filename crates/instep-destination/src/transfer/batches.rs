//! Batches: resources that instep's own Source packs on request.

use instep_net::Origin;
use resourcesync::Uri;

use super::{
    fit::ManifestFit,
    pipeline::{PAGE, Pipeline},
};
use crate::{
    Error, ProblemKind,
    draft::Draft,
    error::BesideUrl as _,
    run::{SetRun, SyncRun},
    state::ActionKind,
    transfer::package::{PackageFetchError, Packages},
};

/// The most resources of one batch, and their bytes as far as they are known: what instep's own Source packs at once.
const BATCH_RESOURCES: usize = 10_000;
const BATCH_BYTES: u64 = 256 << 20;
/// Bytes of the URIs in one request: our own Source reads 4 MiB of it. URIs may be long.
const REQUEST_BYTES: usize = 3 << 20;

/// The endpoint for packages made on request.
#[derive(Clone, Debug)]
pub(crate) struct BatchEndpoint {
    pub(crate) uri: Uri,
    /// The origin of the document that names it.
    pub(crate) speaker: Option<Origin>,
}

impl Pipeline {
    /// Asks for what the plan wants in batches; what they do not bring stays in the plan.
    pub(super) async fn fetch_batches(
        &mut self,
        run: &mut SyncRun<'_>,
        set: &SetRun,
        packages: &Packages,
        endpoint: &BatchEndpoint,
    ) -> Result<(), Error> {
        let mut after = 0;
        let mut most = BATCH_RESOURCES;
        while run.ending().is_none() {
            let batch = set.with(|draft| UriBatch::next(draft, after, most))?;
            let uris = batch.uris;
            if uris.is_empty() {
                break;
            }
            match self.take_batch(run, set, packages, endpoint, &uris).await? {
                Ok(()) => {}
                Err(PackageFetchError::TooMuch) if uris.len() > 1 => {
                    most = uris.len() / 2;
                    continue;
                }
                Err(PackageFetchError::Unknown { uris: unknown }) => {
                    let known = uris.iter().filter(|uri| !unknown.iter().any(|text| text == uri.as_str()));
                    let known: Vec<Uri> = known.cloned().collect();
                    if !known.is_empty() {
                        // One more batch at most: the plan fetches the rest by requests.
                        let _ = self.take_batch(run, set, packages, endpoint, &known).await?;
                    }
                }
                Err(PackageFetchError::Interrupted) => break,
                Err(error) => {
                    let uri = endpoint.uri.as_str();
                    run.reporter.warn(ProblemKind::Document, uri, &error.beside(uri));
                    break;
                }
            }
            after = batch.last;
        }
        Ok(())
    }

    async fn take_batch(
        &mut self,
        run: &mut SyncRun<'_>,
        set: &SetRun,
        packages: &Packages,
        endpoint: &BatchEndpoint,
        uris: &[Uri],
    ) -> Result<Result<(), PackageFetchError>, Error> {
        let arriving = match packages.batch(&endpoint.uri, endpoint.speaker.as_ref(), uris).await {
            Ok(arriving) => arriving,
            Err(error) => return Ok(Err(error)),
        };
        match self.take_early(run, set, packages, arriving, ManifestFit::Inventory).await? {
            Ok(open) => self.unpack(run, set, open, ManifestFit::Inventory, None).await.map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }
}

/// Resources to ask for together.
struct UriBatch {
    uris: Vec<Uri>,
    /// The sequence after which the plan goes on.
    last: i64,
}

impl UriBatch {
    fn next(draft: &mut Draft, after: i64, most: usize) -> Result<Self, Error> {
        let mut batch = Self { uris: Vec::new(), last: after };
        let (mut bytes, mut request) = (0, 0);
        loop {
            let page = draft.actions().after(batch.last, PAGE)?;
            if page.is_empty() {
                return Ok(batch);
            }
            for action in page {
                if matches!(action.kind, ActionKind::Create | ActionKind::Update) {
                    bytes += action.desired.metadata.length.unwrap_or(0);
                    // With its quotation marks and a comma.
                    request += action.desired.uri.as_str().len() + 3;
                    let is_full = bytes > BATCH_BYTES || request > REQUEST_BYTES;
                    if batch.uris.len() == most || is_full && !batch.uris.is_empty() {
                        return Ok(batch);
                    }
                    batch.uris.push(action.desired.uri);
                }
                batch.last = action.sequence;
            }
        }
    }
}

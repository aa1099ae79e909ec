//! Batches: resources that instep's own Source packs on request.

use std::collections::BTreeSet;

use instep_net::Origin;
use resourcesync::Uri;
use tokio::task::JoinHandle;

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
    transfer::package::{Arriving, PackageFetchError, Packages},
};

/// The most resources of one batch: the limit of instep's own Source.
const BATCH_RESOURCES: usize = 10_000;
/// The most bytes of the resources of one batch, as far as their lengths are known: the limit of instep's own Source.
const BATCH_BYTES: u64 = 256 << 20;
/// The most bytes of the URIs in one request. instep's own Source reads 4 MiB of it, and URIs may be long.
const REQUEST_BYTES: usize = 3 << 20;

/// The endpoint for packages made on request.
#[derive(Clone, Debug)]
pub(crate) struct BatchEndpoint {
    pub(crate) uri: Uri,
    /// The origin of the document that names it.
    pub(crate) speaker: Option<Origin>,
}

impl Pipeline {
    /// Requests the resources of the plan in batches. Resources that are in no batch stay in the plan. The next batch
    /// is packed and transferred while the previous one is unpacked.
    pub(super) async fn fetch_batches(
        &mut self,
        run: &mut SyncRun<'_>,
        set: &SetRun,
        packages: &Packages,
        endpoint: &BatchEndpoint,
    ) -> Result<(), Error> {
        let mut most = BATCH_RESOURCES;
        let ask = |after, most| AskedBatch::next(set, packages, endpoint, after, most);
        let mut next = ask(0, most)?;
        while let Some(asked) = next.take() {
            if run.ending().is_some() {
                asked.give_up(packages).await;
                break;
            }
            let AskedBatch { uris, after, last, answer } = asked;
            let answer = answer.await.unwrap_or(Err(PackageFetchError::Interrupted));
            if answer.is_ok() {
                next = ask(last, most)?;
            }
            match self.take_batch(run, set, packages, answer).await? {
                Ok(()) => {}
                Err(PackageFetchError::TooMuch) if uris.len() > 1 => {
                    most = uris.len() / 2;
                    next = ask(after, most)?;
                    continue;
                }
                Err(PackageFetchError::Unknown { uris: unknown }) => {
                    let known = without(&uris, &unknown);
                    if !known.is_empty() {
                        // At most one more batch is requested. The rest is fetched with a request for each resource.
                        let answer = packages.batch(&endpoint.uri, endpoint.speaker.as_ref(), &known).await;
                        let _ = self.take_batch(run, set, packages, answer).await?;
                    }
                }
                Err(error) => {
                    if !matches!(error, PackageFetchError::Interrupted) {
                        let uri = endpoint.uri.as_str();
                        run.reporter.warn(ProblemKind::Document, uri, &error.beside(uri));
                    }
                    if let Some(asked) = next {
                        asked.give_up(packages).await;
                    }
                    break;
                }
            }
            if next.is_none() {
                next = ask(last, most)?;
            }
        }
        Ok(())
    }

    async fn take_batch(
        &mut self,
        run: &mut SyncRun<'_>,
        set: &SetRun,
        packages: &Packages,
        answer: Result<Arriving, PackageFetchError>,
    ) -> Result<Result<(), PackageFetchError>, Error> {
        let arriving = match answer {
            Ok(arriving) => arriving,
            Err(error) => return Ok(Err(error)),
        };
        match self.take_early(run, set, packages, arriving, ManifestFit::Served).await? {
            Ok(open) => self.unpack(run, set, open, ManifestFit::Served, None).await.map(Ok),
            Err(error) => error.unless_fault_of_disk().map(Err),
        }
    }
}

/// Returns the URIs that are not among these texts, of which there may be as many.
fn without(uris: &[Uri], unknown: &[String]) -> Vec<Uri> {
    let unknown: BTreeSet<&str> = unknown.iter().map(String::as_str).collect();
    uris.iter().filter(|uri| !unknown.contains(uri.as_str())).cloned().collect()
}

/// A requested batch.
struct AskedBatch {
    uris: Vec<Uri>,
    /// The sequences in the plan before the batch and at its end.
    after: i64,
    last: i64,
    answer: JoinHandle<Result<Arriving, PackageFetchError>>,
}

impl AskedBatch {
    /// Requests the next resources of the plan; `None` if there are no more.
    fn next(
        set: &SetRun,
        packages: &Packages,
        endpoint: &BatchEndpoint,
        after: i64,
        most: usize,
    ) -> Result<Option<Self>, Error> {
        let UriBatch { uris, last } = set.with(|draft| UriBatch::next(draft, after, most))?;
        if uris.is_empty() {
            return Ok(None);
        }
        let (packages, endpoint, wanted) = (packages.clone(), endpoint.clone(), uris.clone());
        let answer =
            tokio::spawn(
                async move { packages.batch(&endpoint.uri, endpoint.speaker.as_ref(), &wanted).await },
            );
        Ok(Some(Self { uris, after, last, answer }))
    }

    /// Ends the request, and removes the bytes that arrived.
    async fn give_up(self, packages: &Packages) {
        self.answer.abort();
        if let Ok(Ok(arriving)) = self.answer.await {
            arriving.give_up(packages).await;
        }
    }
}

/// The resources that are requested together.
struct UriBatch {
    uris: Vec<Uri>,
    /// The sequence number after which the plan continues.
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
                    bytes = action.desired.metadata.length.unwrap_or(0).saturating_add(bytes);
                    // Each URI has two quotation marks and a comma.
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn o593_many_unknown_resources_are_left_out_at_once() {
        let names: Vec<String> = (0..40_000).map(|n| format!("http://example.com/{n:08}")).collect();
        let uris: Vec<Uri> = names.iter().map(|name| Uri::parse(name).unwrap()).collect();
        let began = Instant::now();
        assert_eq!(without(&uris, &names[1..]), uris[..1]);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
}

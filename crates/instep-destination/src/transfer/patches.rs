//! Patches: versions that are made from the held one (§14.3). The formats are in `resourcesync`.

use std::io::Read as _;

use instep_net::{Client, Origin, Request, Validators};
use resourcesync::{Digests, MediaType, Uri, patch::PatchFormat};

use super::{pipeline::Pipeline, settle::Placer};
use crate::{
    Error,
    plan::{Desired, PatchLink, PatchStep},
    run::{SetRun, SyncRun},
    state::{Action, ActionKind, ReadState},
    store::StoreError,
    transfer::fetch::Arrival,
};

/// The number of actions that are read at a time.
const PAGE: usize = 500;
/// The most bytes of a held version, a patch and a result, which are all in memory.
pub(super) const MOST_BYTES: usize = 8 << 20;

/// A version that patches may make.
struct PatchOffer {
    desired: Desired,
    /// The versions on the way to it, then the version itself.
    versions: Vec<Version>,
}

/// A version, and the patches that make it from the one before.
struct Version {
    digests: Digests,
    patches: Vec<(Uri, PatchFormat)>,
}

impl Pipeline {
    /// Applies patches; resources that a patch does not produce exactly stay in the plan.
    pub(super) async fn patch(&mut self, run: &mut SyncRun<'_>, set: &SetRun) -> Result<(), Error> {
        if set.with(|draft| draft.actions().count_of(ActionKind::Update)) == 0 {
            return Ok(());
        }
        let placer = Placer::new(run, set.id);
        let reader = run.state().reader()?;
        let mut after = 0;
        while run.ending().is_none() {
            let page = set.with(|draft| draft.actions().of_kind_after(ActionKind::Update, after, PAGE))?;
            let Some(last) = page.last() else { break };
            after = last.sequence;
            for offer in page.into_iter().filter_map(offer) {
                let Some(held) = held_version(&placer, &*reader, &offer.desired)? else { continue };
                let made = run.stop.unless(offer.make(&run.network.client, held)).await;
                let Some(bytes) = made.flatten() else { continue };
                let arrival = stage(&placer, &offer.desired, &bytes)?;
                let Ok(commit) = placer.place(&offer.desired, None, arrival) else { continue };
                set.with(|draft| draft.done(offer.desired.uri.as_str()))?;
                self.send(commit).await?;
            }
            self.report_committed(run);
        }
        Ok(())
    }
}

fn offer(action: Action) -> Option<PatchOffer> {
    let retrieval = action.desired.retrieval();
    if retrieval.patches.is_empty() {
        return None;
    }
    let known = |patch: &PatchLink| {
        Some((Uri::parse(&patch.href).ok()?, PatchFormat::of(&MediaType::new(&patch.media_type))?))
    };
    let version = |digests: Digests, patches: &[PatchLink]| Version {
        digests,
        patches: patches.iter().filter_map(known).collect(),
    };
    let step = |step: &PatchStep| version(Digests::parse(&step.hash, |_| {}), &step.patches);
    let last = version(action.desired.metadata.digests.clone(), &retrieval.patches);
    let versions = retrieval.steps.iter().map(step).chain([last]).collect();
    Some(PatchOffer { desired: action.desired, versions })
}

impl PatchOffer {
    /// Applies the patches to the held version, one after the other, and returns the result if its digest is the
    /// desired one.
    async fn make(&self, client: &Client, held: HeldBytes) -> Option<Vec<u8>> {
        let HeldBytes { mut bytes, digests } = held;
        // A patch must be within the scope of its resource.
        let speaker = Origin::parse(self.desired.uri.as_str()).ok()?;
        let is_held = |version: &Version| version.digests.agrees_with(&digests) == Some(true);
        let begin = self.versions.iter().rposition(is_held).map_or(0, |at| at + 1);
        if self.versions[begin..].iter().any(|version| version.patches.is_empty()) {
            return None;
        }
        for version in &self.versions[begin..] {
            bytes = version.made_of(&bytes, client, &speaker).await?;
        }
        Some(bytes)
    }
}

impl Version {
    /// Returns the result of the first patch that makes this version from the earlier one.
    async fn made_of(&self, before: &[u8], client: &Client, speaker: &Origin) -> Option<Vec<u8>> {
        for (uri, format) in &self.patches {
            let request = Request::get(uri.clone()).on_behalf_of(speaker.clone());
            let Ok(response) = client.send(&request).await else { continue };
            let Ok(mut response) = response.successful() else { continue };
            let Ok(Some(patch)) = response.body.read_up_to(MOST_BYTES).await else { continue };
            match format.apply(before, &patch, &self.digests, MOST_BYTES) {
                Ok(bytes) => return Some(bytes),
                Err(error) => tracing::debug!(%uri, %error, "the patch is not used"),
            }
        }
        None
    }
}

/// A held version in memory.
pub(super) struct HeldBytes {
    pub(super) bytes: Vec<u8>,
    digests: Digests,
}

/// Returns the held version. `None` if it is too large to be patched in memory, or cannot be read.
pub(super) fn held_version(
    placer: &Placer,
    reader: &dyn ReadState,
    desired: &Desired,
) -> Result<Option<HeldBytes>, Error> {
    let Some(held) = reader.held(desired.uri.as_str())? else { return Ok(None) };
    if held.metadata.length.is_none_or(|length| length > MOST_BYTES as u64) {
        return Ok(None);
    }
    let Ok(file) = placer.store.read(&held.path, &held.place) else { return Ok(None) };
    let mut bytes = Vec::new();
    let read = file.take(MOST_BYTES as u64).read_to_end(&mut bytes);
    Ok(read.is_ok().then_some(HeldBytes { bytes, digests: held.metadata.digests }))
}

/// Stages the result of patches.
///
/// # Errors
/// If it cannot be stored: the disk of the copy is at fault, and the run ends.
pub(super) fn stage(placer: &Placer, desired: &Desired, bytes: &[u8]) -> Result<Arrival, StoreError> {
    let algorithms: Vec<_> =
        desired.metadata.digests.verifiable().map(|digest| digest.algorithm.clone()).collect();
    let mut file = placer.store.staging().stage(&algorithms)?;
    file.write(bytes)?;
    let staged = file.finish(desired.metadata.lastmod)?;
    let validators = Validators::default();
    Ok(Arrival {
        staged,
        verified: true,
        validators,
        media_type: None,
        sent: None,
        in_cache: None,
        came_whole: false,
        has_open_end: false,
        redirected_to: None,
    })
}

//! Versions that come as a patch against the held one (§14.3).

use std::io::Read as _;

use resourcesync::{Digests, MediaType, Uri, patch::PatchFormat};

use super::{pipeline::Pipeline, settle::Placer};
use crate::{
    Error,
    fetch::Arrival,
    http::{Client, Origin, Request, Validators},
    state::{Action, ActionKind, State, Wanted},
    sync::{
        run::Run,
        set::SetRun,
        wanted::{Extra, Step},
    },
};

/// Actions looked at together.
const PAGE: usize = 500;
/// Held versions and patches are in memory while one is applied to the other.
pub(super) const MOST_BYTES: usize = 8 << 20;

/// A version that patches may make.
struct Offer {
    wanted: Wanted,
    /// The versions on the way to it, and the version itself.
    way: Vec<Version>,
}

/// A version, and the patches that make it of the one before.
struct Version {
    digests: Digests,
    patches: Vec<(Uri, PatchFormat)>,
}

impl Pipeline {
    /// Brings by patch what can be; what a patch does not make exactly stays in the plan.
    pub(super) async fn patch(&mut self, run: &mut Run<'_>, set: &SetRun) -> Result<(), Error> {
        let placer = Placer::new(run, set.id);
        let reader = run.state().reader()?;
        let mut after = 0;
        while run.ending().is_none() {
            let page = set.with(|draft| draft.actions().of_kind_after(ActionKind::Update, after, PAGE))?;
            let Some(last) = page.last() else { break };
            after = last.sequence;
            for offer in page.into_iter().filter_map(offer) {
                let Some(held) = held_version(&placer, &reader, &offer.wanted)? else { continue };
                let Some(bytes) = offer.make(&run.client, held).await else { continue };
                let Some(arrival) = stage(&placer, &offer.wanted, &bytes) else { continue };
                let Ok(commit) = placer.place(&offer.wanted, None, arrival) else { continue };
                set.with(|draft| draft.done(offer.wanted.uri.as_str()))?;
                self.send(commit).await?;
            }
        }
        Ok(())
    }
}

fn offer(action: Action) -> Option<Offer> {
    let Extra { steps, patches, .. } = Extra::of(&action.wanted);
    if patches.is_empty() {
        return None;
    }
    let known = |(uri, media_type): (String, String)| {
        Some((Uri::parse(&uri).ok()?, PatchFormat::of(&MediaType::new(&media_type))?))
    };
    let last = (action.wanted.facts.digests.clone(), patches);
    let steps = steps.into_iter().map(|Step { hash, patches }| (Digests::parse(&hash, |_| {}), patches));
    let version = |(digests, patches): (Digests, Vec<_>)| Version {
        digests,
        patches: patches.into_iter().filter_map(known).collect(),
    };
    let way = steps.chain([last]).map(version).collect();
    Some(Offer { wanted: action.wanted, way })
}

impl Offer {
    /// What the patches make of the held version, one after the other: exactly what is wanted, by its digest.
    async fn make(&self, client: &Client, (mut bytes, held): (Vec<u8>, Digests)) -> Option<Vec<u8>> {
        // A patch lies within the scope of its resource.
        let speaker = Origin::parse(self.wanted.uri.as_str()).ok()?;
        let is_held = |version: &Version| version.digests.agrees_with(&held) == Some(true);
        let begin = self.way.iter().rposition(is_held).map_or(0, |at| at + 1);
        if self.way[begin..].iter().any(|version| version.patches.is_empty()) {
            return None;
        }
        for version in &self.way[begin..] {
            bytes = version.made_of(&bytes, client, &speaker).await?;
        }
        Some(bytes)
    }
}

impl Version {
    /// What the first patch that fits makes of the version before.
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

/// The held version and its digests, where it is small enough to be patched in memory.
pub(super) fn held_version(
    placer: &Placer,
    reader: &State,
    wanted: &Wanted,
) -> Result<Option<(Vec<u8>, Digests)>, Error> {
    let Some(held) = reader.held(wanted.uri.as_str())? else { return Ok(None) };
    let small = held.facts.length.is_some_and(|length| length <= MOST_BYTES as u64);
    let Ok(file) = placer.store.read(&held.path) else { return Ok(None) };
    let mut bytes = Vec::new();
    let read = file.take(MOST_BYTES as u64).read_to_end(&mut bytes);
    Ok((small && read.is_ok()).then_some((bytes, held.facts.digests)))
}

pub(super) fn stage(placer: &Placer, wanted: &Wanted, bytes: &[u8]) -> Option<Arrival> {
    let algorithms: Vec<_> =
        wanted.facts.digests.verifiable().map(|digest| digest.algorithm.clone()).collect();
    let mut file = placer.store.stage(&algorithms).ok()?;
    file.write(bytes).ok()?;
    let staged = file.finish(wanted.facts.lastmod).ok()?;
    Some(Arrival { staged, verified: true, validators: Validators::default(), media_type: None })
}

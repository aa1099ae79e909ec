//! Versions that come as a patch against the held one (§14.3).

use std::io::Read as _;

use resourcesync::{MediaType, Uri, patch::PatchFormat};

use super::{pipeline::Pipeline, settle::Placer};
use crate::{
    Error,
    fetch::Arrival,
    http::{Client, Origin, Request, Validators},
    state::{Action, ActionKind, State, Wanted},
    sync::{run::Run, set::SetRun, wanted::Extra},
};

/// Actions looked at together.
const PAGE: usize = 500;
/// Held versions and patches are in memory while one is applied to the other.
pub(super) const MOST_BYTES: usize = 8 << 20;

/// A patch that can be tried.
struct Offer {
    wanted: Wanted,
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
                let Some(held) = held_bytes(&placer, &reader, &offer.wanted)? else { continue };
                let Some(bytes) = patched(&run.client, &offer, held).await else { continue };
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
    let Extra { patches, .. } = Extra::of(&action.wanted);
    let known = |(uri, media_type): (String, String)| {
        Some((Uri::parse(&uri).ok()?, PatchFormat::of(&MediaType::new(&media_type))?))
    };
    let patches: Vec<_> = patches.into_iter().filter_map(known).collect();
    (!patches.is_empty()).then_some(Offer { wanted: action.wanted, patches })
}

/// The held version, where it is small enough to be patched in memory.
pub(super) fn held_bytes(placer: &Placer, reader: &State, wanted: &Wanted) -> Result<Option<Vec<u8>>, Error> {
    let Some(held) = reader.held(wanted.uri.as_str())? else { return Ok(None) };
    let small = held.facts.length.is_some_and(|length| length <= MOST_BYTES as u64);
    let Ok(file) = placer.store.read(&held.path) else { return Ok(None) };
    let mut bytes = Vec::new();
    let read = file.take(MOST_BYTES as u64).read_to_end(&mut bytes);
    Ok((small && read.is_ok()).then_some(bytes))
}

/// What the first patch that fits makes of the held version: exactly what is wanted, by its digest.
async fn patched(client: &Client, offer: &Offer, held: Vec<u8>) -> Option<Vec<u8>> {
    // A patch lies within the scope of its resource.
    let speaker = Origin::parse(offer.wanted.uri.as_str()).ok()?;
    for (uri, format) in &offer.patches {
        let request = Request::get(uri.clone()).on_behalf_of(speaker.clone());
        let Ok(response) = client.send(&request).await else { continue };
        let Ok(mut response) = response.successful() else { continue };
        let Ok(Some(patch)) = response.body.read_up_to(MOST_BYTES).await else { continue };
        match format.apply(&held, &patch, &offer.wanted.facts.digests, MOST_BYTES) {
            Ok(bytes) => return Some(bytes),
            Err(error) => tracing::debug!(%uri, %error, "the patch is not used"),
        }
    }
    None
}

pub(super) fn stage(placer: &Placer, wanted: &Wanted, bytes: &[u8]) -> Option<Arrival> {
    let algorithms: Vec<_> =
        wanted.facts.digests.verifiable().map(|digest| digest.algorithm.clone()).collect();
    let mut file = placer.store.stage(&algorithms).ok()?;
    file.write(bytes).ok()?;
    let staged = file.finish(wanted.facts.lastmod).ok()?;
    Some(Arrival { staged, verified: true, validators: Validators::default(), media_type: None })
}

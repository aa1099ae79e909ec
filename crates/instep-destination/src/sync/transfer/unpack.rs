//! Resources that come in packages: of dumps, or of batches asked for.

use resourcesync::{Change, Digests, Entry, Relation, Uri, patch::PatchFormat};
use tokio::sync::mpsc;

use super::{patches, pipeline::Pipeline, settle::Placer, versions};
use crate::{
    Error, ProblemKind,
    commit::Commit,
    documents::Document,
    error::story,
    fetch::Arrival,
    http::Origin,
    package::{OpenPackage, PackageError, Packages},
    plan::{Currency, Facts, currency},
    state::{Action, ActionKind, SetId, Wanted},
    sync::{Carrier, draft::Draft, dump::DumpPackage, run::Run, set::SetRun},
};

/// What a plan takes from a package.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) commits: Vec<Commit>,
    pub(super) unchanged: u64,
}

/// Resources unpacked before they are handed on, and how often before those are committed.
const AT_A_TIME: usize = 256;
const AHEAD: usize = 2;

/// The most resources of one batch, and their bytes as far as they are known: what instep's own Source gives at once.
const BATCH_RESOURCES: usize = 10_000;
const BATCH_BYTES: u64 = 256 << 20;

/// Rows of the plan read at a time.
const PAGE: usize = 500;

impl Pipeline {
    /// Brings what does not come by a request for each resource; what a carrier does not bring stays in the plan.
    pub(super) async fn bring(
        &mut self,
        run: &mut Run<'_>,
        set: &SetRun,
        carrier: Carrier,
    ) -> Result<(), Error> {
        let packages = run.packages();
        match carrier {
            Carrier::Requests => self.patch(run, set).await,
            Carrier::Packages(dumped) => {
                self.unpack_dumps(run, set, &packages, dumped).await?;
                self.patch(run, set).await
            }
            Carrier::Batch(endpoint, speaker) => {
                self.patch(run, set).await?;
                self.fetch_batches(run, set, &packages, &endpoint, speaker.as_ref()).await
            }
        }
    }

    /// Takes from packages of dumps what the plan wants. One is fetched only if it holds something of that.
    async fn unpack_dumps(
        &mut self,
        run: &mut Run<'_>,
        set: &SetRun,
        packages: &Packages,
        dumped: Vec<DumpPackage>,
    ) -> Result<(), Error> {
        let versions = run.versions;
        for mut package in dumped {
            let keep = versions.filter(|_| package.changes);
            if run.ending().is_some() {
                return Ok(());
            }
            if keep.is_none() && !set.work(|draft| draft.wants_any_bytes()).await? {
                continue;
            }
            package.look_at_contents(packages).await;
            let fit: Fit = if package.changes { fits_change } else { fits };
            if let Some(manifest) = package.manifest.clone()
                && keep.is_none()
                && !set.work(move |draft| holds_something_wanted(draft, &manifest, fit)).await?
            {
                continue;
            }
            // What is taken early is not committed yet when the other states are looked at.
            let early = keep.is_none().then_some(fit);
            let open = self.bring_package(run, set, packages, (&mut package, early)).await?;
            if let Some(open) = open {
                self.unpack(run, set, open, (fit, keep)).await?;
            }
        }
        Ok(())
    }

    /// Asks for what the plan wants in batches; what they do not bring stays in the plan.
    pub(super) async fn fetch_batches(
        &mut self,
        run: &mut Run<'_>,
        set: &SetRun,
        packages: &Packages,
        endpoint: &Uri,
        speaker: Option<&Origin>,
    ) -> Result<(), Error> {
        let mut after = 0;
        let mut most = BATCH_RESOURCES;
        while run.ending().is_none() {
            let (uris, last) = set.with(|draft| next_batch(draft, after, most))?;
            if uris.is_empty() {
                break;
            }
            match self.take_batch(run, set, packages, (endpoint, speaker, &uris)).await? {
                Ok(()) => {}
                Err(PackageError::TooMuch) if uris.len() > 1 => {
                    most = uris.len() / 2;
                    continue;
                }
                Err(PackageError::Unknown { uris: unknown }) => {
                    let known = uris.iter().filter(|uri| !unknown.iter().any(|text| text == uri.as_str()));
                    let known: Vec<Uri> = known.cloned().collect();
                    if !known.is_empty() {
                        // What does not come by a second batch either, comes by requests.
                        let _ = self.take_batch(run, set, packages, (endpoint, speaker, &known)).await?;
                    }
                }
                Err(error) => {
                    run.warn(ProblemKind::Document, endpoint.as_str(), &story(&error));
                    break;
                }
            }
            after = last;
        }
        Ok(())
    }

    async fn take_batch(
        &mut self,
        run: &mut Run<'_>,
        set: &SetRun,
        packages: &Packages,
        (endpoint, speaker, uris): (&Uri, Option<&Origin>, &[Uri]),
    ) -> Result<Result<(), PackageError>, Error> {
        let arriving = match packages.batch(endpoint, speaker, uris).await {
            Ok(arriving) => arriving,
            Err(error) => return Ok(Err(error)),
        };
        match self.take_early(run, set, packages, (arriving, fits)).await? {
            Ok(open) => self.unpack(run, set, open, (fits, None)).await.map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Stages, on one thread that may block, what the plan wants of a package, and commits it meanwhile.
    async fn unpack(
        &mut self,
        run: &mut Run<'_>,
        set: &SetRun,
        open: OpenPackage,
        (fit, keep): (Fit, Option<SetId>),
    ) -> Result<(), Error> {
        let placer = Placer::new(run, set.id);
        let (sender, receiver) = mpsc::channel::<Taken>(AHEAD);
        let work = set.work(move |draft| {
            let (mut entries, mut package) = (open.manifest.read()?, open);
            while let Some(taken) = take_some(draft, &mut package, &mut entries, (&placer, fit, keep))? {
                if sender.blocking_send(taken).is_err() {
                    break;
                }
            }
            Ok(())
        });
        let commit = async {
            // Where this ends early, its end of the channel goes, and the thread ends too.
            let mut receiver = receiver;
            while let Some(taken) = receiver.recv().await {
                run.report.unchanged += taken.unchanged;
                self.send_all(taken.commits).await?;
                run.progress(run.fetcher.bytes());
                self.tell_ready(run);
                // A budget that is spent does not cost what is here already.
                if run.options.shutdown.is_cancelled() {
                    break;
                }
            }
            Ok::<(), Error>(())
        };
        let (worked, committed) = tokio::join!(work, commit);
        worked.and(committed)
    }
}

/// The next resources of a package that the plan wants; none at its end.
fn take_some(
    draft: &mut Draft,
    package: &mut OpenPackage,
    entries: &mut crate::documents::Entries,
    (placer, fit, keep): (&Placer, Fit, Option<SetId>),
) -> Result<Option<Taken>, Error> {
    let mut taken = Taken::default();
    let mut entry = Entry::default();
    for _ in 0..AT_A_TIME {
        if !entries.read_entry(&mut entry).map_err(|error| package.manifest.unreadable(error))? {
            return Ok((!taken.commits.is_empty()).then_some(taken));
        }
        let action = draft.wants_bytes_of(entry.loc.as_str())?.filter(|action| fit(&entry, action));
        let Some(action) = action else {
            if let Some(set) = keep {
                taken.commits.extend(versions::packed(draft, package, &entry, (placer, set))?);
            }
            continue;
        };
        promise(&mut entry, &action);
        // What does not come out right is fetched by its own URI.
        let Some(arrival) = arrival(draft, package, &entry, placer)? else { continue };
        if let Ok(commit) = placer.place(&action.wanted, None, arrival) {
            draft.done(entry.loc.as_str())?;
            taken.unchanged += u64::from(matches!(commit, Commit::Current { .. }));
            taken.commits.push(commit);
        }
    }
    Ok(Some(taken))
}

/// The bitstream of an entry, or what its patch in the package makes of the held version (CDM-11).
fn arrival(
    draft: &Draft,
    package: &mut OpenPackage,
    entry: &Entry,
    placer: &Placer,
) -> Result<Option<Arrival>, Error> {
    if entry.metadata.path.is_some() {
        return Ok(package.stage(entry).ok());
    }
    let mut wanted = Wanted::new(entry.loc.clone());
    (wanted.facts.digests, wanted.facts.lastmod) = (entry.metadata.hash.clone(), entry.lastmod);
    let Some((held, _)) = patches::held_version(placer, draft.state(), &wanted)? else { return Ok(None) };
    for link in entry.links_for(&Relation::Patch) {
        let format = link.media_type.as_ref().and_then(PatchFormat::of);
        let patch = link.path.as_ref().and_then(|path| package.read(path, patches::MOST_BYTES));
        if let (Some(format), Some(patch)) = (format, patch)
            && let Ok(bytes) = format.apply(&held, &patch, &wanted.facts.digests, patches::MOST_BYTES)
        {
            return Ok(patches::stage(placer, &wanted, &bytes));
        }
    }
    Ok(None)
}

/// Whether an entry of a manifest is the version that an action asks for.
pub(super) type Fit = fn(&Entry, &Action) -> bool;

/// Whether an entry of changes is that version: of several states of a resource one digest or one time tells which.
fn fits_change(entry: &Entry, action: &Action) -> bool {
    let (packed, wanted) = (&entry.metadata, &action.wanted.facts);
    if packed.change == Some(Change::Deleted) {
        return false;
    }
    match (packed.hash.agrees_with(&wanted.digests), packed.datetime, wanted.datetime) {
        (Some(same), ..) => same,
        (None, Some(packed), Some(wanted)) => packed.instant() == wanted.instant(),
        _ => currency(&facts(entry), &wanted_facts(action)) == Currency::Current,
    }
}

/// Whether a package can have the version that the plan wants.
fn fits(entry: &Entry, action: &Action) -> bool {
    currency(&facts(entry), &wanted_facts(action)) != Currency::Stale
}

fn facts(entry: &Entry) -> Facts<'_> {
    let metadata = &entry.metadata;
    Facts { digests: &metadata.hash, length: metadata.length, lastmod: entry.lastmod.as_ref() }
}

fn wanted_facts(action: &Action) -> Facts<'_> {
    let facts = &action.wanted.facts;
    Facts { digests: &facts.digests, length: facts.length, lastmod: facts.lastmod.as_ref() }
}

/// What comes out of the package must be what the plan wants, whatever the manifest says.
pub(super) fn promise(entry: &mut Entry, action: &Action) {
    let facts = &action.wanted.facts;
    if facts.digests != Digests::new() {
        entry.metadata.hash = facts.digests.clone();
    }
    entry.metadata.length = facts.length.or(entry.metadata.length);
}

fn holds_something_wanted(draft: &mut Draft, manifest: &Document, fit: Fit) -> Result<bool, Error> {
    let mut entries = manifest.read()?;
    let mut entry = Entry::default();
    while entries.read_entry(&mut entry).map_err(|error| manifest.unreadable(error))? {
        if draft.wants_bytes_of(entry.loc.as_str())?.is_some_and(|action| fit(&entry, &action)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The next resources to ask for together, and where the plan goes on after them.
fn next_batch(draft: &mut Draft, after: i64, most: usize) -> Result<(Vec<Uri>, i64), Error> {
    let (mut uris, mut bytes, mut last) = (Vec::new(), 0, after);
    loop {
        let page = draft.actions().after(last, PAGE)?;
        if page.is_empty() {
            return Ok((uris, last));
        }
        for action in page {
            if matches!(action.kind, ActionKind::Create | ActionKind::Update) {
                bytes += action.wanted.facts.length.unwrap_or(0);
                if uris.len() == most || bytes > BATCH_BYTES && !uris.is_empty() {
                    return Ok((uris, last));
                }
                uris.push(action.wanted.uri);
            }
            last = action.sequence;
        }
    }
}

//! Resources that come in packages: of a dump, or of batches asked for.

use resourcesync::{Digests, Entry, Uri};

use super::{pipeline::Pipeline, settle::Placer};
use crate::{
    Error, ProblemKind,
    commit::Commit,
    documents::Document,
    error::story,
    http::Origin,
    package::{OpenPackage, PackageError, Packages},
    plan::{Currency, Facts, currency},
    state::{Action, ActionKind},
    sync::{draft::Draft, dump::Dump, run::Run, set::SetRun},
};

/// What a plan takes from a package.
#[derive(Debug, Default)]
struct Taken {
    commits: Vec<Commit>,
    unchanged: u64,
}

/// Resources unpacked before they are handed on.
const AT_A_TIME: usize = 256;

/// The most resources of one batch, and their bytes as far as they are known.
const BATCH_RESOURCES: usize = 2_000;
const BATCH_BYTES: u64 = 128 << 20;

impl Pipeline {
    /// Takes from a dump what the plan wants; what it does not have as the plan wants it stays in the plan.
    pub(super) async fn unpack_dump(
        &mut self,
        run: &mut Run<'_>,
        set: &SetRun,
        packages: &Packages,
        mut dump: Dump,
    ) -> Result<(), Error> {
        for package in &mut dump.packages {
            if run.ending().is_some() {
                return Ok(());
            }
            if let Some(manifest) = package.manifest.clone()
                && !set.work(move |draft| holds_something_wanted(draft, &manifest)).await?
            {
                continue;
            }
            if let Err(what) = package.fetch(packages).await {
                run.warn(ProblemKind::Document, package.entry.loc.as_str(), &what);
                continue;
            }
            if let Some(open) = package.open.take() {
                self.unpack(run, set, open).await?;
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
            match packages.batch(endpoint, speaker, &uris).await {
                Ok(open) => self.unpack(run, set, open).await?,
                Err(PackageError::TooMuch) if uris.len() > 1 => {
                    most = uris.len() / 2;
                    continue;
                }
                Err(PackageError::Unknown { uris: unknown }) => {
                    let known = uris.iter().filter(|uri| !unknown.iter().any(|text| text == uri.as_str()));
                    let known: Vec<Uri> = known.cloned().collect();
                    if let (false, Ok(open)) =
                        (known.is_empty(), packages.batch(endpoint, speaker, &known).await)
                    {
                        self.unpack(run, set, open).await?;
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

    /// Stages, on a thread that may block, what the plan wants of a package, and commits it.
    async fn unpack(&mut self, run: &mut Run<'_>, set: &SetRun, open: OpenPackage) -> Result<(), Error> {
        let placer = Placer::new(run, set.id);
        let mut entries = open.manifest.read()?;
        let mut package = open;
        loop {
            let placer = placer.clone();
            let work = move |draft: &mut Draft| {
                let taken = take_some(draft, &mut package, &mut entries, &placer)?;
                Ok((package, entries, taken))
            };
            let (left, rest, taken) = set.work(work).await?;
            let Some(taken) = taken else { return Ok(()) };
            (package, entries) = (left, rest);
            run.report.unchanged += taken.unchanged;
            self.send_all(taken.commits).await?;
            run.progress(run.fetcher.bytes());
            self.tell_ready(run);
        }
    }
}

/// The next resources of a package that the plan wants; none at its end.
fn take_some(
    draft: &mut Draft,
    package: &mut OpenPackage,
    entries: &mut crate::documents::Entries,
    placer: &Placer,
) -> Result<Option<Taken>, Error> {
    let mut taken = Taken::default();
    let mut entry = Entry::default();
    for _ in 0..AT_A_TIME {
        if !entries.read_entry(&mut entry).map_err(|error| package.manifest.unreadable(error))? {
            return Ok((!taken.commits.is_empty()).then_some(taken));
        }
        let Some(action) = draft.wants_bytes_of(entry.loc.as_str())? else { continue };
        if !fits(&entry, &action) {
            continue;
        }
        promise(&mut entry, &action);
        // What does not come out right is fetched by its own URI.
        let Ok(arrival) = package.stage(&entry) else { continue };
        if let Ok(commit) = placer.place(&action.wanted, None, arrival) {
            draft.done(entry.loc.as_str())?;
            taken.unchanged += u64::from(matches!(commit, Commit::Current { .. }));
            taken.commits.push(commit);
        }
    }
    Ok(Some(taken))
}

/// Whether a package can have the version that the plan wants.
fn fits(entry: &Entry, action: &Action) -> bool {
    let wanted = &action.wanted.facts;
    let metadata = &entry.metadata;
    let packed = Facts { digests: &metadata.hash, length: metadata.length, lastmod: entry.lastmod.as_ref() };
    let wanted = Facts { digests: &wanted.digests, length: wanted.length, lastmod: wanted.lastmod.as_ref() };
    currency(&packed, &wanted) != Currency::Stale
}

/// What comes out of the package must be what the plan wants, whatever the manifest says.
fn promise(entry: &mut Entry, action: &Action) {
    let facts = &action.wanted.facts;
    if facts.digests != Digests::new() {
        entry.metadata.hash = facts.digests.clone();
    }
    entry.metadata.length = facts.length.or(entry.metadata.length);
}

fn holds_something_wanted(draft: &mut Draft, manifest: &Document) -> Result<bool, Error> {
    let mut entries = manifest.read()?;
    let mut entry = Entry::default();
    while entries.read_entry(&mut entry).map_err(|error| manifest.unreadable(error))? {
        if draft.wants_bytes_of(entry.loc.as_str())?.is_some_and(|action| fits(&entry, &action)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The next resources to ask for together, and where the plan goes on after them.
fn next_batch(draft: &mut Draft, after: i64, most: usize) -> Result<(Vec<Uri>, i64), Error> {
    let (mut uris, mut bytes, mut last) = (Vec::new(), 0, after);
    for action in draft.actions().after(after, most)? {
        if matches!(action.kind, ActionKind::Create | ActionKind::Update) {
            bytes += action.wanted.facts.length.unwrap_or(0);
            if bytes > BATCH_BYTES && !uris.is_empty() {
                break;
            }
            uris.push(action.wanted.uri);
        }
        last = action.sequence;
    }
    Ok((uris, last))
}

//! Resources from packages: of dumps, or of requested batches.

use resourcesync::{Entry, Relation, patch::PatchFormat};
use tokio::sync::mpsc;

use super::{
    carrier::Carrier,
    fit::{ManifestFit, promise},
    lacked_members::LackedMembers,
    patches,
    pipeline::Pipeline,
    settle::Placer,
    versions,
};
use crate::{
    Error, ProblemKind,
    commit::Commit,
    documents::{Document, Entries},
    draft::Draft,
    error::BesideUrl as _,
    plan::Desired,
    read::PackageList,
    run::{SetRun, SyncRun},
    state::SetId,
    transfer::fetch::{Arrival, FetchError},
    transfer::package::{OpenPackage, Packages},
};

/// The members that a plan takes from a package.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) commits: Vec<Commit>,
    pub(super) unchanged: u64,
    lacking: LackedMembers,
    /// Those that were to be kept as versions, which nothing else has.
    unkept: LackedMembers,
}

/// The number of resources that are unpacked before they are passed on.
const AT_A_TIME: usize = 256;
/// The number of such groups that wait to be committed.
const AHEAD: usize = 2;

impl Pipeline {
    /// Transfers the resources that a carrier has. The others stay in the plan.
    pub(super) async fn bring(
        &mut self,
        run: &mut SyncRun<'_>,
        set: &SetRun,
        carrier: Carrier,
    ) -> Result<(), Error> {
        let packages = run.network.packages();
        match carrier {
            Carrier::Requests => self.patch(run, set).await,
            Carrier::Packages(lists) => {
                for list in lists {
                    self.unpack_dumps(run, set, &packages, list).await?;
                }
                self.patch(run, set).await
            }
            Carrier::Batch(endpoint) => {
                self.patch(run, set).await?;
                self.fetch_batches(run, set, &packages, &endpoint).await
            }
        }
    }

    /// Takes the wanted resources from packages of dumps. A package is fetched only if it has one of them.
    async fn unpack_dumps(
        &mut self,
        run: &mut SyncRun<'_>,
        set: &SetRun,
        packages: &Packages,
        mut dumped: PackageList,
    ) -> Result<(), Error> {
        let versions = run.versions;
        while let Some(mut package) = dumped.take()? {
            let keep = versions.filter(|_| package.changes);
            if run.ending().is_some() {
                return Ok(());
            }
            if keep.is_none() && !set.work(|draft| draft.fetches_anything()).await? {
                continue;
            }
            package.look_at_contents(packages).await;
            let fit = match package.changes {
                true => ManifestFit::Changes,
                false if dumped.holds_listed() && !package.is_before(set.inventory) => ManifestFit::Inventory,
                false => ManifestFit::Snapshot,
            };
            if let Some(manifest) = package.manifest.clone()
                && keep.is_none()
                && !set.work(move |draft| holds_something_desired(draft, &manifest, fit)).await?
            {
                continue;
            }
            // If versions are kept, nothing is staged early: the names of states depend on those before them, which
            // would not be committed yet.
            let early = keep.is_none().then_some(fit);
            let open = self.bring_package(run, set, packages, &mut package, early).await?;
            if let Some(open) = open {
                self.unpack(run, set, open, fit, keep).await?;
            }
        }
        Ok(())
    }

    /// Stages, on one thread that may block, the wanted members of a package, and commits them meanwhile.
    pub(super) async fn unpack(
        &mut self,
        run: &mut SyncRun<'_>,
        set: &SetRun,
        open: OpenPackage,
        fit: ManifestFit,
        keep: Option<SetId>,
    ) -> Result<(), Error> {
        let fit = fit.with_header(&open.manifest.header);
        let uri = open.manifest.uri.clone();
        if let Some(what) = open.unusable() {
            run.reporter.problem(ProblemKind::Document, uri.as_str(), &what);
        }
        let unpacking = Unpacking { placer: Placer::new(run, set.id), fit, keep };
        let (sender, receiver) = mpsc::channel::<Taken>(AHEAD);
        let work = set.work(move |draft| {
            let (mut entries, mut package) = (open.manifest.read()?, open);
            while let Some(taken) = unpacking.take_some(draft, &mut package, &mut entries)? {
                if sender.blocking_send(taken).is_err() {
                    break;
                }
            }
            Ok(())
        });
        let commit = async {
            // The receiver is dropped with this future, so that the thread ends too if it ends early.
            let mut receiver = receiver;
            let (mut lacking, mut unkept) = (LackedMembers::default(), LackedMembers::default());
            while let Some(taken) = receiver.recv().await {
                run.reporter.report.unchanged += taken.unchanged;
                lacking.add(taken.lacking);
                unkept.add(taken.unkept);
                self.send_all(taken.commits).await?;
                run.reporter.progress(run.network.fetcher.bytes());
                self.report_committed(run);
                // When the limit on bytes is reached, bytes that are already here can still be used.
                if run.stop.token().is_cancelled() {
                    break;
                }
            }
            lacking.report(run, &uri);
            unkept.report_unkept(run, &uri);
            Ok::<(), Error>(())
        };
        let (worked, committed) = tokio::join!(work, commit);
        match worked {
            Err(error) if error.loses_document() => {
                report_cut_off(run, uri.as_str(), keep, &error);
                committed
            }
            worked => worked.and(committed),
        }
    }
}

/// Reports that the manifest of a package breaks off. The resources behind that stay in the plan, and are requested (O656).
/// But nothing else has former states, which are to be kept in a set.
fn report_cut_off(run: &mut SyncRun<'_>, package: &str, keep: Option<SetId>, error: &Error) {
    let what = error.beside(package);
    match keep {
        Some(_) => run.reporter.problem(ProblemKind::Document, package, &what),
        None => run.reporter.warn(ProblemKind::Document, package, &what),
    }
}

/// The parameters for unpacking a package.
struct Unpacking {
    placer: Placer,
    fit: ManifestFit,
    /// The set for states that the plan does not want, if versions are kept.
    keep: Option<SetId>,
}

impl Unpacking {
    /// Stages the next wanted resources of a package. `None` at the end of the package.
    fn take_some(
        &self,
        draft: &mut Draft,
        package: &mut OpenPackage,
        entries: &mut Entries,
    ) -> Result<Option<Taken>, Error> {
        let mut taken = Taken::default();
        let mut entry = Entry::default();
        for _ in 0..AT_A_TIME {
            if draft.is_ending()
                || !entries.read_entry(&mut entry).map_err(|error| package.manifest.unreadable(error))?
            {
                let lacks_any = taken.lacking.count + taken.unkept.count > 0;
                let has_any = lacks_any || !taken.commits.is_empty();
                return Ok(has_any.then_some(taken));
            }
            let action =
                draft.fetch_of(entry.loc.as_str())?.filter(|action| self.fit.accepts(&entry, action));
            let Some(action) = action else {
                if let Some(set) = self.keep.filter(|_| self.fit.difference(&entry).is_none()) {
                    let unkept = &mut taken.unkept;
                    let lacks = |error: &FetchError| unkept.count(&entry, true, error);
                    taken.commits.extend(versions::packed(
                        draft,
                        package,
                        &entry,
                        (&self.placer, set),
                        lacks,
                    )?);
                }
                continue;
            };
            let is_promised = entry.metadata.hash.agrees_with(&action.desired.metadata.digests) == Some(true);
            promise(&mut entry, &action);
            // A member that is not as listed stays in the plan, and is fetched by its own URI.
            let Some(arrival) = self.arrival(draft, package, &entry, is_promised, &mut taken.lacking)? else {
                continue;
            };
            if let Ok(commit) = self.placer.place(&action.desired, None, arrival) {
                draft.done(entry.loc.as_str())?;
                taken.unchanged += u64::from(matches!(commit, Commit::Current { .. }));
                taken.commits.push(commit);
            }
        }
        Ok(Some(taken))
    }

    /// Stages the bitstream of an entry, or the result of its patch in the package for the held version (CDM-11,
    /// A16).
    fn arrival(
        &self,
        draft: &Draft,
        package: &mut OpenPackage,
        entry: &Entry,
        is_promised: bool,
        lacking: &mut LackedMembers,
    ) -> Result<Option<Arrival>, Error> {
        let difference = self.fit.difference(entry);
        if entry.metadata.path.is_some() && difference.is_none() {
            return Ok(package.take(entry, |error| lacking.count(entry, is_promised, error))?);
        }
        let mut desired = Desired::new(entry.loc.clone());
        (desired.metadata.digests, desired.metadata.lastmod) = (entry.metadata.hash.clone(), entry.lastmod);
        let Some(held) = patches::held_version(&self.placer, draft.state(), &desired)? else {
            return Ok(None);
        };
        let linked = entry
            .links_for(&Relation::Patch)
            .map(|link| (link.media_type.as_ref().and_then(PatchFormat::of), link.path.as_ref()));
        for (format, path) in linked.chain([(difference, entry.metadata.path.as_ref())]) {
            let patch = path.and_then(|path| package.read(path, patches::MOST_BYTES));
            if let (Some(format), Some(patch)) = (format, patch)
                && let Ok(bytes) =
                    format.apply(&held.bytes, &patch, &desired.metadata.digests, patches::MOST_BYTES)
            {
                return Ok(Some(patches::stage(&self.placer, &desired, &bytes)?));
            }
        }
        Ok(None)
    }
}

/// Returns `true` if a package may have something that the plan wants. Its own manifest may be whole although the copy
/// beside it is not (O21).
fn holds_something_desired(draft: &mut Draft, manifest: &Document, fit: ManifestFit) -> Result<bool, Error> {
    let fit = fit.with_header(&manifest.header);
    let mut entries = manifest.read()?;
    let mut entry = Entry::default();
    while !draft.is_ending() {
        match entries.read_entry(&mut entry).map_err(|error| Error::from(manifest.unreadable(error))) {
            Ok(true) => {}
            Err(error) if !error.loses_document() => return Err(error),
            end => return Ok(end.is_err()),
        }
        if draft.fetch_of(entry.loc.as_str())?.is_some_and(|action| fit.accepts(&entry, &action)) {
            return Ok(true);
        }
    }
    Ok(false)
}

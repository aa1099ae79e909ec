//! Members of a package that are staged while the package arrives. None of them is committed before the complete
//! package has arrived and its directory is safe (D19, D20).

use std::collections::BTreeSet;

use resourcesync::{
    Uri,
    package::{Member, PackageError},
};

use super::{
    fit::{ManifestFit, promise},
    pipeline::Pipeline,
    settle::Placer,
    unpack::Taken,
};
use crate::{
    Error, ProblemKind,
    commit::Commit,
    draft::Draft,
    error::error_chain,
    read::DumpPackage,
    run::{SetRun, SyncRun},
    store::StagedName,
    transfer::fetch::Arrival,
    transfer::package::{Arriving, OpenPackage, PackageFetchError, PackageReader, Packages},
};

/// The most staged files that wait for the directory of a package. Later members are unpacked when it has arrived.
const MOST: usize = 4_096;

/// The number of staged files that are passed on at a time.
const AT_A_TIME: usize = 256;

/// A resource that is staged and waits for the directory.
struct Early {
    uri: Uri,
    arrival: Arrival,
    member: Member,
}

impl Pipeline {
    /// Fetches the package of a dump and stages, while it arrives, members that can be used early; `early` is `None` if
    /// its states are kept as versions. Returns `None` if it cannot be fetched.
    pub(super) async fn bring_package(
        &mut self,
        run: &mut SyncRun<'_>,
        set: &SetRun,
        packages: &Packages,
        package: &mut DumpPackage,
        early: Option<ManifestFit>,
    ) -> Result<Option<OpenPackage>, Error> {
        if let Some(fit) = early.filter(|_| package.open.is_none()) {
            let begun = packages.begin(&package.entry, package.speaker.as_ref()).await;
            let brought = match begun {
                Ok(arriving) => self.take_early(run, set, packages, arriving, fit).await?,
                Err(error) => Err(error),
            };
            match brought {
                Ok(open) => return Ok(Some(open)),
                Err(PackageFetchError::Unsafe { uri, source }) => {
                    let hostile =
                        matches!(&source, PackageError::Refused(problem) if problem.rule == "ZIP-7");
                    let what = format!("the package is refused: {}", error_chain(&source));
                    if hostile {
                        run.reporter.problem(ProblemKind::Document, &uri, &what)
                    } else {
                        run.reporter.warn(ProblemKind::Document, &uri, &what)
                    }
                    return Ok(None);
                }
                Err(PackageFetchError::Interrupted) => return Ok(None),
                // Other packages, such as truncated ones, are fetched again below, with retries, and read afterwards.
                Err(error) => tracing::debug!(%error, "the package is fetched before it is read"),
            }
        }
        if let Some(fault) = package.fetch(packages).await?
            && run.ending().is_none()
        {
            let uri = package.entry.loc.as_str();
            if early.is_some() {
                run.reporter.warn(ProblemKind::Document, uri, &fault.what);
            } else {
                // Resources are requested one by one, but nothing else has the former states that are kept (O582).
                run.reporter.problem(ProblemKind::Document, uri, &fault.what);
                run.lacks_versions |= !fault.is_lasting;
            }
        }
        Ok(package.open.take().map(|open| *open))
    }

    /// Stages the wanted members of a package as it arrives, and commits them once the package is complete and safe.
    /// Returns the package, to be unpacked further.
    pub(super) async fn take_early(
        &mut self,
        run: &mut SyncRun<'_>,
        set: &SetRun,
        packages: &Packages,
        arriving: Arriving,
        fit: ManifestFit,
    ) -> Result<Result<OpenPackage, PackageFetchError>, Error> {
        let (reader, rest) = arriving.split();
        let early = set.work(move |draft| stage_early(draft, reader, fit)).await?;
        let mut whole = rest.whole(packages).await;
        let confirm = move |_: &mut Draft| {
            let is_confirmed = whole.as_mut().is_ok_and(|open| early.iter().all(|one| open.has(&one.member)));
            Ok((whole, early, is_confirmed))
        };
        let (whole, mut early, is_confirmed) = set.work(confirm).await?;
        if !is_confirmed {
            let names: Vec<StagedName> = early.drain(..).map(|one| one.arrival.staged.name).collect();
            run.copy.store.staging().discard(&names);
        }
        let placer = Placer::new(run, set.id);
        let mut early = early.into_iter();
        while early.len() > 0 {
            let some: Vec<Early> = early.by_ref().take(AT_A_TIME).collect();
            let placer = placer.clone();
            let taken = set.work(move |draft| settle(draft, some, &placer)).await?;
            run.reporter.report.unchanged += taken.unchanged;
            self.send_all(taken.commits).await?;
        }
        run.reporter.progress(run.network.fetcher.bytes());
        self.report_committed(run);
        Ok(whole)
    }
}

fn stage_early(draft: &mut Draft, mut reader: PackageReader, fit: ManifestFit) -> Result<Vec<Early>, Error> {
    let (mut early, mut taken) = (Vec::new(), BTreeSet::new());
    while early.len() < MOST
        && !draft.is_ending()
        && let Some((mut entry, member)) = reader.next_bitstream()
    {
        let action = draft.fetch_of(entry.loc.as_str())?;
        let Some(action) =
            action.filter(|action| fit.accepts(&entry, action) && !taken.contains(&action.sequence))
        else {
            continue;
        };
        promise(&mut entry, &action);
        if let Some(arrival) = reader.stage(&entry, &member) {
            taken.insert(action.sequence);
            early.push(Early { uri: action.desired.uri, arrival, member });
        }
    }
    Ok(early)
}

/// Returns the commits for confirmed arrivals; the plan has their other metadata.
fn settle(draft: &mut Draft, early: Vec<Early>, placer: &Placer) -> Result<Taken, Error> {
    let mut taken = Taken::default();
    for Early { uri, arrival, .. } in early {
        let Some(action) = draft.fetch_of(uri.as_str())? else {
            placer.store.staging().discard(&[arrival.staged.name]);
            continue;
        };
        if let Ok(commit) = placer.place(&action.desired, None, arrival) {
            draft.done(uri.as_str())?;
            taken.unchanged += u64::from(matches!(commit, Commit::Current { .. }));
            taken.commits.push(commit);
        }
    }
    Ok(taken)
}

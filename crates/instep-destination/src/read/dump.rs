//! A Resource Dump (§11), which has an inventory and the bytes of resources. The packages of dumps of both kinds are
//! listed here; they are unpacked by `transfer/`.

use futures_util::{Stream, StreamExt as _, stream};
use resourcesync::{Capability, DateTime, Form, Uri};

use super::{
    applied::{digest_of, joined},
    dump_package::DumpPackage,
    kind::{ExpectedKind, unusable_members},
    packages::PackageList,
};
use crate::{
    Error, ProblemKind,
    discover::{CapabilitySet, Offer},
    documents::Document,
    plan::{IndexMember, check_inventory_time, count_repeated},
    run::{SetRun, SyncRun},
    transfer::package::Packages,
};

/// A dump whose packages are fetched when they are needed.
#[derive(Debug)]
pub(crate) struct Dump {
    pub(crate) uri: Uri,
    pub(crate) at: Option<DateTime>,
    /// The earliest time that an index states for a part, or a part for itself.
    parts_at: Option<DateTime>,
    pub(crate) packages: PackageList,
    /// The digest of the document that lists the packages, joined with those of the manifests that were read.
    pub(super) digest: [u8; 32],
    /// The digest of that document, joined with those of the parts of an index.
    pub(super) listing: [u8; 32],
    /// `true` if each part of an index could be read.
    complete: bool,
}

/// The number of manifests and packages that are fetched ahead.
const AHEAD: usize = 2;

impl Dump {
    /// Reads the Resource Dump of a set, or the index if there are several. `None` if the set has none.
    pub(crate) async fn look(run: &mut SyncRun<'_>, found: &CapabilitySet) -> Result<Option<Self>, Error> {
        let Some(offer) = found.get(&Capability::ResourceDump) else { return Ok(None) };
        let top = Self::top(run, found, offer).await?;
        // A time that no clock has reached would hide every following change (B4).
        let at = run.believed(top.header.metadata.as_ref().and_then(|root| root.at));
        let digest = digest_of(&top).await?;
        let packages = PackageList::new(run.network.documents.folder());
        let uri = offer.uri.clone();
        let mut dump = Self { uri, at, parts_at: None, packages, digest, listing: digest, complete: true };
        if top.header.form == Form::List {
            let unusable = dump.packages.add_all_of(&top, false, |_| true)?;
            dump.lose_members(run, &top.uri, unusable);
            return Ok(Some(dump));
        }
        let mut members = Vec::new();
        let unusable = top.for_each_usable(|entry| members.push(IndexMember::from(entry)))?;
        dump.lose_members(run, &top.uri, unusable + count_repeated(&members));
        for IndexMember { uri, at: stated, .. } in members {
            // A member that cannot be read costs only its own content, and not the dump (B11).
            let added = match run.network.open(&uri, Some(&top.uri), None).await {
                Ok(Some(member)) => dump.add_part(run, &member, stated).await,
                Ok(None) => Ok(0),
                Err(error) => Err(error),
            };
            match added {
                Ok(unusable) => dump.lose_members(run, &uri, unusable),
                Err(error @ (Error::Unreachable { .. } | Error::InvalidDocument { .. })) => {
                    dump.complete = false;
                    run.reporter.lost_document(&uri, &error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Some(dump))
    }

    /// Adds the packages of a part of an index, which states a time for it. Returns the number of those without a usable `loc`.
    async fn add_part(
        &mut self,
        run: &SyncRun<'_>,
        part: &Document,
        stated: Option<DateTime>,
    ) -> Result<u64, Error> {
        ExpectedKind::ResourceDump.check_list(part)?;
        let own = part.header.metadata.as_ref().and_then(|root| root.at);
        self.meet_part([run.believed(stated), run.believed(own)]);
        self.listing = joined(self.listing, digest_of(part).await?);
        self.packages.add_all_of(part, false, |_| true)
    }

    /// Returns `true` if the dump lists what the one that was applied did (O1011). What a lost part lists is unknown; it is
    /// reported, and a later run compares the whole dump.
    pub(super) fn lists_the_same(&self, applied: Option<[u8; 32]>) -> bool {
        !self.complete || applied.is_none_or(|listing| listing == self.listing)
    }

    /// Takes note of parts or packages that a document names without a usable `loc`.
    fn lose_members(&mut self, run: &mut SyncRun<'_>, uri: &Uri, unusable: u64) {
        if let Some(lost) = unusable_members(uri, unusable) {
            self.complete = false;
            run.reporter.lost_document(uri, &lost);
        }
    }

    /// Takes note of the times of a part.
    fn meet_part(&mut self, times: [Option<DateTime>; 2]) {
        let times = times.into_iter().chain([self.parts_at]).flatten();
        self.parts_at = times.min_by_key(DateTime::instant);
    }

    /// Returns the time of its oldest part, as far as documents state it; `None` if the dump itself has no time (DST-2).
    pub(crate) fn earliest(&self) -> Option<DateTime> {
        let at = self.at?;
        [Some(at), self.parts_at].into_iter().flatten().min_by_key(DateTime::instant)
    }

    async fn top(run: &mut SyncRun<'_>, found: &CapabilitySet, offer: &Offer) -> Result<Document, Error> {
        let opened = match &offer.document {
            Some(document) => Some(document.clone()),
            None => run.network.open(&offer.uri, found.capability_list.as_ref(), None).await?,
        };
        let top = opened.ok_or_else(|| Error::InvalidDocument {
            url: offer.uri.as_str().to_owned(),
            what: "304 without having been asked conditionally".to_owned(),
        })?;
        ExpectedKind::ResourceDump.check(&top).map(|()| top)
    }

    /// Reads the manifest of each package: from its `contents` link if it has one, otherwise from the package itself.
    /// Returns `true` if all contents are known, and the number of manifests.
    pub(crate) async fn find_contents(
        &mut self,
        run: &mut SyncRun<'_>,
        packages: &Packages,
    ) -> Result<(bool, u64), Error> {
        let (mut complete, mut manifests) = (self.complete, 0);
        let looked_at = self.packages.successor();
        let mut left = std::mem::replace(&mut self.packages, looked_at);
        let mut looked = std::pin::pin!(left.with_manifests(packages));
        while let Some(looked) = looked.next().await {
            let (package, trouble) = looked?;
            if let Some(what) = trouble {
                complete = false;
                run.reporter.problem(ProblemKind::Document, package.entry.loc.as_str(), &what);
            }
            if let Some(manifest) = &package.manifest {
                manifests += 1;
                self.digest = joined(self.digest, digest_of(manifest).await?);
            }
            self.packages.push(package)?;
            if run.ending().is_some() {
                return Err(Error::Interrupted);
            }
        }
        Ok((complete, manifests))
    }

    /// Plans the content of the manifests, as the inventory if there is no Resource List. Returns `true` if all of
    /// them could be read.
    pub(crate) async fn read_inventory(
        &mut self,
        run: &mut SyncRun<'_>,
        set: &mut SetRun,
        was_applied: bool,
    ) -> Result<bool, Error> {
        let record = run.state().document(&self.uri)?;
        check_inventory_time(
            self.uri.as_str(),
            run.believed(record.and_then(|record| record.at)).as_ref(),
            self.at.as_ref(),
        )?;
        // A part may be older than the index (O797).
        self.at = self.earliest();
        let (stated, bring, mut complete) = (self.at, run.network.packages(), true);
        let mut is_undated = false;
        let mut planned = self.packages.successor();
        while let Some(mut package) = self.packages.take()? {
            let mut read = package.read_as_inventory(set, stated, was_applied).await;
            if read.as_ref().is_err_and(Error::loses_document) && package.open.is_none() {
                // The copy of the manifest cannot be used, but the package has the manifest too.
                if package.fetch(&bring).await?.is_none() {
                    read = package.read_as_inventory(set, stated, was_applied).await;
                }
            }
            run.reporter.problems_of(set);
            match read {
                Ok(at) => {
                    let at = run.believed(at);
                    is_undated |= package.manifest.is_some() && at.or(stated).is_none();
                    self.at = [self.at, at].into_iter().flatten().min_by_key(DateTime::instant);
                }
                Err(error) if error.loses_document() => {
                    complete = false;
                    run.reporter.lost_document(&package.entry.loc, &error);
                }
                Err(error) => return Err(error),
            }
            planned.push(package)?;
        }
        self.packages = planned;
        // The earliest time is unknown if that of a part is (DST-2).
        self.at = self.at.filter(|_| !is_undated);
        Ok(complete)
    }
}

impl PackageList {
    /// Adds the packages that a dump names, if they are wanted by their position, and returns the number of those without a
    /// usable `loc`, or with that of another one. `changes` is `true` for a Change Dump.
    pub(super) fn add_all_of(
        &mut self,
        dump: &Document,
        changes: bool,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Result<u64, Error> {
        let (speaker, mut named, mut added) = (dump.origin(), Vec::new(), Ok(()));
        let unusable = dump.for_each_usable(|entry| {
            let wanted = is_wanted(named.len());
            named.push(IndexMember::from(entry));
            if added.is_ok() && wanted {
                let (entry, speaker) = (entry.clone(), speaker.clone());
                added = self.push(DumpPackage { changes, entry, speaker, manifest: None, open: None });
            }
        })?;
        added.map(|()| unusable + count_repeated(&named))
    }

    /// Returns each package with its manifest, or with the fault that prevents reading it. A few are fetched ahead.
    pub(super) fn with_manifests(
        &mut self,
        packages: &Packages,
    ) -> impl Stream<Item = Result<(DumpPackage, Option<String>), Error>> {
        let packages = packages.clone();
        let all = stream::iter(std::iter::from_fn(|| self.take().transpose()));
        let looked = all.map(move |package| {
            let packages = packages.clone();
            async move { package?.with_manifest(&packages).await }
        });
        looked.buffered(AHEAD)
    }
}

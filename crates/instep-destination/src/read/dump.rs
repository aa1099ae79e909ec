//! A Resource Dump (§11): another way to an inventory, and to bytes. Packages of dumps of both kinds.

use futures_util::{StreamExt as _, stream};
use instep_net::Origin;
use resourcesync::{Capability, DateTime, Entry, Form, Uri};

use super::applied::{digest_of, joined};
use crate::{
    Error, ProblemKind,
    discover::{CapabilitySet, Offer},
    documents::Document,
    error::error_chain,
    plan::check_inventory_time,
    run::{SetRun, SyncRun},
    state::PassedEntry,
    transfer::package::{OpenPackage, Packages},
};

/// A dump whose packages are fetched when they are needed.
#[derive(Debug)]
pub(crate) struct Dump {
    pub(crate) uri: Uri,
    pub(crate) at: Option<DateTime>,
    pub(crate) packages: Vec<DumpPackage>,
    /// The digest of the document that lists them.
    listed: [u8; 32],
    /// `true` if every part of an index over several could be read.
    complete: bool,
}

/// A package of a dump.
#[derive(Debug)]
pub(crate) struct DumpPackage {
    /// `true` if it holds changes, with perhaps several states of a resource (§13).
    pub(crate) changes: bool,
    pub(crate) entry: Entry,
    pub(crate) speaker: Option<Origin>,
    /// Its manifest, if it is known.
    pub(crate) manifest: Option<Box<Document>>,
    pub(crate) open: Option<Box<OpenPackage>>,
}

/// Manifests and packages fetched ahead.
pub(super) const AHEAD: usize = 2;

/// Packages kept open until they are unpacked; more are fetched again.
const MOST_OPEN: usize = 128;

impl Dump {
    /// Reads the Resource Dump of a set, or the index over several; `None` if there is none.
    pub(crate) async fn look(run: &mut SyncRun<'_>, found: &CapabilitySet) -> Result<Option<Self>, Error> {
        let Some(offer) = found.get(&Capability::ResourceDump) else { return Ok(None) };
        let top = Self::top(run, found, offer).await?;
        let at = top.header.metadata.as_ref().and_then(|root| root.at);
        let listed = digest_of(&top).await?;
        let mut dump = Self { uri: offer.uri.clone(), at, packages: Vec::new(), listed, complete: true };
        if top.header.form == Form::List {
            dump.packages = DumpPackage::all_of(&top)?;
            return Ok(Some(dump));
        }
        let mut members = Vec::new();
        top.for_each(|entry| members.push(entry.loc.clone()))?;
        for uri in members {
            // One bad member costs what is in it, not the dump (B11).
            let packages = match run.network.open(&uri, Some(&top.uri), None).await {
                Ok(member) => member.as_ref().map_or(Ok(Vec::new()), DumpPackage::all_of),
                Err(error) => Err(error),
            };
            match packages {
                Ok(packages) => dump.packages.extend(packages),
                Err(error @ (Error::Unreachable { .. } | Error::InvalidDocument { .. })) => {
                    dump.complete = false;
                    run.reporter.lost_document(&uri, &error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Some(dump))
    }

    async fn top(run: &mut SyncRun<'_>, found: &CapabilitySet, offer: &Offer) -> Result<Document, Error> {
        if let Some(document) = &offer.document {
            return Ok(document.clone());
        }
        let opened = run.network.open(&offer.uri, found.capability_list.as_ref(), None).await?;
        opened.ok_or_else(|| Error::InvalidDocument {
            url: offer.uri.as_str().to_owned(),
            what: "304 without having been asked conditionally".to_owned(),
        })
    }

    /// Finds out what each package holds: from `contents` where it is offered, else from the package itself.
    pub(crate) async fn find_contents(
        &mut self,
        run: &mut SyncRun<'_>,
        packages: &Packages,
    ) -> Result<bool, Error> {
        let mut complete = self.complete;
        let looked = stream::iter(std::mem::take(&mut self.packages)).map(|package| {
            let packages = packages.clone();
            async move { package.with_manifest(&packages).await }
        });
        let mut looked = std::pin::pin!(looked.buffered(AHEAD));
        while let Some((mut package, trouble)) = looked.next().await {
            if self.packages.len() >= MOST_OPEN {
                package.open = None;
            }
            if let Some(what) = trouble {
                complete = false;
                run.reporter.problem(ProblemKind::Document, package.entry.loc.as_str(), &what);
            }
            self.packages.push(package);
        }
        Ok(complete)
    }

    /// Returns the digest of what it says: of its list and the manifests that were read.
    pub(super) async fn digest(&self) -> Result<[u8; 32], Error> {
        let mut digest = self.listed;
        for manifest in self.packages.iter().filter_map(|package| package.manifest.as_ref()) {
            digest = joined(digest, digest_of(manifest).await?);
        }
        Ok(digest)
    }

    /// Plans what the manifests promise; whether all of them could be read: an inventory where there is no Resource List.
    pub(crate) async fn read_inventory(
        &mut self,
        run: &mut SyncRun<'_>,
        set: &mut SetRun,
        was_applied: bool,
    ) -> Result<bool, Error> {
        let record = run.state().document(&self.uri)?;
        check_inventory_time(
            self.uri.as_str(),
            record.and_then(|record| record.at).as_ref(),
            self.at.as_ref(),
        )?;
        let (stated, bring, mut complete) = (self.at, run.network.packages(), true);
        for package in &mut self.packages {
            let mut read = package.read_as_inventory(set, stated, was_applied).await;
            if read.as_ref().is_err_and(Error::loses_document) && package.open.is_none() {
                // The copy of the manifest is broken: the package has its own.
                if package.fetch(&bring).await.is_ok() {
                    read = package.read_as_inventory(set, stated, was_applied).await;
                }
            }
            run.reporter.problems_of(set);
            match read {
                Ok(at) => self.at = [self.at, at].into_iter().flatten().min_by_key(DateTime::instant),
                Err(error) if error.loses_document() => {
                    complete = false;
                    run.reporter.lost_document(&package.entry.loc, &error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(complete)
    }
}

impl DumpPackage {
    /// The packages that a dump names.
    pub(super) fn all_of(dump: &Document) -> Result<Vec<Self>, Error> {
        let (speaker, changes) = (dump.origin(), dump.header.capability() == Some(&Capability::ChangeDump));
        let mut packages = Vec::new();
        dump.for_each(|entry| {
            let (entry, speaker) = (entry.clone(), speaker.clone());
            packages.push(Self { changes, entry, speaker, manifest: None, open: None });
        })?;
        Ok(packages)
    }

    /// Plans what its manifest promises, if it is known. Returns the earliest time that it states.
    async fn read_as_inventory(
        &self,
        set: &mut SetRun,
        stated: Option<DateTime>,
        was_applied: bool,
    ) -> Result<Option<DateTime>, Error> {
        let Some(manifest) = &self.manifest else { return Ok(None) };
        let own = self.entry.metadata.at;
        set.read_list(manifest, own.or(stated), was_applied).await?;
        let at = manifest.header.metadata.as_ref().and_then(|root| root.at);
        Ok([own, at].into_iter().flatten().min_by_key(DateTime::instant))
    }

    /// Returns `true` if it is the entry that was read last.
    pub(super) fn is(&self, last: &PassedEntry) -> bool {
        self.entry.loc == last.uri && self.entry.metadata.until == last.datetime
    }

    /// With its manifest, or what is in the way of it.
    pub(super) async fn with_manifest(mut self, packages: &Packages) -> (Self, Option<String>) {
        self.look_at_contents(packages).await;
        if self.manifest.is_some() {
            return (self, None);
        }
        let trouble = self.fetch(packages).await.err();
        (self, trouble)
    }

    /// With the copy of its manifest, where one is offered: the package is fetched only if it holds something wanted.
    pub(crate) async fn look_at_contents(&mut self, packages: &Packages) {
        if self.manifest.is_some() {
            return;
        }
        match packages.contents(&self.entry, self.speaker.as_ref()).await {
            // A copy of an index leads to parts that lie in the package.
            Ok(manifest) => {
                self.manifest = manifest.filter(|manifest| manifest.header.form == Form::List).map(Box::new);
            }
            // The package has a manifest of its own.
            Err(error) => tracing::debug!(%error, "no contents"),
        }
    }

    /// With the package itself.
    pub(crate) async fn fetch(&mut self, packages: &Packages) -> Result<(), String> {
        if self.open.is_none() {
            let open = packages
                .fetch(&self.entry, self.speaker.as_ref())
                .await
                .map_err(|error| error_chain(&error))?;
            self.manifest = Some(Box::new(open.manifest.clone()));
            self.open = Some(Box::new(open));
        }
        Ok(())
    }
}

//! The new changes in Change Dumps (§13): their manifests are read like Change Lists, and their packages have the
//! bytes.

use futures_util::StreamExt as _;
use resourcesync::{Change, DateTime, Metadata, Uri};

use super::{
    change_lists::{ChangeDocuments, MemberDocument},
    dump_package::DumpPackage,
    kind::{ExpectedKind, unusable_members},
    packages::PackageList,
    passed::{Passed, ReadChanges},
};
use crate::{
    Error,
    clock::latest_time,
    documents::Document,
    error::BesideUrl as _,
    plan::{IndexMember, Shape, count_repeated, members_to_read, plausible, put_oldest_first},
    run::{SetRun, SyncRun, record_of},
    state::{Checkpoint, PassedEntry},
    transfer::package::Packages,
};

impl ChangeDocuments {
    /// Folds new changes of Change Dumps over the plan, package by package in the order of publication (CD-6).
    pub(super) async fn read_packages(
        mut self,
        run: &mut SyncRun<'_>,
        set: &mut SetRun,
        from: Checkpoint,
    ) -> Result<ReadChanges, Error> {
        let since = from.datetime;
        let mut read = ReadChanges::without_packages(run, from);
        let mut records = Vec::new();
        read.lose_packages(&self.speaker, self.unusable);
        for MemberDocument { member, document } in std::mem::take(&mut self.lists) {
            let opened = self.open_list(run, set.id, &read.checkpoint, &member, document).await;
            let opened = opened.and_then(|document| {
                let Some(document) = document else { return Ok(None) };
                let mut new = PackageList::new(run.network.documents.folder());
                let unusable = new.add_new_of(&document, &read.checkpoint)?;
                read.lose_packages(&member.uri, unusable);
                Ok(Some((document, new)))
            });
            let (document, new) = match opened {
                Ok(Some(opened)) => opened,
                Ok(None) => continue,
                Err(error) if error.loses_document() => {
                    // The packages of the others are read, and the checkpoint stays before the first that is lost.
                    read.complete = false;
                    read.lost.push((member.uri, error));
                    continue;
                }
                Err(error) => return Err(error),
            };
            read.add(run, set, new, since).await?;
            if read.complete {
                read.checkpoint.document = Some(member.uri.clone());
            }
            let mut record = record_of(&member.uri, &document);
            record.at = document.header.metadata.as_ref().and_then(|root| root.from);
            records.push(record);
        }
        if read.complete {
            set.records.extend(records);
        }
        self.remember_top(run, set, read.complete)?;
        Ok(read)
    }

    /// Returns the packages since a checkpoint, without reading their content, and the error for others that have no usable
    /// `loc`.
    pub(crate) async fn packages(
        self,
        run: &mut SyncRun<'_>,
        checkpoint: &Checkpoint,
    ) -> Result<(PackageList, Option<Error>), Error> {
        let mut packages = PackageList::new(run.network.documents.folder());
        let mut lost = unusable_members(&self.speaker, self.unusable);
        for MemberDocument { member, document } in self.lists {
            let document = match document {
                Some(document) => Some(document),
                None => run.network.open(&member.uri, Some(&self.speaker), None).await?,
            };
            if let Some(document) = document {
                self.kind.document().check_list(&document)?;
                let unusable = packages.add_new_of(&document, checkpoint)?;
                lost = lost.or(unusable_members(&member.uri, unusable));
            }
        }
        Ok((packages, lost))
    }
}

impl ReadChanges {
    /// Takes note of packages, or parts of a dump, that a document names without a usable `loc`.
    fn lose_packages(&mut self, uri: &Uri, unusable: u64) {
        if let Some(lost) = unusable_members(uri, unusable) {
            self.complete = false;
            self.lost.push((uri.clone(), lost));
        }
    }

    /// Reads the manifests of packages, a few fetched ahead.
    async fn add(
        &mut self,
        run: &mut SyncRun<'_>,
        set: &mut SetRun,
        mut packages: PackageList,
        since: Option<DateTime>,
    ) -> Result<(), Error> {
        let bring = run.network.packages();
        let mut looked = std::pin::pin!(packages.with_manifests(&bring));
        while let Some(looked) = looked.next().await {
            let (mut package, trouble) = looked?;
            let lost = match trouble {
                None => self.read_package(set, &mut package, &bring, since).await?,
                trouble => trouble,
            };
            run.reporter.problems_of(set);
            match lost {
                None => self.packages.push(package)?,
                Some(what) => {
                    self.complete = false;
                    let uri = package.entry.loc.clone();
                    let url = uri.as_str().to_owned();
                    self.lost.push((uri, Error::InvalidDocument { url, what }));
                }
            }
        }
        Ok(())
    }

    /// Folds the entries of its manifest over the plan; returns a fault that prevents this.
    async fn read_package(
        &mut self,
        set: &mut SetRun,
        package: &mut DumpPackage,
        bring: &Packages,
        since: Option<DateTime>,
    ) -> Result<Option<String>, Error> {
        let mut read = read_manifest(set, package, since).await;
        if read.as_ref().is_err_and(Error::loses_document) && package.open.is_none() {
            // The copy of the manifest is broken: the package has its own.
            if package.fetch(bring).await?.is_none() {
                read = read_manifest(set, package, since).await;
            }
        }
        match read {
            Ok(shape) => {
                set.new_documents |= shape.entries > 0;
                self.pass(package, shape);
                Ok(None)
            }
            Err(error) if error.loses_document() => Ok(Some(error.beside(package.entry.loc.as_str()))),
            Err(error) => Err(error),
        }
    }

    fn pass(&mut self, package: &DumpPackage, shape: Shape) {
        let Some(manifest) = package.manifest.as_ref().filter(|_| self.complete) else { return };
        let inside = manifest.header.metadata.clone().unwrap_or_default();
        let Metadata { from, until, .. } = package.entry.metadata.clone();
        let uri = package.entry.loc.clone();
        let datetime = until.or(inside.until);
        let document = self.checkpoint.document.take();
        let latest = latest_time(manifest.date);
        let from = from.or(inside.from);
        Passed { uri: uri.clone(), from, until: datetime, shape, latest }.advance(&mut self.checkpoint);
        self.checkpoint.document = document;
        (self.checkpoint.position, self.checkpoint.leading) = (0, None);
        self.checkpoint.last = Some(PassedEntry { uri, datetime, change: Change::Updated });
    }
}

/// Folds the entries of a package's manifest over the plan.
async fn read_manifest(
    set: &mut SetRun,
    package: &DumpPackage,
    since: Option<DateTime>,
) -> Result<Shape, Error> {
    let Some(manifest) = &package.manifest else {
        let (url, what) = (package.entry.loc.as_str().to_owned(), "it has no manifest".to_owned());
        return Err(Error::InvalidDocument { url, what });
    };
    ExpectedKind::ChangeDumpManifest.check(manifest)?;
    set.read_changes(manifest, None, since, package.entry.metadata.from, 0).await
}

impl PackageList {
    /// Adds the packages of a Change Dump that may hold a change since the checkpoint, oldest first. A closed one that
    /// was read is not among them, although its end is the checkpoint. Times that no clock has reached are none (O382).
    /// Returns the number of packages without a usable `loc`, or with that of another one.
    fn add_new_of(&mut self, dump: &Document, checkpoint: &Checkpoint) -> Result<u64, Error> {
        let latest = Some(latest_time(dump.date));
        let mut members = Vec::new();
        dump.for_each(|entry| members.push(IndexMember::from(entry)))?;
        let repeated = count_repeated(&members);
        let is_newest_first = put_oldest_first(&mut members);
        let mut first = 0;
        if let Some(last) = checkpoint.last.as_ref().filter(|last| last.datetime.is_some())
            && let Some(passed) = members.iter().position(|member| member.is(last))
        {
            first = passed + 1;
        }
        let mut begun = None;
        for member in &mut members {
            member.keep_believed(&mut begun, |time| plausible(time, latest));
        }
        if let Some(time) = &checkpoint.datetime {
            let left = &members[first..];
            let wanted = members_to_read(time, left).0.first().map(|wanted| &wanted.uri);
            let place = left.iter().position(|member| Some(&member.uri) == wanted);
            first += place.unwrap_or(left.len());
        }
        if is_newest_first {
            return Ok(self.add_newest(dump, members.len() - first)? + repeated);
        }
        self.add_all_of(dump, true, |place| place >= first)
    }

    /// Adds a number of the newest packages of a Change Dump that lists the newest first; they are read oldest first.
    fn add_newest(&mut self, dump: &Document, count: usize) -> Result<u64, Error> {
        let (speaker, mut newest) = (dump.origin(), Vec::new());
        let unusable = dump.for_each_usable(|entry| {
            if newest.len() < count {
                newest.push(entry.clone());
            }
        })?;
        for entry in newest.into_iter().rev() {
            let speaker = speaker.clone();
            self.push(DumpPackage { changes: true, entry, speaker, manifest: None, open: None })?;
        }
        Ok(unusable)
    }
}

//! Packages of a dump: staged with their manifests, and started again if a file changes while it is packed.

mod members;

use std::{
    cell::Cell,
    collections::BTreeMap,
    fs::File,
    io::{self, BufWriter, Seek, Write},
    path::Path,
    sync::Arc,
};

use resourcesync::{Algorithm, Digests, DocumentWriter, Header, WriteOptions};

use super::{
    bitstream::{HashingReader, Pinned, observe},
    item::{ItemContent, PackageItem},
};
use crate::{
    Error, PublishMonitor, PublishProblem,
    catalogue::Resource,
    content::{Holdings, StateSpool},
    records::{PublishedDocument, PublishedPackage},
    render::{Fitting, SetPolicy},
    sink::{FolderSink, Rank, Sink},
};

/// The number of attempts to pack a file that changes meanwhile; after that the file is left out.
const ATTEMPTS: u8 = 3;
/// The restarts of a package before the bytes of all its resources are copied: some Sources change all the time.
const RESTARTS: u32 = 2;
/// The most bytes copied for a package of a dump; a larger one starts again until nothing changes.
const MOST_ASIDE: u64 = 256 << 20;

/// Builds packages from the resources of a Source.
pub(super) struct Packer<'a> {
    pub(super) holdings: &'a Holdings,
    /// The bytes of past states, if they are kept.
    pub(super) spool: Option<&'a StateSpool>,
    /// The folder of documents, patches among them.
    pub(super) out: Option<&'a Path>,
    pub(super) base: &'a str,
    pub(super) write: &'a WriteOptions,
    pub(super) monitor: &'a dyn PublishMonitor,
    /// The number of resources that are left out because they cannot be read.
    pub(super) unreadable: &'a Cell<u64>,
    /// The number of resources that are left out because their files are gone.
    pub(super) gone: &'a Cell<u64>,
}

/// Writes a package with this manifest and these items; returns the first item that differs from the manifest.
type Attempt<'a> = &'a mut dyn FnMut(&[u8], &[PackageItem]) -> Result<Option<usize>, Error>;

/// The names of a package and the copy of its manifest among the documents of a set.
pub(super) struct Packaged<'a> {
    pub(super) set: &'a SetPolicy,
    pub(super) package: String,
    pub(super) manifest: String,
}

impl Packer<'_> {
    /// Stages a package, and the copy of its manifest (RD-10).
    pub(super) fn package(
        &self,
        names: Packaged<'_>,
        header: &Header,
        contents: Vec<ItemContent>,
        sink: &mut FolderSink,
        documents: &mut BTreeMap<String, PublishedDocument>,
    ) -> Result<PublishedPackage, Error> {
        let (name, mut length) = (names.set.place.name(&names.package), 0);
        let bytes: u64 = contents.iter().filter_map(|content| content.state().length).sum();
        let restarts = if bytes <= MOST_ASIDE { RESTARTS } else { u32::MAX };
        let manifest = self.until_true(&name, header, contents, restarts, &mut |manifest, items| {
            let mut differs = None;
            length = sink.stage(&name, Rank::Part, &mut |stage| {
                differs = self.write_package(&name, stage, manifest, items)?;
                Ok(())
            })?;
            Ok(differs)
        })?;
        let hash = hash(sink, &name)?.to_string();
        let copy = names.set.place.name(&names.manifest);
        let write = &mut |file: &mut dyn Write| file.write_all(&manifest).map_err(Error::write(&copy));
        let written = sink.write(&copy, Rank::Part, write);
        // Without the copy no document would name the package.
        let length_of_copy = written.inspect_err(|_| sink.take_out(&name))?;
        documents.insert(name, PublishedDocument { length, digest: None });
        documents.insert(copy, PublishedDocument { length: length_of_copy, digest: None });
        Ok(PublishedPackage { package: names.package, manifest: names.manifest, length, hash })
    }

    /// Writes a package of these resources into a file.
    pub(super) fn pack_into(
        &self,
        file: &mut File,
        name: &str,
        header: &Header,
        contents: Vec<ItemContent>,
    ) -> Result<(), Error> {
        let written = self.until_true(name, header, contents, RESTARTS, &mut |manifest, items| {
            file.rewind().and_then(|()| file.set_len(0)).map_err(Error::write(name))?;
            self.write_package(name, file, manifest, items)
        });
        written.map(drop)
    }

    /// Writes a package until its manifest is correct. The manifest comes first and describes the following members,
    /// so a file that differs from the catalogue makes the package start again, with the present state of the file.
    /// After as many restarts as `restarts`, all bytes are copied first. Returns the manifest.
    fn until_true(
        &self,
        name: &str,
        header: &Header,
        contents: Vec<ItemContent>,
        restarts: u32,
        write: Attempt<'_>,
    ) -> Result<Vec<u8>, Error> {
        let mut items = PackageItem::place_all(self.with_files(contents), self.base);
        let mut attempt = 0;
        loop {
            if attempt == restarts {
                items = self.pin(items).map_err(Error::write(name))?;
            }
            let manifest = self.manifest(name, header, &mut items)?;
            match write(&manifest, &items)? {
                None => return Ok(manifest),
                Some(index) => self
                    .look_again(&mut items, index)
                    .map_err(|fault| Error::Package { name: name.to_owned(), source: Box::new(fault) })?,
            }
            if attempt == 0 {
                self.leave_out_gone(&mut items);
            }
            attempt = attempt.saturating_add(1);
        }
    }

    /// Returns the contents that have bytes: a resource that an application only reports is not packed.
    fn with_files(&self, mut contents: Vec<ItemContent>) -> Vec<ItemContent> {
        let all = contents.len();
        let mut first = None;
        contents.retain(|content| {
            let has_file = content.resource().is_none_or(|resource| self.holdings.has_file(resource));
            if !has_file {
                first.get_or_insert_with(|| content.uri().to_string());
            }
            has_file
        });
        if let Some(first) = first {
            let what = format!("has no file here, so no package holds it; {} in all", all - contents.len());
            self.monitor.problem(&PublishProblem::warning(first, what));
        }
        contents
    }

    /// Leaves out every item whose file is gone. If one is gone, others may be too: a single restart is enough for all.
    fn leave_out_gone(&self, items: &mut Vec<PackageItem>) {
        items.retain(|item| {
            let opened = item.path.as_ref().map(|_| item.open(self.holdings, self.spool).map(drop));
            let is_gone = matches!(opened, Some(Err(error)) if error.kind() == io::ErrorKind::NotFound);
            if is_gone {
                self.leave_out(item, None);
            }
            !is_gone
        });
    }

    /// Copies the bytes of all resources, each in its present state.
    fn pin(&self, items: Vec<PackageItem>) -> io::Result<Vec<PackageItem>> {
        let copy = Arc::new(tempfile::tempfile()?);
        let (mut pinned, mut offset) = (Vec::with_capacity(items.len()), 0);
        for mut item in items {
            if let Some(resource) = item.content.resource_mut() {
                let mut writer = BufWriter::new(&*copy);
                let state = observe(self.holdings, resource, &mut writer);
                writer.flush()?;
                drop(writer);
                let end = (&*copy).stream_position()?;
                let length = end - std::mem::replace(&mut offset, end);
                match state? {
                    Ok(state) => resource.state = state,
                    Err(fault) => {
                        self.leave_out(&item, fault);
                        continue;
                    }
                }
                item.pinned = Some(Pinned { file: Arc::clone(&copy), offset: end - length, length });
            }
            pinned.push(item);
        }
        Ok(pinned)
    }

    /// Writes the manifest of the items that a manifest can carry; the others are taken out.
    fn manifest(&self, name: &str, header: &Header, items: &mut Vec<PackageItem>) -> Result<Vec<u8>, Error> {
        let fitting = Fitting::new(header, self.write);
        let failed = |source| Error::Document { name: name.to_owned(), source };
        let mut writer = DocumentWriter::new(Vec::new(), header, self.write.clone()).map_err(failed)?;
        let mut written = Ok(());
        items.retain(|item| {
            if written.is_err() {
                return true;
            }
            match fitting.write(&mut writer, &item.entry()) {
                Ok(None) => true,
                Ok(Some(omission)) => {
                    self.monitor.problem(&PublishProblem::warning(omission.uri, omission.what));
                    !omission.whole
                }
                Err(error) => {
                    written = Err(error);
                    true
                }
            }
        });
        written.and_then(|()| writer.finish()).map_err(failed)
    }

    /// Updates an item to the present state of its file, or removes it if that is unknown: readers then fetch it from
    /// `loc`.
    fn look_again(&self, items: &mut Vec<PackageItem>, index: usize) -> io::Result<()> {
        let item = &mut items[index];
        item.attempts += 1;
        if item.patch.take().is_some() {
            return Ok(());
        }
        let mut fault = None;
        if let Some(resource) = item.content.resource_mut().filter(|_| item.attempts < ATTEMPTS) {
            match observe(self.holdings, resource, &mut io::sink())? {
                Ok(state) => {
                    resource.state = state;
                    return Ok(());
                }
                Err(own) => fault = own,
            }
        }
        self.leave_out(&items.remove(index), fault);
        Ok(())
    }

    /// Returns `true` if the file of a resource is not there.
    fn lacks_file(&self, resource: &Resource) -> bool {
        matches!(self.holdings.open(resource), Err(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// Reports an item that the package is without. That its file is gone or changes is no fault: the next publication
    /// describes it as it is then. It is one for a file that a manifest names, which may never have been.
    fn leave_out(&self, item: &PackageItem, fault: Option<io::Error>) {
        let uri = item.entry().loc.into_string();
        let lost = item.content.resource().filter(|resource| self.lacks_file(resource));
        let problem = match fault {
            None if lost.is_some_and(|resource| resource.file.is_some()) => {
                self.unreadable.set(self.unreadable.get() + 1);
                let what = "has no file where its manifest says; it is left out of the package";
                PublishProblem::skipped(uri, what)
            }
            None => {
                self.gone.set(self.gone.get() + u64::from(lost.is_some()));
                let what = "is gone or changes while it is packed; it is left out of the package";
                PublishProblem::warning(uri, what)
            }
            Some(error) => {
                self.unreadable.set(self.unreadable.get() + 1);
                PublishProblem::skipped(
                    uri,
                    format!("cannot be read: {error}; it is left out of the package"),
                )
            }
        };
        self.monitor.problem(&problem);
    }
}

fn hash(sink: &FolderSink, name: &str) -> Result<Digests, Error> {
    let mut hashing = HashingReader::new(sink.open_staged(name)?, &[Algorithm::Sha256]);
    io::copy(&mut hashing, &mut io::sink()).map_err(Error::read(name))?;
    Ok(hashing.finish().1)
}

#[cfg(test)]
mod tests;

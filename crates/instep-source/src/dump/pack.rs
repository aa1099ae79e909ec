use std::io::{BufWriter, Read};

use resourcesync::{
    DocumentWriter, Entry, Header, PackagePath, WriteOptions,
    package::{PackageError, PackageWriter},
};

use super::{
    bitstream::{Hashing, observe, strongest},
    path::Paths,
};
use crate::{
    Error, Monitor, Problem,
    catalogue::Resource,
    content::Holdings,
    render::resource_entry,
    sink::{Rank, Sink, Stage},
};

/// A package is tried so often with a file that changes while it is packed; then the file is left out.
const ATTEMPTS: u8 = 3;

/// What packages are made of and how.
pub(super) struct Packer<'a> {
    pub(super) holdings: &'a Holdings,
    pub(super) base: &'a str,
    pub(super) write: &'a WriteOptions,
    pub(super) monitor: &'a dyn Monitor,
}

/// A package that was staged.
pub(super) struct Packed {
    pub(super) manifest: Vec<u8>,
    pub(super) length: u64,
}

/// A resource with its place in the package.
struct Item {
    resource: Resource,
    path: PackagePath,
    attempts: u8,
}

impl Packer<'_> {
    /// Stages a package of these resources. The manifest comes first and says what follows, so a file that is not as
    /// the catalogue knows it makes the package start again, with the file as it is now.
    pub(super) fn pack(
        &self,
        name: &str,
        header: &Header,
        resources: Vec<Resource>,
        sink: &mut dyn Sink,
    ) -> Result<Packed, Error> {
        let mut paths = Paths::new(self.base);
        let item = |resource: Resource| {
            let path = paths.next(&resource.uri);
            Item { resource, path, attempts: 0 }
        };
        let mut items: Vec<_> = resources.into_iter().map(item).collect();
        loop {
            let manifest = self.manifest(name, header, &items)?;
            let mut differs = None;
            let length = sink.stage(name, Rank::Part, &mut |stage| {
                differs = self.write_package(name, stage, &manifest, &items)?;
                Ok(())
            })?;
            match differs {
                None => return Ok(Packed { manifest, length }),
                Some(index) => self.look_again(&mut items, index),
            }
        }
    }

    fn manifest(&self, name: &str, header: &Header, items: &[Item]) -> Result<Vec<u8>, Error> {
        let write = || {
            let mut writer = DocumentWriter::new(Vec::new(), header, self.write.clone())?;
            items.iter().try_for_each(|item| writer.write_entry(&item.entry()))?;
            writer.finish()
        };
        write().map_err(|source| Error::Document { name: name.to_owned(), source })
    }

    /// Writes manifest and bitstreams; returns the first item that is not as the manifest says.
    fn write_package(
        &self,
        name: &str,
        stage: &mut dyn Stage,
        manifest: &[u8],
        items: &[Item],
    ) -> Result<Option<usize>, Error> {
        let failed =
            |source: PackageError| Error::Package { name: name.to_owned(), source: Box::new(source) };
        let sink = BufWriter::with_capacity(1 << 18, stage);
        let mut package = PackageWriter::new(sink, manifest).map_err(failed)?;
        for (index, item) in items.iter().enumerate() {
            if !self.add(&mut package, item).map_err(failed)? {
                return Ok(Some(index));
            }
        }
        let mut sink = package.finish().map_err(failed)?;
        std::io::Write::flush(&mut sink).map_err(|error| failed(error.into()))?;
        Ok(None)
    }

    /// Adds a bitstream; false when it is not as the manifest says.
    fn add(
        &self,
        package: &mut PackageWriter<BufWriter<&mut dyn Stage>>,
        item: &Item,
    ) -> Result<bool, PackageError> {
        let state = &item.resource.state;
        let (Ok(file), Some(length)) = (self.holdings.open(&item.resource), state.length) else {
            return Ok(false);
        };
        let algorithms: Vec<_> = strongest(state).into_iter().collect();
        let mut bitstream = Hashing::new(file, &algorithms);
        match package.add(&item.path, state.media_type.as_ref(), length, bitstream.by_ref()) {
            Err(PackageError::Length { .. }) => return Ok(false),
            outcome => outcome?,
        }
        let (_, digests) = bitstream.finish();
        Ok(digests.iter().all(|digest| state.digests.get(&digest.algorithm) == Some(digest)))
    }

    /// Takes an item as its file is now, or out where that cannot be said.
    fn look_again(&self, items: &mut Vec<Item>, index: usize) {
        let item = &mut items[index];
        item.attempts += 1;
        let again = if item.attempts < ATTEMPTS { observe(self.holdings, &item.resource) } else { Ok(None) };
        if let Ok(Some(state)) = again {
            item.resource.state = state;
            return;
        }
        let item = items.remove(index);
        let what = "is gone or changes while it is packed; it is left out of the package";
        self.monitor.problem(&Problem::warning(item.resource.uri.into_string(), what));
    }
}

impl Item {
    fn entry(&self) -> Entry {
        let mut entry = resource_entry(self.resource.clone());
        entry.metadata.path = Some(self.path.clone());
        entry
    }
}

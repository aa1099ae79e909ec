//! The members of a package: written one after the other, and each compared with its manifest entry.

use std::{
    fs::File,
    io::{self, BufWriter, Read, Write},
};

use flate2::{Compression, write::DeflateEncoder};
use instep_store::next_bytes;
use resourcesync::{
    PackagePath,
    package::{PackageError, PackageWriter},
};

use super::Packer;
use crate::{
    Error,
    dump::{
        bitstream::{HashingReader, concerns_one_file, strongest},
        item::PackageItem,
    },
    sink::Stage,
};

/// Members up to this size may have any ratio of compression.
const RATIO_FROM: u64 = 1 << 20;
/// A larger member whose bytes are compressed this much is stored. Readers refuse twice as much, because a small package
/// must not fill their disk ([`PackageLimits`](resourcesync::package::PackageLimits)).
const MOST_RATIO: u64 = 100;

impl Packer<'_> {
    /// Writes manifest and bitstreams; returns the first item that differs from the manifest.
    pub(super) fn write_package(
        &self,
        name: &str,
        stage: &mut dyn Stage,
        manifest: &[u8],
        items: &[PackageItem],
    ) -> Result<Option<usize>, Error> {
        let failed =
            |source: PackageError| Error::Package { name: name.to_owned(), source: Box::new(source) };
        let sink = BufWriter::with_capacity(1 << 18, stage);
        let mut package = PackageWriter::new(sink, manifest).map_err(failed)?;
        for (index, item) in items.iter().enumerate() {
            let Some(path) = &item.path else { continue };
            if !self.add(&mut package, item, path).map_err(failed)?
                || !self.add_patch(&mut package, item).map_err(failed)?
            {
                return Ok(Some(index));
            }
        }
        let mut sink = package.finish().map_err(failed)?;
        sink.flush().map_err(|error| failed(error.into()))?;
        Ok(None)
    }

    /// Adds a bitstream; returns `false` if it differs from the manifest.
    fn add(
        &self,
        package: &mut PackageWriter<BufWriter<&mut dyn Stage>>,
        item: &PackageItem,
        path: &PackagePath,
    ) -> Result<bool, PackageError> {
        let state = item.content.state();
        let mut file = match item.open(self.holdings, self.spool) {
            Err(fault) if concerns_one_file(&fault) => return Ok(false),
            opened => opened?,
        };
        let Some(length) = state.length else { return Ok(false) };
        let mut media_type = state.media_type.as_ref();
        if length > RATIO_FROM && media_type.is_some() {
            if swells(&mut file, length)? {
                // Without a type it is stored.
                media_type = None;
            }
            file = match item.open(self.holdings, self.spool) {
                Err(fault) if concerns_one_file(&fault) => return Ok(false),
                opened => opened?,
            };
        }
        let algorithms: Vec<_> = strongest(state).into_iter().collect();
        let mut bitstream = HashingReader::new(file, &algorithms);
        match package.add(path, media_type, length, bitstream.by_ref()) {
            Err(PackageError::Length { .. }) => return Ok(false),
            outcome => outcome?,
        }
        let (_, digests) = bitstream.finish();
        Ok(digests.iter().all(|digest| state.digests.get(&digest.algorithm) == Some(digest)))
    }

    /// Adds the patch of an item, if it has one; returns `false` if it differs from the manifest.
    fn add_patch(
        &self,
        package: &mut PackageWriter<BufWriter<&mut dyn Stage>>,
        item: &PackageItem,
    ) -> Result<bool, PackageError> {
        let (Some(patch), Some(out)) = (&item.patch, self.out) else { return Ok(true) };
        let link = &patch.link;
        let file = match File::open(out.join(&patch.name)) {
            Err(fault) if concerns_one_file(&fault) => return Ok(false),
            opened => opened?,
        };
        let (Some(path), Some(length)) = (&link.path, link.length) else { return Ok(false) };
        match package.add(path, link.media_type.as_ref(), length, file) {
            Err(PackageError::Length { .. }) => Ok(false),
            outcome => outcome.map(|()| true),
        }
    }
}

/// Returns `true` if compression would make bytes so much smaller that readers refuse them, as with a table of equal
/// rows or an image of one colour. Usual bytes show after a few percent that it does not.
fn swells(content: impl Read, length: u64) -> io::Result<bool> {
    let most = length / MOST_RATIO;
    let mut content = content.take(length);
    let mut encoder = DeflateEncoder::new(io::sink(), Compression::default());
    let mut buffer = vec![0; 64 << 10];
    while encoder.total_out() <= most {
        let Some(part) = next_bytes(&mut content, &mut buffer)? else {
            encoder.try_finish()?;
            return Ok(encoder.total_out() <= most);
        };
        encoder.write_all(part)?;
    }
    Ok(false)
}

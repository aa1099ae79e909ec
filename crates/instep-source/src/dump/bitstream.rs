//! The bytes of a resource on their way into a package: read, hashed, and copied first if they change too often.

use std::{
    fs::File,
    io::{self, BufReader, Read, Write},
    os::unix::fs::FileExt,
    sync::Arc,
};

use resourcesync::{Algorithm, DateTime, Digests, Hasher};

use crate::{
    catalogue::{Resource, ResourceState},
    content::Holdings,
};

/// Hashes the bytes that are read through it.
pub(super) struct HashingReader<R> {
    source: R,
    hasher: Hasher,
    length: u64,
}

impl<R: Read> HashingReader<R> {
    pub(super) fn new(source: R, algorithms: &[Algorithm]) -> Self {
        Self { source, hasher: Hasher::new(algorithms), length: 0 }
    }

    pub(super) fn finish(self) -> (u64, Digests) {
        (self.length, self.hasher.finish())
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        self.length += read as u64;
        Ok(read)
    }
}

/// Copied bytes, so that a further change of the file does not matter.
#[derive(Clone, Debug)]
pub(super) struct Pinned {
    pub(super) file: Arc<File>,
    pub(super) offset: u64,
    pub(super) length: u64,
}

impl Read for Pinned {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(usize::try_from(self.length).unwrap_or(usize::MAX));
        let read = self.file.read_at(&mut buffer[..most], self.offset)?;
        self.offset += read as u64;
        self.length -= read as u64;
        Ok(read)
    }
}

/// The strongest algorithm of a state: one is enough to see that bytes are the same.
pub(super) fn strongest(state: &ResourceState) -> Option<Algorithm> {
    state.digests.strongest().map(|digest| digest.algorithm.clone())
}

/// Copies the bytes of a resource to `copy`, and returns its state with the digests it is published with; `None` if the
/// file is gone or changes while it is read.
pub(super) fn observe(
    holdings: &Holdings,
    resource: &Resource,
    copy: &mut impl Write,
) -> io::Result<Option<ResourceState>> {
    let file = match holdings.open(resource) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let before = file.metadata()?;
    let algorithms: Vec<_> = resource.state.digests.iter().map(|digest| digest.algorithm.clone()).collect();
    let mut hashing = HashingReader::new(BufReader::with_capacity(1 << 18, &file), &algorithms);
    io::copy(&mut hashing, copy)?;
    let (length, digests) = hashing.finish();
    let after = file.metadata()?;
    if after.modified()? != before.modified()? || after.len() != length {
        return Ok(None);
    }
    if digests == resource.state.digests && resource.state.length == Some(length) {
        // A new time over the same bytes modifies nothing; bytes that a supplier makes have the time of their making.
        return Ok(Some(resource.state.clone()));
    }
    let state = ResourceState {
        lastmod: modified(&file)?.or(resource.state.lastmod),
        length: Some(length),
        digests,
        ..resource.state.clone()
    };
    Ok(Some(state))
}

fn modified(file: &File) -> io::Result<Option<DateTime>> {
    let since = file.metadata()?.modified()?.duration_since(std::time::UNIX_EPOCH);
    let micros = since.ok().and_then(|since| i64::try_from(since.as_micros()).ok());
    Ok(micros.map(DateTime::from_unix_micros))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{
        NoMonitor, PublishOptions,
        catalogue::Catalogue,
        scan::{ScanOptions, scan},
    };

    #[test]
    fn the_same_bytes_keep_the_time_at_which_they_came() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "a").unwrap();
        let options = PublishOptions::new(folder.path(), "http://example.org/");
        let catalogue = Catalogue::open(&folder.path().join(".catalogue")).unwrap();
        let holdings = Holdings::new(&options, &catalogue).unwrap();
        scan(&holdings, &catalogue, &ScanOptions::new(&options), &NoMonitor).unwrap();
        let known = catalogue.snapshot().unwrap().resources(1).next().unwrap().unwrap();
        fs::write(&path, "a").unwrap();
        File::options().append(true).open(&path).unwrap().set_modified(std::time::SystemTime::now()).unwrap();
        let seen = observe(&holdings, &known, &mut io::sink()).unwrap().unwrap();
        assert_eq!(seen, known.state);
        fs::write(&path, "b").unwrap();
        let seen = observe(&holdings, &known, &mut io::sink()).unwrap().unwrap();
        assert_ne!((seen.lastmod, &seen.digests), (known.state.lastmod, &known.state.digests));
    }
}

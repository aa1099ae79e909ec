//! A package that is read while it arrives: a file that one task writes and a thread reads behind it.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::FileExt as _,
    sync::{Arc, Condvar, Mutex, PoisonError},
};

use instep_net::{Origin, Request, Response};
use resourcesync::{
    Entry, Form, PackagePath, Uri,
    package::{ArrivingPackage, MANIFEST, Member},
};
use tokio::task::JoinHandle;

use super::{OpenPackage, PackageFetchError, Packages, packed_at, stage_from};
use crate::{
    documents::{Document, Entries},
    store::{StagedName, StagingFile},
    transfer::fetch::{Arrival, Expected, FetchError, Mismatch, Seen},
};

/// The number of bytes of a file that have arrived.
#[derive(Debug, Default)]
struct Progress {
    arrived: Mutex<Arrived>,
    more: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
struct Arrived {
    bytes: u64,
    ended: bool,
}

impl Progress {
    fn update(&self, change: impl FnOnce(&mut Arrived)) {
        change(&mut self.arrived.lock().unwrap_or_else(PoisonError::into_inner));
        self.more.notify_all();
    }

    /// Waits until the byte at a position has arrived or the file has ended. Returns the number of bytes that have
    /// arrived.
    fn wait_for(&self, byte: u64) -> u64 {
        let arrived = self.arrived.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.more.wait_while(arrived, |arrived| arrived.bytes <= byte && !arrived.ended);
        waited.unwrap_or_else(PoisonError::into_inner).bytes
    }
}

/// Marks the end when it is dropped, so that a reader never waits for a writer that failed.
struct Writing(Arc<Progress>);

impl Drop for Writing {
    fn drop(&mut self) {
        self.0.update(|arrived| arrived.ended = true);
    }
}

/// A reader that waits for the bytes that are still to be written. It blocks.
#[derive(Debug)]
pub(crate) struct Growing {
    file: File,
    at: u64,
    progress: Arc<Progress>,
}

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let there = self.progress.wait_for(self.at).saturating_sub(self.at);
        let most = buffer.len().min(usize::try_from(there).unwrap_or(usize::MAX));
        let read = self.file.read_at(&mut buffer[..most], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Growing {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            SeekFrom::Start(at) => self.at = at,
            SeekFrom::Current(by) => self.at = self.at.saturating_add_signed(by),
            SeekFrom::End(_) => return Err(io::ErrorKind::Unsupported.into()),
        }
        Ok(self.at)
    }
}

/// A package in transfer.
pub(crate) struct Arriving {
    reader: PackageReader,
    whole: JoinHandle<Result<StagedName, PackageFetchError>>,
    uri: Uri,
}

impl Packages {
    /// Requests the package of an entry of a dump, to be read while it arrives.
    pub(crate) async fn begin(
        &self,
        entry: &Entry,
        speaker: Option<&Origin>,
    ) -> Result<Arriving, PackageFetchError> {
        let mut request = Request::get(entry.loc.clone());
        request.speaker = speaker.cloned().or_else(|| Origin::parse(entry.loc.as_str()).ok());
        let asked = async { Ok(self.fetcher.client().send_once(&request).await?.successful()?) };
        let response = self.unless_stopped(asked).await?;
        self.receive(entry.loc.clone(), response, Expected::of(&entry.metadata))
    }

    /// Receives the body of a response, concurrently with its reader.
    pub(super) fn receive(
        &self,
        uri: Uri,
        response: Response,
        expected: Expected,
    ) -> Result<Arriving, PackageFetchError> {
        if let Some(coding) = response.coding() {
            return Err(FetchError::Coding { coding }.into());
        }
        let algorithms = match expected.digests.strongest() {
            Some(_) => expected.algorithms(self.fetcher.verify()),
            None => Vec::new(),
        };
        let store = self.fetcher.store();
        let file = store.stage(&algorithms)?;
        let progress = Arc::new(Progress::default());
        let growing =
            Growing { file: store.open_staged(file.name())?, at: 0, progress: Arc::clone(&progress) };
        let reader = PackageReader {
            package: ArrivingPackage::new(growing),
            packages: self.clone(),
            uri: uri.clone(),
            read: None,
        };
        let (packages, writing) = (self.clone(), Writing(progress));
        // The writer ends when the run ends, and then its reader ends too.
        let whole = tokio::spawn(async move {
            packages.unless_stopped(packages.write(response, file, &expected, writing)).await
        });
        Ok(Arriving { reader, whole, uri })
    }

    async fn write(
        &self,
        mut response: Response,
        mut file: StagingFile,
        expected: &Expected,
        writing: Writing,
    ) -> Result<StagedName, PackageFetchError> {
        while let Some(data) = response.body.chunk().await? {
            file.write(&data)?;
            self.fetcher.count(data.len() as u64);
            if let Some(expected) = expected.most_bytes().filter(|most| file.length() > *most) {
                return Err(FetchError::from(Mismatch::Length { found: file.length(), expected }).into());
            }
            writing.0.update(|arrived| arrived.bytes += data.len() as u64);
        }
        let staged = file.finish(None)?;
        let right = expected.choose(Seen { length: staged.length, digests: &staged.digests }, None);
        if let Err(mismatch) = right {
            self.fetcher.store().discard(&[staged.name]);
            return Err(FetchError::from(mismatch).into());
        }
        Ok(staged.name)
    }
}

impl Arriving {
    /// Splits it into a reader of the arriving bytes and the rest of the transfer.
    pub(crate) fn split(self) -> (PackageReader, Remainder) {
        (self.reader, Remainder { whole: self.whole, uri: self.uri })
    }

    /// Ends the transfer, and removes the bytes that arrived.
    pub(crate) async fn give_up(self, packages: &Packages) {
        self.whole.abort();
        if let Ok(Ok(name)) = self.whole.await {
            packages.fetcher.store().discard(&[name]);
        }
    }
}

/// The part of a package that has not arrived.
pub(crate) struct Remainder {
    whole: JoinHandle<Result<StagedName, PackageFetchError>>,
    uri: Uri,
}

impl Remainder {
    /// Waits for the complete package, and returns it if its directory is safe.
    pub(crate) async fn whole(self, packages: &Packages) -> Result<OpenPackage, PackageFetchError> {
        let name = self.whole.await.map_err(|_| PackageFetchError::Interrupted)??;
        packages.open(&self.uri, name).await
    }
}

/// Reads a package whose manifest comes first while it arrives: its entries and members side by side.
pub(crate) struct PackageReader {
    package: ArrivingPackage<Growing>,
    packages: Packages,
    uri: Uri,
    read: Option<(Document, Entries)>,
}

impl PackageReader {
    /// Returns the next member and its entry. `None` if the package cannot be read further before its directory has
    /// arrived: the manifest is not first, the order differs, or a member states no length.
    pub(crate) fn next_bitstream(&mut self) -> Option<(Entry, Member)> {
        if self.read.is_none() {
            self.read = Some(self.manifest()?);
        }
        let member = self.package.next_member().ok()??;
        let (_, entries) = self.read.as_mut()?;
        let mut entry = Entry::default();
        while entries.read_entry(&mut entry).ok()? {
            if entry.metadata.path.as_ref().and_then(|path| path.member().ok()) == Some(&*member.name) {
                return Some((entry, member));
            }
        }
        None
    }

    fn manifest(&mut self) -> Option<(Document, Entries)> {
        let member = self.package.next_member().ok()??;
        if PackagePath::new(MANIFEST).member().ok() != Some(&*member.name) {
            return None;
        }
        let document = self.packages.documents.keep(&self.uri, self.package.bytes(&member).ok()?).ok()?;
        // Parts of a manifest may be anywhere, and differences need the held version: they wait for the complete
        // package.
        if document.header.form == Form::Index || document.header.dialect.packs_differences() {
            return None;
        }
        let entries = document.read().ok()?;
        Some((document, entries))
    }

    /// Stages a member, if it matches its entry and does not exceed its length.
    pub(crate) fn stage(&mut self, entry: &Entry, member: &Member) -> Option<Arrival> {
        let limits = self.packages.limits;
        let swells = member.length > 1 << 20 && member.length / limits.ratio.max(1) > member.compressed;
        if swells || entry.metadata.length.is_some_and(|length| length != member.length) {
            return None;
        }
        let bytes = self.package.bytes(member).ok()?;
        let packed = self.read.as_ref().and_then(|(manifest, _)| packed_at(manifest));
        let fetcher = &self.packages.fetcher;
        stage_from(bytes, entry, &**fetcher.store(), fetcher.verify(), packed).ok()
    }
}

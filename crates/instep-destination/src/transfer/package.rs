//! Packages, of dumps and of batches, from which resources are taken instead of requesting each of them.

mod arriving;
mod batch;
mod error;
mod nested;

use std::{fs::File, io::Read, sync::Arc};

use http::StatusCode;
use instep_net::{HttpError, Origin, Validators};
use resourcesync::{
    DateTime, Entry, Form, PackagePath, Relation, Uri,
    package::{MANIFEST, Member, Package, PackageError, PackageLimits},
};

pub(crate) use error::PackageFetchError;

pub(crate) use arriving::{Arriving, PackageReader};

use crate::{
    Verify,
    documents::{Document, DocumentError, Documents},
    store::{StagingArea, StoreError},
    transfer::fetch::{Arrival, Decoding, DecodingError, Expected, FetchError, FetchOutcome, Fetcher, Task},
};

/// Fetches packages: of dumps, and of batches.
#[derive(Clone, Debug)]
pub(crate) struct Packages {
    fetcher: Fetcher,
    documents: Documents,
    limits: PackageLimits,
}

impl Packages {
    /// Returns packages that are fetched by a fetcher. Their manifests are stored like other documents.
    pub(crate) fn new(fetcher: Fetcher, documents: Documents) -> Self {
        Self { fetcher, documents, limits: PackageLimits::new() }
    }

    /// Fetches the manifest of a package without the package, if its entry leads to a copy (LN-24): a package is
    /// fetched only if it has a wanted resource.
    ///
    /// # Errors
    /// If the copy does not arrive or is not a document.
    pub(crate) async fn contents(
        &self,
        entry: &Entry,
        speaker: Option<&Origin>,
    ) -> Result<Option<Document>, DocumentError> {
        match entry.link_for(&Relation::Contents) {
            Some(link) => self.documents.open(&link.href, speaker).await.map(Some),
            None => Ok(None),
        }
    }

    /// Fetches the package of an entry of a dump: complete, verified, with a safe directory and a readable manifest.
    ///
    /// # Errors
    /// If any of that fails; then no part of it may be used, and its resources can be fetched one by one.
    pub(crate) async fn fetch(
        &self,
        entry: &Entry,
        speaker: Option<&Origin>,
    ) -> Result<OpenPackage, PackageFetchError> {
        let mut task = Task::new(entry.loc.clone(), ());
        task.speaker = speaker.cloned();
        task.expected = Expected::of(&entry.metadata);
        let status = |status| {
            let uri = entry.loc.as_str().to_owned();
            FetchError::from(HttpError::Status { uri, status, retry_after: None })
        };
        let fetched = async { Ok(self.fetcher.fetch(&task).await) };
        match self.unless_stopped(fetched).await? {
            FetchOutcome::Staged(arrival) => self.open(&entry.loc, arrival.staged.name).await,
            FetchOutcome::Failed(error) => Err(error.into()),
            FetchOutcome::Gone { status: code } => {
                Err(status(StatusCode::from_u16(code).unwrap_or(StatusCode::NOT_FOUND)).into())
            }
            FetchOutcome::NotModified { .. } => Err(status(StatusCode::NOT_MODIFIED).into()),
        }
    }

    /// Waits for some work, and fails if the run should end before it is done (B12).
    async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, PackageFetchError>>,
    ) -> Result<T, PackageFetchError> {
        // Boxed, because each future that holds another by value takes its size several times over.
        let done = self.documents.stop().run_until_cancelled(Box::pin(work)).await;
        done.unwrap_or(Err(PackageFetchError::Interrupted))
    }

    /// Opens a staged package. Its name is removed; its bytes stay as long as they are read.
    async fn open(
        &self,
        uri: &Uri,
        name: crate::store::StagedName,
    ) -> Result<OpenPackage, PackageFetchError> {
        let file = self.fetcher.store().open_staged(name);
        self.fetcher.store().discard(&[name]);
        let (file, uri, packages) = (file?, uri.clone(), self.clone());
        let opening = tokio::task::spawn_blocking(move || OpenPackage::open(file, uri, &packages));
        opening.await.map_err(|_| PackageFetchError::Interrupted)?
    }
}

/// A package that is safe to read, and its manifest.
#[derive(Debug)]
pub(crate) struct OpenPackage {
    /// Its manifest, whose entries describe the members.
    pub manifest: Document,
    zip: Package<File>,
    store: Arc<dyn StagingArea>,
    verify: Verify,
    packed: Option<DateTime>,
}

impl OpenPackage {
    fn open(file: File, uri: Uri, packages: &Packages) -> Result<Self, PackageFetchError> {
        let unsafe_package = |source| PackageFetchError::Unsafe { uri: uri.as_str().to_owned(), source };
        let mut zip = Package::open(file, packages.limits).map_err(unsafe_package)?;
        let manifest = zip.bitstream(&PackagePath::new(MANIFEST)).map_err(unsafe_package)?;
        let mut manifest = packages.documents.keep(&uri, manifest)?;
        if manifest.header.form == Form::Index {
            manifest = nested::joined(&mut zip, &manifest, &uri, &packages.documents)?;
        }
        let (store, verify) = (Arc::clone(packages.fetcher.store()), packages.fetcher.verify());
        let packed = packed_at(&manifest);
        Ok(Self { manifest, zip, store, verify, packed })
    }

    /// Reads a member that is not a bitstream, such as a patch. `None` if it is larger than `most`, missing or damaged.
    pub(crate) fn read(&mut self, path: &PackagePath, most: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let member = self.zip.bitstream(path).ok()?;
        member.take(most as u64 + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() <= most).then_some(bytes)
    }

    /// Returns what to report about members that cannot be used; `None` if all can be.
    pub(crate) fn unusable(&self) -> Option<String> {
        let (count, first) = self.zip.unusable();
        let first = first.first()?;
        let some = if count == 1 { "a member".to_owned() } else { format!("{count} members") };
        Some(format!("the package has {some} that cannot be used: {first}"))
    }

    /// Returns the number of members.
    pub(crate) fn members(&self) -> usize {
        self.zip.len()
    }

    /// Returns `true` if the package's directory describes the member as it was read before the directory arrived.
    pub(crate) fn has(&mut self, member: &Member) -> bool {
        self.zip.has(member).unwrap_or(false)
    }

    /// Stages the bitstream of an entry of the manifest, if it matches the entry. Call it on a thread that may block.
    ///
    /// # Errors
    /// If there is no such member, or it does not match. The other members are not affected (D21).
    pub(crate) fn stage(&mut self, entry: &Entry) -> Result<Arrival, FetchError> {
        let metadata = &entry.metadata;
        let missing = || PackageError::NoMember { name: entry.loc.as_str().to_owned() };
        let member = self.zip.bitstream(metadata.path.as_ref().ok_or_else(missing)?)?;
        stage_from(member, entry, &*self.store, self.verify, self.packed)
    }

    /// Stages the bitstream of an entry, as [`Self::stage`] does. `None` if the package lacks it as listed, with the reason
    /// for `lacks`: it is then requested by its own URI.
    ///
    /// # Errors
    /// If it cannot be stored: the disk of the copy is at fault and not the package.
    pub(crate) fn take(
        &mut self,
        entry: &Entry,
        lacks: impl FnOnce(&FetchError),
    ) -> Result<Option<Arrival>, StoreError> {
        match self.stage(entry) {
            Err(FetchError::Store(error)) => Err(error),
            staged => Ok(staged.inspect_err(lacks).ok()),
        }
    }
}

/// Returns the time from which on the members of a package match its manifest; `None` if it states none.
fn packed_at(manifest: &Document) -> Option<DateTime> {
    let root = manifest.header.metadata.as_ref()?;
    root.at.or(root.until)
}

/// Stages the bytes of a member, if they match the entry. A member may be in the coding that its entry names, while
/// length and digests are those of the resource (AMB-B39); decoded it is used if that form is the listed one.
fn stage_from(
    mut member: impl Read,
    entry: &Entry,
    store: &dyn StagingArea,
    verify: Verify,
    packed: Option<DateTime>,
) -> Result<Arrival, FetchError> {
    let mut expected = Expected::of(&entry.metadata);
    let stage = || store.stage(&expected.algorithms(verify));
    let mut file = stage()?;
    let mut decoding = Decoding::of(expected.encoding().unwrap_or_default(), stage)?;
    let mut buffer = [0; 16 << 10];
    loop {
        let read = member.read(&mut buffer).map_err(PackageError::from)?;
        if read == 0 {
            break;
        }
        file.write(&buffer[..read])?;
        if let Some(writing) = &mut decoding
            && stored(writing.write(&buffer[..read]))?.is_none()
        {
            decoding = None;
        }
    }
    let plain = file.finish(entry.lastmod)?;
    let decoded = decoding.map_or(Ok(None), |decoding| stored(decoding.finish(entry.lastmod)))?;
    if decoded.as_ref().is_some_and(|decoded| expected.length == Some(decoded.length)) {
        // The entry describes the resource without the coding.
        expected.encoding = None;
    }
    let (staged, verified) = expected.choose_staged(store, plain, decoded)?;
    let media_type = entry.metadata.media_type.as_ref().map(|of| of.as_str().into());
    let validators = Validators::default();
    Ok(Arrival {
        staged,
        verified,
        validators,
        media_type,
        sent: packed,
        in_cache: None,
        came_whole: false,
        has_open_end: false,
        redirected_to: None,
    })
}

/// Returns `None` if the bytes are not in the coding that their entry names: then they are taken as they are.
fn stored<T>(decoded: Result<T, DecodingError>) -> Result<Option<T>, FetchError> {
    match decoded {
        Ok(decoded) => Ok(Some(decoded)),
        Err(DecodingError::Coding) => Ok(None),
        Err(DecodingError::Store(error)) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;

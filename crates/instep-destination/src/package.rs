//! A dump as a second origin of bitstreams.

mod arriving;
mod batch;
mod error;
mod nested;

use std::{fs::File, io::Read, sync::Arc};

use http::StatusCode;
use resourcesync::{
    Entry, Form, PackagePath, Relation, Uri,
    package::{MANIFEST, Member, Package, PackageError as ZipError, PackageLimits},
};

pub use error::PackageError;

pub(crate) use arriving::{Arriving, PackageReader};

use crate::{
    Verify,
    documents::{Document, DocumentError, Documents},
    fetch::{Arrival, Expected, FetchError, Fetcher, Outcome, Seen, Task},
    http::{HttpError, Origin, Validators},
    store::Store,
};

/// Brings packages: of dumps, and of batches.
#[derive(Clone, Debug)]
pub struct Packages {
    fetcher: Fetcher,
    documents: Documents,
    limits: PackageLimits,
}

impl Packages {
    /// Packages fetched by a fetcher; their manifests are kept as other documents are.
    pub fn new(fetcher: Fetcher, documents: Documents) -> Self {
        Self { fetcher, documents, limits: PackageLimits::new() }
    }

    /// With other limits than the usual ones (D19).
    #[must_use]
    pub fn with_limits(self, limits: PackageLimits) -> Self {
        Self { limits, ..self }
    }

    /// The manifest of a package, without the package, where its entry leads to a copy (LN-24): a package is fetched only if it
    /// holds something that is wanted.
    ///
    /// # Errors
    /// When the copy does not arrive or is no document.
    pub async fn contents(
        &self,
        entry: &Entry,
        speaker: Option<&Origin>,
    ) -> Result<Option<Document>, DocumentError> {
        match entry.link_for(&Relation::Contents) {
            Some(link) => self.documents.open(&link.href, speaker).await.map(Some),
            None => Ok(None),
        }
    }

    /// Brings the package of an entry of a dump: whole, verified, its directory found safe, its manifest readable.
    ///
    /// # Errors
    /// When any of that fails; then nothing of it may be used, and its resources can be fetched one by one.
    pub async fn fetch(&self, entry: &Entry, speaker: Option<&Origin>) -> Result<OpenPackage, PackageError> {
        let mut task = Task::new(entry.loc.clone(), ());
        task.speaker = speaker.cloned();
        task.expected = Expected::of(&entry.metadata);
        let status = |status| {
            let uri = entry.loc.as_str().to_owned();
            FetchError::from(HttpError::Status { uri, status, retry_after: None })
        };
        match self.fetcher.fetch(&task).await {
            Outcome::Staged(arrival) => self.open(&entry.loc, arrival.staged.name).await,
            Outcome::Failed(error) => Err(error.into()),
            Outcome::Gone { status: code } => {
                Err(status(StatusCode::from_u16(code).unwrap_or(StatusCode::NOT_FOUND)).into())
            }
            Outcome::NotModified => Err(status(StatusCode::NOT_MODIFIED).into()),
        }
    }

    /// Opens a staged package. Its name goes, its bytes stay as long as they are read.
    async fn open(&self, uri: &Uri, name: crate::store::StagedName) -> Result<OpenPackage, PackageError> {
        let file = self.fetcher.store().open_staged(name);
        self.fetcher.store().discard(&[name]);
        let (file, uri, packages) = (file?, uri.clone(), self.clone());
        let opening = tokio::task::spawn_blocking(move || OpenPackage::open(file, uri, &packages));
        opening.await.map_err(|_| PackageError::Interrupted)?
    }
}

/// A package that is safe to read, and its manifest.
#[derive(Debug)]
pub struct OpenPackage {
    /// Its manifest: its entries say what the package holds.
    pub manifest: Document,
    zip: Package<File>,
    store: Arc<dyn Store>,
    verify: Verify,
}

impl OpenPackage {
    fn open(file: File, uri: Uri, packages: &Packages) -> Result<Self, PackageError> {
        let unsafe_package = |source| PackageError::Unsafe { uri: uri.as_str().to_owned(), source };
        let mut zip = Package::open(file, packages.limits).map_err(unsafe_package)?;
        let manifest = zip.bitstream(&PackagePath::new(MANIFEST)).map_err(unsafe_package)?;
        let mut manifest = packages.documents.keep(&uri, manifest)?;
        if manifest.header.form == Form::Index {
            manifest = nested::joined(&mut zip, &manifest, &uri, &packages.documents)?;
        }
        let (store, verify) = (Arc::clone(packages.fetcher.store()), packages.fetcher.verify());
        Ok(Self { manifest, zip, store, verify })
    }

    /// Reads a member that is not a bitstream, such as a patch. `None` if it is larger than `most`, missing or damaged.
    pub fn read(&mut self, path: &PackagePath, most: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let member = self.zip.bitstream(path).ok()?;
        member.take(most as u64 + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() <= most).then_some(bytes)
    }

    /// Returns `true` if the package's directory describes the member as it was read before the directory arrived.
    pub(crate) fn has(&mut self, member: &Member) -> bool {
        self.zip.has(member).unwrap_or(false)
    }

    /// Stages the bitstream of an entry of the manifest, if it is what the entry says: for a thread that may block.
    ///
    /// # Errors
    /// When there is no such member, or it is not right. The other members are not concerned (D21).
    pub fn stage(&mut self, entry: &Entry) -> Result<Arrival, FetchError> {
        let metadata = &entry.metadata;
        let missing = || ZipError::NoMember { name: entry.loc.as_str().to_owned() };
        let member = self.zip.bitstream(metadata.path.as_ref().ok_or_else(missing)?)?;
        stage_from(member, entry, &*self.store, self.verify)
    }
}

/// Stages what a member holds, if it is what the entry says.
fn stage_from(
    mut member: impl Read,
    entry: &Entry,
    store: &dyn Store,
    verify: Verify,
) -> Result<Arrival, FetchError> {
    let expected = Expected::of(&entry.metadata);
    let mut file = store.stage(&expected.algorithms(verify))?;
    let mut buffer = [0; 16 << 10];
    loop {
        let read = member.read(&mut buffer).map_err(ZipError::from)?;
        if read == 0 {
            break;
        }
        file.write(&buffer[..read])?;
    }
    let staged = file.finish(entry.lastmod)?;
    let choice = expected.choose(Seen { length: staged.length, digests: &staged.digests }, None);
    let (_, verified) = choice.inspect_err(|_| store.discard(&[staged.name]))?;
    let media_type = entry.metadata.media_type.as_ref().map(|of| of.as_str().into());
    Ok(Arrival { staged, verified, validators: Validators::default(), media_type })
}

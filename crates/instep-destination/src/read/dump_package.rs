//! A package of a dump while it is planned: its entry, its manifest, its bytes. They are kept in files by
//! `packages.rs`.

use instep_net::Origin;
use resourcesync::{DateTime, Entry, Form};

use super::kind::ExpectedKind;
use crate::{
    Error,
    documents::Document,
    error::BesideUrl as _,
    run::SetRun,
    transfer::{
        fetch::FetchError,
        package::{OpenPackage, PackageFetchError, Packages},
    },
};

/// A package of a dump.
#[derive(Debug)]
pub(crate) struct DumpPackage {
    /// `true` if it holds changes, and possibly several states of a resource (§13).
    pub(crate) changes: bool,
    pub(crate) entry: Entry,
    pub(crate) speaker: Option<Origin>,
    /// Its manifest; `None` if it is not known yet.
    pub(crate) manifest: Option<Box<Document>>,
    pub(crate) open: Option<Box<OpenPackage>>,
}

/// The fault that prevents reading a package.
#[derive(Debug)]
pub(crate) struct PackageFault {
    pub(crate) what: String,
    /// `true` if the next run would find it again: the package is not there, or what it has cannot be used.
    pub(crate) is_lasting: bool,
}

impl PackageFault {
    fn new(error: &PackageFetchError, uri: &str) -> Self {
        let is_lasting = match error {
            PackageFetchError::Unsafe { .. } => true,
            PackageFetchError::Fetch(FetchError::Http(error)) => {
                error.status().is_some_and(|status| matches!(status.as_u16(), 404 | 410))
            }
            _ => false,
        };
        Self { what: error.beside(uri), is_lasting }
    }
}

impl DumpPackage {
    /// Plans the content of its manifest if that is known. Returns the earliest time that is stated for it.
    pub(super) async fn read_as_inventory(
        &self,
        set: &mut SetRun,
        stated: Option<DateTime>,
        was_applied: bool,
    ) -> Result<Option<DateTime>, Error> {
        let Some(manifest) = &self.manifest else { return Ok(None) };
        ExpectedKind::ResourceDumpManifest.check(manifest)?;
        let own = self.entry.metadata.at;
        set.read_list(manifest, own.or(stated), was_applied).await?;
        let at = manifest.header.metadata.as_ref().and_then(|root| root.at);
        Ok([own, at].into_iter().flatten().min_by_key(DateTime::instant))
    }

    /// Returns `true` if the package states an earlier time than that of the inventory: it may have former states of listed
    /// resources, also if its dump is newer (O798).
    pub(crate) fn is_before(&self, inventory: Option<DateTime>) -> bool {
        let own = self.manifest.as_ref().and_then(|manifest| manifest.header.metadata.as_ref()?.at);
        let mut times = [self.entry.metadata.at, own].into_iter().flatten();
        inventory.is_some_and(|inventory| times.any(|at| at.instant() < inventory.instant()))
    }

    /// Returns the package with its manifest, or with the fault that prevents reading it.
    ///
    /// # Errors
    /// As [`Self::fetch`].
    pub(super) async fn with_manifest(
        mut self,
        packages: &Packages,
    ) -> Result<(Self, Option<String>), Error> {
        self.look_at_contents(packages).await;
        let fault = if self.manifest.is_some() { None } else { self.fetch(packages).await? };
        Ok((self, fault.map(|fault| fault.what)))
    }

    /// Reads the copy of its manifest, if one is offered: the package is then fetched only if it has a wanted resource.
    pub(crate) async fn look_at_contents(&mut self, packages: &Packages) {
        if self.manifest.is_some() {
            return;
        }
        match packages.contents(&self.entry, self.speaker.as_ref()).await {
            // A copy of an index leads to parts inside the package.
            Ok(manifest) => {
                self.manifest = manifest.filter(|manifest| manifest.header.form == Form::List).map(Box::new);
            }
            // This is no problem: the package itself has the manifest.
            Err(error) => tracing::debug!(%error, "no contents"),
        }
    }

    /// Fetches the package itself, and reads its manifest. Returns the fault that prevents this.
    ///
    /// # Errors
    /// If it cannot be stored: the disk of the copy is at fault and not the package (O456), and the run ends.
    pub(crate) async fn fetch(&mut self, packages: &Packages) -> Result<Option<PackageFault>, Error> {
        if self.open.is_some() {
            return Ok(None);
        }
        match packages.fetch(&self.entry, self.speaker.as_ref()).await {
            Ok(open) => {
                self.manifest = Some(Box::new(open.manifest.clone()));
                self.open = Some(Box::new(open));
                Ok(None)
            }
            Err(error) => {
                Ok(Some(PackageFault::new(&error.unless_fault_of_disk()?, self.entry.loc.as_str())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use instep_net::{Client, HttpOptions, Scope};
    use instep_testkit::{FakeSource, Layout};
    use resourcesync::Uri;

    use super::*;
    use crate::{
        Verify,
        documents::Documents,
        store::{FolderOptions, FolderStore},
        transfer::fetch::Fetcher,
    };

    #[tokio::test]
    async fn o456_a_package_that_cannot_be_stored_is_no_fault_of_the_source() {
        let mut layout = Layout::new();
        layout.dump = true;
        let source = FakeSource::start_with(layout);
        let folder = tempfile::tempdir().unwrap();
        let client = Client::new(HttpOptions::new(Scope::for_source(&source.url("")).unwrap())).unwrap();
        let store = Arc::new(FolderStore::open(folder.path(), FolderOptions::new()).unwrap());
        let fetcher = Fetcher::new(client.clone(), store, Verify::All);
        let packages = Packages::new(fetcher, Documents::new(client, folder.path()));
        let looked_at = async |path: &str| {
            let entry = Entry::new(Uri::parse(&source.url(path)).unwrap());
            let package = DumpPackage { changes: false, entry, speaker: None, manifest: None, open: None };
            package.with_manifest(&packages).await
        };
        assert!(looked_at("missing.zip").await.unwrap().1.is_some());
        std::fs::remove_dir_all(folder.path().join(".instep/staging")).unwrap();
        assert!(matches!(looked_at("resourcedump.zip").await, Err(Error::Storage { .. })));
    }
}

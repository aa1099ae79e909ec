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
    transfer::package::{OpenPackage, Packages},
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

    /// Returns the package with its manifest, or with the fault that prevents reading it.
    pub(super) async fn with_manifest(mut self, packages: &Packages) -> (Self, Option<String>) {
        self.look_at_contents(packages).await;
        if self.manifest.is_some() {
            return (self, None);
        }
        let trouble = self.fetch(packages).await.err();
        (self, trouble)
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

    /// Fetches the package itself, and reads its manifest.
    pub(crate) async fn fetch(&mut self, packages: &Packages) -> Result<(), String> {
        if self.open.is_none() {
            let open = packages
                .fetch(&self.entry, self.speaker.as_ref())
                .await
                .map_err(|error| error.beside(self.entry.loc.as_str()))?;
            self.manifest = Some(Box::new(open.manifest.clone()));
            self.open = Some(Box::new(open));
        }
        Ok(())
    }
}

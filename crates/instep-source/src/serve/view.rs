//! A running Source as pages show it: its figures, resources, folders, documents, versions and listeners.

mod folder;

use std::{fs::File, io, path::PathBuf, sync::Arc};

use instep_store::RootFolder;
use resourcesync::{DateTime, Uri};
use tokio::sync::watch;

use super::{channels::ChannelRoutes, path::beneath};
use crate::{
    Error, Overview,
    catalogue::{Catalogue, Resource, ResourceState, Snapshot},
    content::{Holdings, StateSpool},
    publish::{SourceContext, VersionPlace},
    render::{DOCUMENTS, SOURCE_DESCRIPTION, SourcePlace},
};

pub use folder::FolderItem;

/// A running Source, for pages. Its methods block: they read the catalogue and files.
#[derive(Debug)]
pub struct SourceView {
    catalogue: Catalogue,
    holdings: Holdings,
    place: SourcePlace,
    /// The folder of the documents, which is opened for each of them: another one may take its place (C18).
    documents: PathBuf,
    sets: Vec<String>,
    versions: Option<(StateSpool, VersionPlace)>,
    overview: watch::Receiver<Arc<Overview>>,
    #[cfg(feature = "notify")]
    audience: crate::notify::Audience,
}

/// A version of a resource whose bytes are kept.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KeptVersion {
    /// The time from which the resource had this state.
    pub datetime: DateTime,
    /// Its state.
    pub state: ResourceState,
    /// The URI of the version.
    pub memento: Option<Uri>,
}

impl SourceView {
    #[cfg_attr(not(feature = "notify"), expect(unused_variables, reason = "there are no channels"))]
    pub(super) fn new(
        source: &SourceContext,
        overview: watch::Receiver<Arc<Overview>>,
        channels: &ChannelRoutes,
    ) -> Result<Self, Error> {
        let options = source.options();
        std::fs::create_dir_all(&options.out).map_err(Error::write(&options.out))?;
        let spool = StateSpool::of(options).filter(|_| options.versions.is_some());
        Ok(Self {
            catalogue: source.catalogue().clone(),
            holdings: source.holdings().clone(),
            place: source.place().clone(),
            documents: options.out.clone(),
            sets: options.sets.iter().map(|set| set.name.clone()).collect(),
            versions: spool.map(|spool| (spool, VersionPlace::new(source.place().base()))),
            overview,
            #[cfg(feature = "notify")]
            audience: channels.audience.clone(),
        })
    }

    /// Returns the state of the Source after its last publication.
    pub fn overview(&self) -> Arc<Overview> {
        Arc::clone(&self.overview.borrow())
    }

    /// Returns the URIs of the Source.
    pub fn place(&self) -> &SourcePlace {
        &self.place
    }

    /// Returns the names of the sets, by their number.
    pub fn sets(&self) -> &[String] {
        &self.sets
    }

    /// Returns the listeners and subscribers of the channels.
    #[cfg(feature = "notify")]
    pub fn audience(&self) -> &crate::notify::Audience {
        &self.audience
    }

    /// Returns the catalogue as it is now.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        Ok(self.catalogue.snapshot()?)
    }

    /// Returns the resource with a URI; `None` if there is none.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub fn resource(&self, snapshot: &Snapshot, uri: &str) -> Result<Option<Resource>, Error> {
        let found = self.holdings.find(snapshot, uri, u64::MAX)?;
        Ok(found.map(|mut resource| {
            self.holdings.describe_coding(&mut resource);
            resource
        }))
    }

    /// Opens the file of a resource, if everybody may read it.
    ///
    /// # Errors
    /// If it has none, or it cannot be read by everybody.
    pub fn open(&self, resource: &Resource) -> io::Result<File> {
        self.holdings.open(resource)
    }

    /// Opens a document that is in place, by its name below the base URL; `None` if there is none.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn document(&self, name: &str) -> io::Result<Option<File>> {
        let is_document =
            name == SOURCE_DESCRIPTION || (name.starts_with(DOCUMENTS) && name.ends_with(".xml"));
        let Some(beneath) = beneath(name).filter(|_| is_document) else { return Ok(None) };
        match RootFolder::open(&self.documents).and_then(|root| root.entry(&beneath.name)) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the versions of a resource whose bytes are kept, the oldest first.
    ///
    /// # Errors
    /// If the catalogue or the kept states cannot be read.
    pub fn versions(&self, snapshot: &Snapshot, uri: &Uri) -> Result<Vec<KeptVersion>, Error> {
        let Some((spool, place)) = &self.versions else { return Ok(Vec::new()) };
        let mut kept = Vec::new();
        for version in snapshot.versions(uri)? {
            let Some(state) = version.state else { continue };
            let file = spool.find_whole(&state.digests, state.length).map_err(Error::read(spool.folder()))?;
            if file.is_some() {
                let memento = place.memento(uri, version.datetime);
                kept.push(KeptVersion { datetime: version.datetime, state, memento });
            }
        }
        Ok(kept)
    }

    /// Opens the bytes of a version.
    ///
    /// # Errors
    /// If they are not kept any more, or cannot be read.
    pub fn open_version(&self, version: &KeptVersion) -> io::Result<File> {
        self.version_file(&version.state)
    }

    fn version_file(&self, state: &ResourceState) -> io::Result<File> {
        let Some((spool, _)) = &self.versions else { return Err(io::ErrorKind::NotFound.into()) };
        spool.find_whole(&state.digests, state.length)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

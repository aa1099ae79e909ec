//! The sets of the catalogue as documents show them.

use std::{
    path::Path,
    sync::mpsc::{SyncSender, sync_channel},
    thread, vec,
};

use resourcesync::Uri;

use super::version_place::VersionPlace;
use crate::{
    Error,
    catalogue::{ChangeRecord, Patch, Resource, ResourceTotals, Snapshot},
    content::Holdings,
    render::{SetResources, SetView},
};

/// One set in a snapshot of the catalogue.
#[derive(Clone, Debug)]
pub(super) struct CatalogueView<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) holdings: &'a Holdings,
    /// The base URL.
    pub(super) base: &'a str,
    /// The folder that has to have the patches which are offered; `None` if only this machine makes any.
    pub(super) patches_in: Option<&'a Path>,
    /// The URIs of versions; `None` if none are kept.
    pub(super) versions: Option<VersionPlace>,
    /// The number of the set.
    pub(super) set: u8,
}

impl CatalogueView<'_> {
    fn mask(&self) -> u64 {
        1 << self.set
    }

    /// Returns `false` if a resource is one without a file. One that is gone may have had a file.
    fn may_have_bytes(&self, uri: &Uri) -> Result<bool, Error> {
        if self.holdings.root_of_uri(uri.as_str()).is_some() {
            return Ok(true);
        }
        let found = self.holdings.find(self.snapshot, uri.as_str(), self.mask())?;
        Ok(found.is_none_or(|resource| self.holdings.has_file(&resource)))
    }

    /// Sends the resources page by page, until nobody wants more.
    fn send(&self, pages: &SyncSender<Vec<Result<Resource, Error>>>) {
        let mut resources = self.resources();
        loop {
            let page: Vec<_> = resources.by_ref().take(PAGE).collect();
            if page.is_empty() || pages.send(page).is_err() {
                return;
            }
        }
    }
}

impl SetView for CatalogueView<'_> {
    fn totals(&self) -> Result<ResourceTotals, Error> {
        Ok(self.snapshot.totals(self.set)?)
    }

    fn resources(&self) -> SetResources<'_> {
        let rows = self.snapshot.resources(self.mask());
        let described = rows.map(|resource| {
            let mut resource = resource?;
            self.holdings.describe(self.set, self.snapshot, &mut resource)?;
            Ok(resource)
        });
        match &self.versions {
            Some(places) => {
                let page = Vec::new().into_iter();
                let (snapshot, holdings) = (self.snapshot, self.holdings);
                Box::new(WithVersions { snapshot, holdings, places, resources: described, page })
            }
            None => Box::new(described),
        }
    }

    fn with_resources(
        &self,
        function: &mut dyn FnMut(SetResources<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.totals()?.resources < READ_AHEAD_FROM {
            return function(self.resources());
        }
        // Without another reader, as if no more files may be opened, this one does.
        let Ok(Some(beside)) = self.snapshot.again() else { return function(self.resources()) };
        let Self { holdings, base, patches_in, versions, set, .. } = self.clone();
        thread::scope(|scope| {
            let (pages, waiting) = sync_channel(PAGES_AHEAD);
            scope.spawn(move || {
                CatalogueView { snapshot: &beside, holdings, base, patches_in, versions, set }.send(&pages);
            });
            function(Box::new(waiting.into_iter().flatten()))
        })
    }

    fn changes(&self, after: u64) -> Box<dyn Iterator<Item = Result<ChangeRecord, Error>> + '_> {
        Box::new(self.snapshot.changes(self.mask(), after).map(|change| {
            let mut change = change?;
            self.holdings.describe_change(self.set, self.snapshot, &mut change)?;
            let is_here = |patch: &&Patch| self.patches_in.is_none_or(|out| out.join(&patch.name).exists());
            let patch = change.patch.as_ref().filter(is_here);
            let patch = patch.and_then(|patch| patch.link(self.base, change.datetime));
            change.state.links.extend(patch);
            if let Some(versions) = &self.versions {
                let links = versions.links(&change.uri, &change.state, Some(change.datetime));
                // The catalogue is asked only about changes that would have links.
                if !links.is_empty() && self.may_have_bytes(&change.uri)? {
                    change.state.links.extend(links);
                }
            }
            Ok(change)
        }))
    }

    fn count_changes(&self, after: u64) -> Result<u64, Error> {
        Ok(self.snapshot.count_changes(self.mask(), after)?)
    }
}

/// Resources that are looked up together, and passed from one thread to another.
const PAGE: usize = 512;
/// Pages that wait to be written into a document.
const PAGES_AHEAD: usize = 4;
/// With fewer resources, another reader would cost more than it gains.
const READ_AHEAD_FROM: u64 = 2_000;

/// Resources with links to their versions, which are looked up a page at a time.
struct WithVersions<'a, I> {
    snapshot: &'a Snapshot,
    holdings: &'a Holdings,
    places: &'a VersionPlace,
    resources: I,
    page: vec::IntoIter<Resource>,
}

impl<I: Iterator<Item = Result<Resource, Error>>> WithVersions<'_, I> {
    fn fetch(&mut self) -> Result<Vec<Resource>, Error> {
        let mut page = self.resources.by_ref().take(PAGE).collect::<Result<Vec<_>, _>>()?;
        let uris: Vec<_> = page.iter().map(|resource| &resource.uri).collect();
        let all_since = self.snapshot.versions_since(&uris)?;
        // A description alone, with digests or not, has no bytes that could be kept.
        let with_files = page.iter_mut().zip(all_since).filter(|(it, _)| self.holdings.has_file(it));
        for (resource, since) in with_files {
            let links = self.places.links(&resource.uri, &resource.state, since);
            resource.state.links.extend(links);
        }
        Ok(page)
    }
}

impl<I: Iterator<Item = Result<Resource, Error>>> Iterator for WithVersions<'_, I> {
    type Item = Result<Resource, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(resource) = self.page.next() {
            return Some(Ok(resource));
        }
        match self.fetch() {
            Ok(page) => {
                self.page = page.into_iter();
                self.page.next().map(Ok)
            }
            Err(error) => Some(Err(error)),
        }
    }
}

//! The resources, according to the catalogue.

use std::{fs::File, io};

use http::HeaderValue;
use resourcesync::Uri;

use super::{
    files::{FileProvider, Files},
    generic::Generics,
    representation::Description,
};
use crate::{
    Error,
    catalogue::{Catalogue, Resource},
    content::{self, Holdings, Supply, is_private},
    publish::{SourceContext, VersionPlace},
    render::SourcePlace,
};

/// The resources that are served: folders by the path they are served at, and the rest.
#[derive(Debug)]
pub(crate) struct ResourceFiles {
    /// The folders by their paths below the base URL, which are empty or end in a slash. The longest path comes
    /// first.
    pub(crate) folders: Vec<(String, Files)>,
    /// The files outside of the folders that manifests name.
    pub(crate) named: Files,
    /// URIs that represent several resources.
    pub(crate) generics: Generics,
}

impl ResourceFiles {
    /// Keeps the folders of a Source that lie below its base URL open.
    pub(crate) fn open(source: &SourceContext) -> Result<Self, Error> {
        let place = source.place();
        let known = KnownResources {
            catalogue: source.catalogue().clone(),
            holdings: source.holdings().clone(),
            capability_lists: source
                .options()
                .sets
                .iter()
                .map(|set| place.set(&set.name).capability_list().into_string())
                .collect(),
            versions: source.options().versions.map(|_| VersionPlace::new(place.base())),
        };
        let mut folders = Vec::new();
        for root in source.holdings().roots() {
            let Some(prefix) = root.uri(b"").as_str().strip_prefix(place.base()).map(str::to_owned) else {
                continue;
            };
            folders.push((prefix, Files::new(InFolder::new(root, known.clone()))));
        }
        folders.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        let holdings = source.holdings().clone();
        let named = Files::new(Named { known, holdings, place: place.clone() });
        let generics = Generics::new(&source.options().sets)?;
        Ok(Self { folders, named, generics })
    }
}

/// The descriptions of resources from the catalogue.
#[derive(Clone, Debug)]
struct KnownResources {
    catalogue: Catalogue,
    holdings: Holdings,
    /// The Capability Lists, by the number of their set.
    capability_lists: Vec<String>,
    /// The place of versions; `None` if they are not kept.
    versions: Option<VersionPlace>,
}

impl KnownResources {
    /// Returns a resource in its last committed state, so that requests do not wait for recording.
    fn resource(&self, key: &[u8]) -> io::Result<Option<Resource>> {
        self.catalogue.resource(key).map_err(io::Error::other)
    }

    fn describe(&self, mut resource: Resource) -> Description {
        self.holdings.describe_coding(&mut resource);
        let link = self.link(resource.sets, &resource.uri);
        let hashed = resource.stamp;
        Description { link, hashed, published: Some(resource.state), ..Description::default() }
    }

    /// Returns the `Link` header of a resource: a Capability List for each set that it is in (DISC-4), and its versions
    /// (RFC 7089 §2.2.5).
    fn link(&self, sets: u64, uri: &Uri) -> Option<HeaderValue> {
        let covering = self.capability_lists.iter().enumerate().filter(|(number, _)| sets >> number & 1 == 1);
        let mut links: Vec<String> =
            covering.map(|(_, list)| format!("<{list}>; rel=\"resourcesync\"")).collect();
        if let Some(versions) = &self.versions {
            let places = [("timegate", versions.timegate(uri)), ("timemap", versions.timemap(uri))];
            links.extend(
                places.iter().filter_map(|(rel, at)| Some(format!("<{}>; rel=\"{rel}\"", at.as_ref()?))),
            );
        }
        HeaderValue::from_str(&links.join(", ")).ok()
    }
}

/// The files below one folder, by their path.
#[derive(Debug)]
struct InFolder {
    supply: Option<Supply>,
    number: u8,
    known: KnownResources,
}

impl InFolder {
    fn new(root: &content::Root, known: KnownResources) -> Self {
        Self { supply: root.supply.clone(), number: root.number, known }
    }
}

impl FileProvider for InFolder {
    fn open(&self, name: &[u8]) -> io::Result<File> {
        let supplied = self.supply.as_ref().and_then(|supply| supply.0.open(name));
        supplied.unwrap_or_else(|| {
            let folder = self.known.holdings.handle(self.number).ok_or(io::ErrorKind::NotFound)?;
            let file = folder.entry(name)?;
            // The scan publishes files that everybody may read; if the permission was removed since, this takes
            // effect at once here. A supplier decides by itself.
            let is_hidden = self.supply.is_none() && is_private(&folder, name, &file)?;
            if is_hidden { Err(io::ErrorKind::NotFound.into()) } else { Ok(file) }
        })
    }

    fn describe(&self, name: &[u8], _: &File) -> io::Result<Option<Description>> {
        let resource = self.known.resource(&[&[self.number], name].concat())?;
        Ok(resource.map(|resource| self.known.describe(resource)))
    }

    fn are_supplied(&self) -> bool {
        self.supply.is_some()
    }

    fn cache_control(&self, _: &[u8]) -> HeaderValue {
        REVALIDATE
    }

    fn is_for_documents(&self) -> bool {
        false
    }
}

/// The files that manifests name, by the rest of their URI after the base URL, as written.
#[derive(Debug)]
struct Named {
    known: KnownResources,
    holdings: Holdings,
    place: SourcePlace,
}

impl Named {
    fn find(&self, name: &[u8]) -> io::Result<Option<Resource>> {
        let uri = format!("{}{}", self.place.base(), String::from_utf8_lossy(name));
        for key in self.holdings.keys_of(&uri) {
            let named = self.known.resource(&key)?.filter(|resource| resource.file.is_some());
            if named.is_some() {
                return Ok(named);
            }
        }
        Ok(None)
    }
}

impl FileProvider for Named {
    fn open(&self, name: &[u8]) -> io::Result<File> {
        let resource = self.find(name)?.ok_or(io::ErrorKind::NotFound)?;
        self.holdings.open(&resource)
    }

    fn describe(&self, name: &[u8], _: &File) -> io::Result<Option<Description>> {
        Ok(self.find(name)?.map(|resource| self.known.describe(resource)))
    }

    fn cache_control(&self, _: &[u8]) -> HeaderValue {
        REVALIDATE
    }

    fn is_for_documents(&self) -> bool {
        false
    }
}

/// A resource may change at any moment: caches must revalidate, which is cheap.
const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");

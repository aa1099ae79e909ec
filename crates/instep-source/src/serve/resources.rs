//! The files of the content, as the catalogue knows them.

use std::io;

use http::HeaderValue;

use super::{app::Folder, facts::Description, files::Describe};
use crate::{Publisher, catalogue::Catalogue, content::Root};

/// Describes the files below one root.
#[derive(Debug)]
struct Resources {
    catalogue: Catalogue,
    root_number: u8,
    /// The Capability Lists, by the number of their set.
    capability_lists: Vec<String>,
}

/// The folders of a Source that lie below its base URL.
pub(crate) fn folders(publisher: &Publisher) -> Vec<Folder> {
    let place = publisher.place();
    let sets = &publisher.options().sets;
    let capability_lists: Vec<String> =
        sets.iter().map(|set| place.set(&set.name).capability_list().into_string()).collect();
    let folder = |root: &Root| {
        let prefix = root.uri(b"").as_str().strip_prefix(place.base())?.to_owned();
        let describe = Box::new(Resources {
            catalogue: publisher.catalogue().clone(),
            root_number: root.number,
            capability_lists: capability_lists.clone(),
        });
        Some(Folder { prefix, root: root.folder.clone(), describe })
    };
    publisher.holdings().roots().iter().filter_map(folder).collect()
}

impl Resources {
    /// One Capability List for each set that a resource is in (DISC-4).
    fn link(&self, sets: u64) -> Option<HeaderValue> {
        let covering = self.capability_lists.iter().enumerate().filter(|(number, _)| sets >> number & 1 == 1);
        let links: Vec<String> =
            covering.map(|(_, list)| format!("<{list}>; rel=\"resourcesync\"")).collect();
        HeaderValue::from_str(&links.join(", ")).ok()
    }
}

impl Describe for Resources {
    fn describe(&self, name: &[u8]) -> io::Result<Option<Description>> {
        let key = [&[self.root_number], name].concat();
        let snapshot = self.catalogue.snapshot().map_err(io::Error::other)?;
        let resource = snapshot.resource(&key).map_err(io::Error::other)?;
        Ok(resource.map(|resource| Description {
            link: self.link(resource.sets),
            published: resource.stamp.map(|stamp| (stamp, resource.state)),
            content_type: None,
        }))
    }

    fn cache_control(&self, _: &[u8]) -> HeaderValue {
        HeaderValue::from_static("no-cache")
    }

    fn is_for_documents(&self) -> bool {
        false
    }
}

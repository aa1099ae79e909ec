//! The URIs of versions (§14.6).

use resourcesync::{DateTime, Link, MediaType, Relation, Uri};

use crate::{
    catalogue::ResourceState,
    render::{DOCUMENTS, MEMENTO, TIMEGATE, TIMEMAP},
};

/// The URIs of versions: below the documents, by the path of the resource below the base URL.
#[derive(Clone, Debug)]
pub(crate) struct VersionPlace {
    base: String,
}

impl VersionPlace {
    pub(crate) fn new(base: &str) -> Self {
        Self { base: base.to_owned() }
    }

    /// Returns the URI of the resource with a path; `None` if there can be none.
    pub(crate) fn original(&self, path: &str) -> Option<Uri> {
        Uri::parse(&format!("{}{path}", self.base)).ok()
    }

    /// Returns the URI of the TimeGate of a resource; `None` if it is not below the base URL.
    pub(crate) fn timegate(&self, original: &Uri) -> Option<Uri> {
        self.place(TIMEGATE, original)
    }

    /// Returns the URI of the TimeMap of a resource; `None` if it is not below the base URL.
    pub(crate) fn timemap(&self, original: &Uri) -> Option<Uri> {
        self.place(TIMEMAP, original)
    }

    /// Returns the URI of the version since a time; `None` if the resource is not below the base URL.
    pub(crate) fn memento(&self, original: &Uri, datetime: DateTime) -> Option<Uri> {
        self.place(&format!("{MEMENTO}/{}", datetime.unix_micros()), original)
    }

    fn place(&self, kind: &str, original: &Uri) -> Option<Uri> {
        let path = original.as_str().strip_prefix(&self.base)?;
        Uri::parse(&format!("{}{DOCUMENTS}/{kind}/{path}", self.base)).ok()
    }

    /// Returns the links of an entry to the versions of its resource, whose present state began at `since` (LN-16 to
    /// LN-19).
    pub(super) fn links(&self, uri: &Uri, state: &ResourceState, since: Option<DateTime>) -> Vec<Link> {
        // If an application only reports a resource, its bytes are not available.
        if state.digests.is_empty() {
            return Vec::new();
        }
        let memento = since.and_then(|since| self.memento(uri, since)).map(|href| {
            let mut link = Link::new(Relation::Memento, href);
            link.modified = state.lastmod;
            link.hash.clone_from(&state.digests);
            (link.length, link.media_type) = (state.length, state.media_type.clone());
            link
        });
        let timegate = self.timegate(uri).map(|href| Link::new(Relation::TimeGate, href));
        let timemap = self.timemap(uri).map(|href| {
            let mut link = Link::new(Relation::TimeMap, href);
            link.media_type = Some(MediaType::new("application/link-format"));
            link
        });
        [memento, timegate, timemap].into_iter().flatten().collect()
    }
}

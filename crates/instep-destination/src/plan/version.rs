//! The names of versions that are kept beside their resource.

use resourcesync::{DateTime, Digests, Uri};

use super::ResourceMetadata;
use crate::map::without_fragment;

/// The name of a version kept beside its resource: the resource's URI with the moment, or a part of the digest, as
/// fragment. No resource has such a URI, because the fragment of an entry is dropped (D6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VersionKey(Uri);

impl VersionKey {
    /// Returns the name of a version: its last modification, otherwise the time of its change, otherwise a part of
    /// its digest. `None` if nothing distinguishes it from other versions.
    pub(crate) fn of(resource: &Uri, metadata: &ResourceMetadata) -> Option<Self> {
        let moment = match metadata.lastmod.or(metadata.datetime) {
            // Times are written in whole seconds, because lists and TimeGates state the same time with different
            // precision.
            Some(time) => DateTime::from_unix_seconds(time.instant().0).to_string(),
            None => start_of(&metadata.digests, 32)?,
        };
        Uri::parse(&format!("{}#{moment}", without_fragment(resource))).ok().map(Self)
    }

    /// Returns the name with a part of the digest added, for a version whose time another one has too. `None` if there
    /// is no digest.
    pub(crate) fn with_digest(&self, digests: &Digests) -> Option<Self> {
        Uri::parse(&format!("{}-{}", self.0, start_of(digests, 32)?)).ok().map(Self)
    }

    /// Reads a name from the state. `None` if it is the URI of a resource.
    pub(crate) fn parse(uri: &Uri) -> Option<Self> {
        uri.as_str().contains('#').then(|| Self(uri.clone()))
    }

    /// Returns the name as the state has it.
    pub(crate) fn as_uri(&self) -> &Uri {
        &self.0
    }

    /// Returns the name as the state has it.
    pub(crate) fn into_uri(self) -> Uri {
        self.0
    }

    /// Returns the URI of the resource.
    pub(crate) fn resource(&self) -> &str {
        without_fragment(&self.0)
    }

    /// Returns the part that distinguishes the version from others of its resource.
    pub(crate) fn moment(&self) -> &str {
        self.0.as_str().split_once('#').map_or("", |(_, moment)| moment)
    }
}

fn start_of(digests: &Digests, length: usize) -> Option<String> {
    let digest = digests.strongest()?.to_string();
    Some(digest.chars().filter(char::is_ascii_alphanumeric).take(length).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_needs_a_time_or_a_digest() {
        let resource = Uri::parse("http://example.com/a").unwrap();
        assert_eq!(VersionKey::of(&resource, &ResourceMetadata::new()), None);
        let mut metadata = ResourceMetadata::new();
        metadata.lastmod = Some(DateTime::parse("2026-01-02T03:04:05.678901Z").unwrap());
        let key = VersionKey::of(&resource, &metadata).unwrap();
        assert_eq!(key.as_uri().as_str(), "http://example.com/a#2026-01-02T03:04:05Z");
        assert_eq!((key.resource(), key.moment()), ("http://example.com/a", "2026-01-02T03:04:05Z"));
        assert_eq!(VersionKey::parse(&resource), None);
        assert_eq!(VersionKey::parse(key.as_uri()), Some(key));
    }
}

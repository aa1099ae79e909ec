//! The names of the documents below `out`, and their URIs below the base URL.

use resourcesync::{DateTime, Uri, UriError};
use url::Url;

use crate::Error;

/// The folder of the documents, below `out` and below the base URL.
pub(crate) const DOCUMENTS: &str = "resourcesync";

/// The name of the Source Description below the base URL (SD-2).
pub(crate) const SOURCE_DESCRIPTION: &str = ".well-known/resourcesync";

/// The name of the crawlers' file below the base URL; it is shared with the operator.
pub(crate) const ROBOTS: &str = "robots.txt";

/// The folder of patches among the documents.
pub(crate) const PATCHES: &str = "patches";
/// The folder below which the TimeGates of resources are served.
pub(crate) const TIMEGATE: &str = "timegate";
/// The folder below which the TimeMaps of resources are served.
pub(crate) const TIMEMAP: &str = "timemap";
/// The folder below which the versions of resources are served.
pub(crate) const MEMENTO: &str = "memento";
/// All folders for versions: no set can have one of these names.
pub(super) const VERSION_PLACES: [&str; 3] = [TIMEGATE, TIMEMAP, MEMENTO];

/// The name of the stylesheet among the documents of the Source.
pub(super) const STYLESHEET: &str = "stylesheet.xsl";

/// The Capability List of a set.
pub(super) const CAPABILITY_LIST: &str = "capabilitylist.xml";
/// The Resource List of a set, or the index over its parts.
pub(super) const RESOURCE_LIST: &str = "resourcelist.xml";
/// The plain Sitemap beside the Resource List.
pub(super) const SITEMAP: &str = "sitemap.xml";
/// The Change List of a set, or the index over its lists.
pub(super) const CHANGE_LIST: &str = "changelist.xml";
/// The Resource Dump of a set.
pub(crate) const RESOURCE_DUMP: &str = "resourcedump.xml";
/// The Change Dump of a set.
pub(crate) const CHANGE_DUMP: &str = "changedump.xml";

/// Returns the name of a part of a snapshot. It has the time of the snapshot, so that no two snapshots share a part.
pub(crate) fn part_name(kind: &str, at: DateTime, number: usize, extension: &str) -> String {
    format!("{kind}-{}-{number:04}.{extension}", stamp(at))
}

/// Returns the name that the document of a snapshot has in an archive.
pub(super) fn snapshot_name(of: &str, at: DateTime) -> String {
    format!("{}-{}.xml", of.trim_end_matches(".xml"), stamp(at))
}

/// Returns the name of the archive of a document.
pub(super) fn archive_name(of: &str) -> String {
    format!("{}-archive.xml", of.trim_end_matches(".xml"))
}

/// Returns a datetime without the characters that file names should not have.
fn stamp(at: DateTime) -> String {
    at.to_string().chars().filter(|c| !matches!(c, '-' | ':')).collect()
}

/// Names of documents below `out`, and their URIs below the base URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    base: String,
}

impl SourcePlace {
    /// Parses a base URL, with or without a final slash, with or without a path.
    ///
    /// # Errors
    /// If it is not an `http` or `https` URL, or has a query or fragment.
    pub fn new(base_url: &str) -> Result<Self, Error> {
        let wrong = |what: &str| Error::option("base URL", format!("{base_url:?} {what}"));
        // A parser that repairs takes the first segment of the path as the host.
        if let Err(error @ UriError::NoHost) = Uri::parse(base_url) {
            return Err(wrong(&format!("cannot be used: {error}")));
        }
        let url = Url::parse(base_url).map_err(|_| wrong("is not a URL such as http://example.org/data/"))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(wrong("must start with http:// or https:// and a host"));
        }
        let has_login = !url.username().is_empty() || url.password().is_some();
        if url.query().is_some() || url.fragment().is_some() || has_login {
            return Err(wrong("must not have a query, a fragment or a user"));
        }
        let mut base = url.to_string();
        if !base.ends_with('/') {
            base.push('/');
        }
        // A parser that repairs keeps characters that no URI has, and no document could name itself.
        Uri::parse(&base).map_err(|error| {
            wrong(&format!(
                "cannot be used: {error}; write this character percent-encoded, such as %25 for %"
            ))
        })?;
        Ok(Self { base })
    }

    /// Returns the base URL, with its final slash.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Returns the path of the base URL, with its final slash.
    pub fn path(&self) -> &str {
        let host = self.base.find("://").map_or(0, |scheme| scheme + 3);
        self.base[host..].find('/').map_or("/", |slash| &self.base[host + slash..])
    }

    /// Returns `true` if the base URL is the root of its host.
    pub fn is_host_root(&self) -> bool {
        self.path() == "/"
    }

    /// Returns the URI of a document. Names of documents need no escapes.
    pub fn uri(&self, name: &str) -> Uri {
        Uri::parse(&format!("{}{name}", self.base)).unwrap_or_default()
    }

    /// Returns the name of the document with this URI; `None` if it is not below the base URL.
    pub fn name<'a>(&self, uri: &'a str) -> Option<&'a str> {
        uri.strip_prefix(&self.base)
    }

    /// Returns the URI of the Source Description.
    pub fn source_description(&self) -> Uri {
        self.uri(SOURCE_DESCRIPTION)
    }

    /// Returns the names and URIs of the documents of a set.
    pub fn set(&self, name: &str) -> SetPlace {
        let folder = if name.is_empty() { DOCUMENTS.to_owned() } else { format!("{DOCUMENTS}/{name}") };
        SetPlace { place: self.clone(), folder }
    }
}

/// Names and URIs of the documents of one set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetPlace {
    place: SourcePlace,
    folder: String,
}

impl SetPlace {
    /// Returns the name, below `out`, of a document of the set.
    pub fn name(&self, document: &str) -> String {
        format!("{}/{document}", self.folder)
    }

    /// Returns the URI of a document of the set.
    pub fn uri(&self, document: &str) -> Uri {
        self.place.uri(&self.name(document))
    }

    /// Returns the URI of the Capability List.
    pub fn capability_list(&self) -> Uri {
        self.uri(CAPABILITY_LIST)
    }

    /// Returns the names and URIs of the Source.
    pub fn source(&self) -> &SourcePlace {
        &self.place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_taken_with_and_without_slash_and_path() {
        for (given, base, path) in [
            ("http://example.com", "http://example.com/", "/"),
            ("http://example.com/", "http://example.com/", "/"),
            ("https://example.com:8080/a/b", "https://example.com:8080/a/b/", "/a/b/"),
            ("https://example.com/a%20b/", "https://example.com/a%20b/", "/a%20b/"),
        ] {
            let place = SourcePlace::new(given).unwrap();
            assert_eq!((place.base(), place.path()), (base, path));
        }
        for wrong in ["example.com", "ftp://example.com/", "http://", "http://a/?b", "http://a/#b"] {
            assert!(SourcePlace::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn o247_a_base_url_with_characters_that_no_uri_has_is_refused() {
        for (wrong, what) in [
            ("http://example.com/%zz/", "invalid percent-encoded octet"),
            ("http://example.com/[x]/", "unexpected character"),
            ("http://example.com/a|b/", "unexpected character"),
        ] {
            let error = SourcePlace::new(wrong).unwrap_err().to_string();
            assert!(error.contains(what) && error.contains("%25"), "{error}");
        }
        // These are encoded on the way.
        for given in
            ["http://example.com/a b/", "http://example.com/\u{e4}/", "http://example.com/a'b;c=d&e/"]
        {
            let place = SourcePlace::new(given).unwrap();
            assert_eq!(place.uri("x").as_str(), format!("{}x", place.base()));
        }
    }
}

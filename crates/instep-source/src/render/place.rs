use resourcesync::Uri;
use url::Url;

use crate::Error;

/// The folder, below `out` and below the base URL, that documents lie in.
pub const DOCUMENTS: &str = "resourcesync";

/// Where the Source Description lies below the base URL (SD-2).
pub const SOURCE_DESCRIPTION: &str = ".well-known/resourcesync";

/// Names of documents below `out`, and their URIs below the base URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    base: String,
}

impl Place {
    /// Takes a base URL with or without a final slash, with or without a path.
    ///
    /// # Errors
    /// When it is not an `http` or `https` URL, or has a query or fragment.
    pub fn new(base_url: &str) -> Result<Self, Error> {
        let wrong = |what: &str| Error::option("base URL", format!("{base_url:?} {what}"));
        let url = Url::parse(base_url).map_err(|error| wrong(&format!("is not a URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(wrong("must start with http:// or https:// and a host"));
        }
        if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() {
            return Err(wrong("must not have a query, a fragment or a user"));
        }
        let mut base = url.to_string();
        if !base.ends_with('/') {
            base.push('/');
        }
        Ok(Self { base })
    }

    /// The base URL, with its final slash.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The path of the base URL: `/` where it has none.
    pub fn path(&self) -> &str {
        let host = self.base.find("://").map_or(0, |scheme| scheme + 3);
        self.base[host..].find('/').map_or("/", |slash| &self.base[host + slash..])
    }

    /// Whether the base URL is the host's root.
    pub fn is_host_root(&self) -> bool {
        self.path() == "/"
    }

    /// The URI of a document by its name below `out`; names are ours and need no escape.
    pub fn uri(&self, name: &str) -> Uri {
        Uri::parse(&format!("{}{name}", self.base)).unwrap_or_default()
    }

    /// The name of the document with this URI, where it lies below the base URL.
    pub fn name<'a>(&self, uri: &'a str) -> Option<&'a str> {
        uri.strip_prefix(&self.base)
    }

    /// The Source Description's URI.
    pub fn source_description(&self) -> Uri {
        self.uri(SOURCE_DESCRIPTION)
    }

    /// The documents of a set.
    pub fn set(&self, name: &str) -> SetPlace {
        let folder = if name.is_empty() { DOCUMENTS.to_owned() } else { format!("{DOCUMENTS}/{name}") };
        SetPlace { place: self.clone(), folder }
    }
}

/// Names and URIs of the documents of one set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetPlace {
    place: Place,
    folder: String,
}

impl SetPlace {
    /// The name, below `out`, of a document of the set.
    pub fn name(&self, document: &str) -> String {
        format!("{}/{document}", self.folder)
    }

    /// The URI of a document of the set.
    pub fn uri(&self, document: &str) -> Uri {
        self.place.uri(&self.name(document))
    }

    /// The Capability List's URI.
    pub fn capability_list(&self) -> Uri {
        self.uri("capabilitylist.xml")
    }

    /// The place of the Source.
    pub fn source(&self) -> &Place {
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
            let place = Place::new(given).unwrap();
            assert_eq!((place.base(), place.path()), (base, path));
        }
        for wrong in ["example.com", "ftp://example.com/", "http://", "http://a/?b", "http://a/#b"] {
            assert!(Place::new(wrong).is_err(), "{wrong}");
        }
    }
}

//! A place in object storage: a bucket, and a prefix in it.

use std::fmt;
#[cfg(feature = "s3")]
use std::sync::Arc;

#[cfg(feature = "s3")]
use object_store::ObjectStore;

use crate::InvalidPlace;

/// The scheme of the URLs of places.
const SCHEME: &str = "s3://";

/// Attempts of a request after the first one.
const RETRIES: u32 = 5;

/// A bucket and a prefix in it: `s3://bucket/prefix`. Credentials are no part of it; they come from the environment
/// (`AWS_ACCESS_KEY_ID` and its companions) or the files of AWS tools, whenever connections are opened.
#[derive(Clone, Debug)]
pub struct ObjectPlace {
    bucket: String,
    prefix: String,
    endpoint: Option<String>,
    retries: u32,
    #[cfg(feature = "s3")]
    store: Option<Arc<dyn ObjectStore>>,
}

impl ObjectPlace {
    /// Returns `true` for text that is meant as such a place.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// Parses `s3://bucket` or `s3://bucket/prefix`.
    ///
    /// # Errors
    /// If it has no bucket, or a prefix that no URL has as a path: with empty segments, `.` or `..`.
    pub fn parse(url: &str) -> Result<Self, InvalidPlace> {
        let wrong = |what| InvalidPlace { url: url.to_owned(), what };
        let rest = url.strip_prefix(SCHEME).ok_or_else(|| wrong("is not a place in object storage"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if bucket.is_empty() || !bucket.bytes().all(is_allowed) {
            return Err(wrong("names no bucket"));
        }
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        if !prefix.is_empty() && prefix.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
            return Err(wrong("has a prefix with an empty part, '.' or '..', which no URL can name"));
        }
        if !prefix.bytes().all(|byte| b"=/".contains(&byte) || is_allowed(byte)) {
            return Err(wrong(
                "has a prefix with other characters than letters, digits, '.', '-', '_', '=' and '/'",
            ));
        }
        Ok(Self {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            endpoint: None,
            retries: RETRIES,
            #[cfg(feature = "s3")]
            store: None,
        })
    }

    /// Uses another service than AWS, by its `http` or `https` URL; the default is `AWS_ENDPOINT_URL`.
    #[must_use]
    pub fn at(self, endpoint: impl Into<String>) -> Self {
        Self { endpoint: Some(endpoint.into()), ..self }
    }

    /// Makes at most this many attempts of a request after the first one; the default is 5.
    #[must_use]
    pub fn with_retries(self, retries: u32) -> Self {
        Self { retries, ..self }
    }

    /// Uses a store of any kind that the application has opened; the bucket is then only a name.
    #[cfg(feature = "s3")]
    #[must_use]
    pub fn in_store(self, store: Arc<dyn ObjectStore>) -> Self {
        Self { store: Some(store), ..self }
    }

    /// Returns the place below this one with a name.
    ///
    /// # Errors
    /// If the name is no part of a prefix.
    pub fn below(&self, name: &str) -> Result<Self, InvalidPlace> {
        let separator = if self.prefix.is_empty() { "" } else { "/" };
        let named = Self::parse(&format!("{SCHEME}{}/{}{separator}{name}", self.bucket, self.prefix))?;
        Ok(Self { prefix: named.prefix, ..self.clone() })
    }

    /// Returns the entire bucket, of the same service.
    #[must_use]
    pub fn bucket_itself(&self) -> Self {
        Self { prefix: String::new(), ..self.clone() }
    }

    /// Returns `true` if another process opens the same place by its URL and the environment: no store or service was given.
    pub fn leads_back(&self) -> bool {
        #[cfg(feature = "s3")]
        let is_given = self.store.is_some();
        #[cfg(not(feature = "s3"))]
        let is_given = false;
        !is_given && self.endpoint.is_none()
    }

    /// Returns the name of the bucket.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// Returns the prefix, without slashes at its ends.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    #[cfg(feature = "s3")]
    pub(crate) fn endpoint(&self) -> Option<&str> {
        self.endpoint.as_deref()
    }

    /// Returns the attempts of a request after the first one.
    pub fn retries(&self) -> u32 {
        self.retries
    }

    #[cfg(feature = "s3")]
    pub(crate) fn store(&self) -> Option<Arc<dyn ObjectStore>> {
        self.store.clone()
    }
}

impl fmt::Display for ObjectPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.prefix.is_empty() { "" } else { "/" };
        write!(f, "{SCHEME}{}{separator}{}", self.bucket, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::ObjectPlace;

    #[test]
    fn a_place_is_a_bucket_and_a_prefix() {
        for (url, bucket, prefix, shown) in [
            ("s3://data", "data", "", "s3://data"),
            ("s3://data/", "data", "", "s3://data"),
            ("s3://data.example.org/a/b/", "data.example.org", "a/b", "s3://data.example.org/a/b"),
        ] {
            let place = ObjectPlace::parse(url).unwrap();
            assert_eq!((place.bucket(), place.prefix()), (bucket, prefix));
            assert_eq!(place.to_string(), shown);
        }
        let below = ObjectPlace::parse("s3://data/a").unwrap().at("http://h/").below("b.c").unwrap();
        assert_eq!(below.to_string(), "s3://data/a/b.c");
        assert_eq!(below.bucket_itself().to_string(), "s3://data");
        assert!(ObjectPlace::parse("s3://data/a").unwrap().leads_back() && !below.leads_back());
        assert_eq!(ObjectPlace::parse("s3://data").unwrap().below("b").unwrap().to_string(), "s3://data/b");
        assert!(ObjectPlace::parse("s3://data").unwrap().below("..").is_err());
        for wrong in [
            "",
            "data",
            "s3://",
            "s3:///a",
            "s3://a b/",
            "s3://a/../b",
            "s3://a//b",
            "s3://a/b?c",
            "s3://k:s@a/",
        ] {
            assert!(ObjectPlace::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn o1095_a_prefix_is_refused_for_what_is_wrong_with_it() {
        let refusal = |url: &str| ObjectPlace::parse(url).unwrap_err().what;
        for parts in ["s3://a//b", "s3://a/b//c", "s3://a/../b", "s3://a/b/."] {
            assert!(refusal(parts).contains("an empty part, '.' or '..'"), "{parts}");
        }
        for characters in ["s3://a/b c", "s3://a/b%20c", "s3://a/\u{fc}"] {
            assert!(refusal(characters).contains("other characters than"), "{characters}");
        }
    }
}

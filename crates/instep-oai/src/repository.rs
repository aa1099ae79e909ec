//! The repository that an operator names, and the URLs of requests to it. PURE.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use resourcesync::{Uri, UriError};
use url::Url;

/// The characters of a value in a query that are not escaped.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The scheme prefix that makes a URL that of a repository.
const SCHEME: &str = "oai+";

/// The format that each repository has.
const DUBLIN_CORE: &str = "oai_dc";

/// A repository, and the part of it that is harvested: `oai+https://repo.example/oai?metadataPrefix=oai_dc&set=papers`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepositoryUrl {
    /// The URL of the repository, with arguments that do not belong to the protocol.
    pub base: String,
    /// The formats to harvest, `oai_dc` if none is named; several are separated by commas.
    pub formats: Vec<String>,
    /// The set; `None` for all records.
    pub set: Option<String>,
    /// The first datestamp that is wanted; `None` for no limit.
    pub from: Option<String>,
    /// The last datestamp that is wanted; `None` for no limit.
    pub until: Option<String>,
}

/// A text that is not the URL of a repository.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{url:?} is not the URL of a repository: {what}")]
pub struct RepositoryUrlError {
    url: String,
    what: String,
}

impl RepositoryUrl {
    /// Returns `true` if a text is meant as the URL of a repository.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// Reads a URL with the scheme `oai+https` or `oai+http`.
    ///
    /// # Errors
    /// If it is no such URL, or names an argument twice or a format that cannot be one.
    pub fn parse(text: &str) -> Result<Self, RepositoryUrlError> {
        let wrong = |what: String| RepositoryUrlError { url: text.to_owned(), what };
        let plain =
            text.strip_prefix(SCHEME).ok_or_else(|| wrong(format!("it does not begin with {SCHEME}")))?;
        if let Err(error @ UriError::NoHost) = Uri::parse(plain) {
            return Err(wrong(error.to_string()));
        }
        let mut url = Url::parse(plain).map_err(|error| wrong(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("write oai+https:// or oai+http://".to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(RepositoryUrlError {
                url: format!("{SCHEME}{}://...@{}", url.scheme(), url.host_str().unwrap_or_default()),
                what: "it has a login, which the links of its records would publish; give it as credentials instead"
                    .to_owned(),
            });
        }
        let arguments: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        url.set_fragment(None);
        url.set_query(None);
        let mut repository =
            Self { base: String::new(), formats: Vec::new(), set: None, from: None, until: None };
        let mut others = Vec::new();
        for (name, value) in arguments {
            let place = match name.as_str() {
                "metadataPrefix" => {
                    repository.formats.extend(value.split(',').map(|format| format.trim().to_owned()));
                    continue;
                }
                "set" => &mut repository.set,
                "from" => &mut repository.from,
                "until" => &mut repository.until,
                "verb" | "resumptionToken" | "identifier" => continue,
                _ => {
                    others.push(format!("{}={}", escaped(&name), escaped(&value)));
                    continue;
                }
            };
            if place.replace(value).is_some() {
                return Err(wrong(format!("{name} is named twice; several sets need a [[set]] for each")));
            }
        }
        repository.formats.retain(|format| !format.is_empty());
        if repository.formats.is_empty() {
            repository.formats.push(DUBLIN_CORE.to_owned());
        }
        if let Some(format) = repository.formats.iter().find(|format| !is_prefix(format)) {
            return Err(wrong(format!("{format:?} cannot be a metadataPrefix")));
        }
        repository.formats.dedup();
        repository.base = if others.is_empty() { url.into() } else { format!("{url}?{}", others.join("&")) };
        Ok(repository)
    }

    /// Returns the URL of a request.
    pub(crate) fn request(&self, verb: &str, arguments: &[(&str, &str)]) -> String {
        let mut url = self.base.clone();
        url.push(if url.contains('?') { '&' } else { '?' });
        url.push_str("verb=");
        url.push_str(verb);
        for (name, value) in arguments {
            url.push_str(&format!("&{name}={}", escaped(value)));
        }
        url
    }

    /// Returns the text by which another harvest of the same records is known.
    pub(crate) fn key(&self) -> String {
        let part = |name: &str, value: &Option<String>| {
            value.as_ref().map_or(String::new(), |value| format!(" {name}={value}"))
        };
        format!(
            "{}{}{}{}",
            self.base,
            part("set", &self.set),
            part("from", &self.from),
            part("until", &self.until)
        )
    }
}

fn escaped(value: &str) -> String {
    utf8_percent_encode(value, VALUE).to_string()
}

/// Returns `true` for a text that can be a `metadataPrefix`: none of its characters has a meaning in a path.
pub(crate) fn is_prefix(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte);
    !text.starts_with('.') && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_the_repository_its_formats_and_the_part_that_is_wanted() {
        let url =
            "oai+https://repo.example/oai?page=oai&metadataPrefix=oai_dc,marc21&set=a%3Ab&verb=Identify";
        let repository = RepositoryUrl::parse(url).unwrap();
        assert_eq!(repository.base, "https://repo.example/oai?page=oai");
        assert_eq!(repository.formats, ["oai_dc", "marc21"]);
        assert_eq!(repository.set.as_deref(), Some("a:b"));
        assert_eq!(
            repository.request("ListRecords", &[("set", "a:b"), ("resumptionToken", "x/+ y&")]),
            "https://repo.example/oai?page=oai&verb=ListRecords&set=a%3Ab&resumptionToken=x%2F%2B%20y%26"
        );
        let plain = RepositoryUrl::parse("oai+http://127.0.0.1:8080/oai").unwrap();
        assert_eq!(plain.request("Identify", &[]), "http://127.0.0.1:8080/oai?verb=Identify");
        assert_eq!(plain.formats, ["oai_dc"]);
    }

    #[test]
    fn o231_other_urls_and_those_with_a_login_are_refused_with_the_reason() {
        for (url, reason) in [
            ("https://repo.example/oai", "does not begin with oai+"),
            ("oai+ftp://repo.example/oai", "write oai+https://"),
            ("oai+https://repo.example/oai?set=a&set=b", "named twice"),
            ("oai+https://repo.example/oai?metadataPrefix=../x", "cannot be a metadataPrefix"),
            ("oai+https://", "host"),
            ("oai+https://me:hush@repo.example/oai", "give it as credentials"),
            ("oai+https://me@repo.example/oai", "give it as credentials"),
        ] {
            let error = RepositoryUrl::parse(url).unwrap_err().to_string();
            assert!(error.contains(reason) && !error.contains("hush"), "{url}: {error}");
        }
    }
}

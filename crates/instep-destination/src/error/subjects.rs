//! The errors of each area, shown beside their URL.

use super::{BesideUrl, Error, error_chain};
use crate::{
    discover::DiscoverError,
    documents::DocumentError,
    transfer::{fetch::FetchError, package::PackageFetchError},
};

/// Returns a sentence that begins with a URL without it.
fn without_subject(url: &str, sentence: String) -> String {
    match sentence.strip_prefix(url).and_then(|rest| rest.strip_prefix(' ')) {
        Some(rest) => format!("it {rest}"),
        None => sentence,
    }
}

impl BesideUrl for DocumentError {
    fn beside(&self, url: &str) -> String {
        match self {
            Self::Http(error) => error.beside(url),
            other => without_subject(url, error_chain(other)),
        }
    }
}

impl BesideUrl for DiscoverError {
    fn beside(&self, url: &str) -> String {
        match self {
            Self::Unreachable { source, .. } | Self::Invalid { source, .. } => source.beside(url),
            other => without_subject(url, error_chain(other)),
        }
    }
}

impl BesideUrl for FetchError {
    fn beside(&self, url: &str) -> String {
        match self {
            Self::Http(error) => error.beside(url),
            other => error_chain(other),
        }
    }
}

impl BesideUrl for PackageFetchError {
    fn beside(&self, url: &str) -> String {
        match self {
            Self::Fetch(error) => error.beside(url),
            Self::Manifest(error) => error.beside(url),
            other => without_subject(url, error_chain(other)),
        }
    }
}

impl BesideUrl for Error {
    fn beside(&self, url: &str) -> String {
        match self {
            Self::Unreachable { url: own, source } if own == url => error_chain(&**source),
            Self::InvalidDocument { url: own, what } if own == url => what.clone(),
            other => error_chain(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use instep_net::HttpError;

    use super::*;

    const URL: &str = "http://h/list.xml";

    fn status() -> HttpError {
        HttpError::Status { uri: URL.to_owned(), status: StatusCode::NOT_FOUND, retry_after: None }
    }

    #[test]
    fn p15_an_error_beside_its_url_does_not_name_it_once_more() {
        let large = || DocumentError::TooLarge { uri: URL.to_owned(), most: 7 };
        for (said, expected) in [
            (status().beside(URL), "it answers 404 Not Found"),
            (DocumentError::Http(status()).beside(URL), "it answers 404 Not Found"),
            (FetchError::Http(status()).beside(URL), "it answers 404 Not Found"),
            (Error::from(status()).beside(URL), "it answers 404 Not Found"),
            (large().beside(URL), "it has more than 7 bytes"),
            (PackageFetchError::Manifest(large()).beside(URL), "it has more than 7 bytes"),
            (Error::from(large()).beside(URL), "it has more than 7 bytes"),
            (error_chain(&Error::from(large())), "http://h/list.xml is not usable: it has more than 7 bytes"),
        ] {
            assert_eq!(said, expected);
        }
    }

    #[test]
    fn p15_an_error_beside_another_url_names_its_own() {
        let other = "http://h/";
        for said in [
            status().beside(other),
            DocumentError::Http(status()).beside(other),
            Error::from(status()).beside(other),
            Error::from(DocumentError::TooLarge { uri: URL.to_owned(), most: 7 }).beside(other),
        ] {
            assert_eq!(said.matches(URL).count(), 1, "{said}");
        }
    }
}

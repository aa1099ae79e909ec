//! Credentials, each for one origin.

use std::{collections::BTreeMap, fmt};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};

use crate::{error::HttpError, origin::Origin};

/// Headers that one origin gets and no other one, not even after a redirect (D25, AMB-B48).
#[derive(Clone, Default)]
pub struct Credentials(BTreeMap<Origin, Vec<(HeaderName, HeaderValue)>>);

impl Credentials {
    /// Sends `Authorization: Bearer` to an origin.
    ///
    /// # Errors
    /// If the token cannot be part of a header.
    pub fn bearer(&mut self, origin: Origin, token: &str) -> Result<(), HttpError> {
        self.header(origin, AUTHORIZATION.as_str(), &format!("Bearer {token}"))
    }

    /// Sends `Authorization: Basic` to an origin (RFC 7617).
    ///
    /// # Errors
    /// As [`Self::header`].
    pub fn basic(&mut self, origin: Origin, user: &str, password: &str) -> Result<(), HttpError> {
        self.header(origin, AUTHORIZATION.as_str(), &basic(user, password))
    }

    /// Sends any header to an origin. It replaces an earlier one of the same name.
    ///
    /// # Errors
    /// If the name or the value cannot be part of a header. The message does not show the value.
    pub fn header(&mut self, origin: Origin, name: &str, value: &str) -> Result<(), HttpError> {
        let unusable = |part| HttpError::Option {
            what: format!("The {part} of the header {name:?} cannot be sent: write one line of plain text"),
        };
        let key = name.parse().map_err(|_| unusable("name"))?;
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| unusable("value"))?;
        value.set_sensitive(true);
        let headers = self.0.entry(origin).or_default();
        headers.retain(|(held, _)| *held != key);
        headers.push((key, value));
        Ok(())
    }

    pub(crate) fn apply(&self, origin: &Origin, headers: &mut HeaderMap) {
        for (name, value) in self.0.get(origin).into_iter().flatten() {
            headers.insert(name, value.clone());
        }
    }
}

/// Names the origins; the headers are secret.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys().map(Origin::to_string)).finish()
    }
}

/// Returns the value of a `Basic` authorization.
pub(crate) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// Returns the login and password of a host in the text of a `netrc` file; `None` if it has none. The `default` entry
/// is ignored, because it would send a password to any host.
pub fn netrc(text: &str, host: &str) -> Option<(String, String)> {
    let mut words =
        text.lines().filter(|line| !line.trim_start().starts_with('#')).flat_map(str::split_whitespace);
    let (mut here, mut login, mut password) = (false, None, None);
    while let Some(word) = words.next() {
        match word {
            "machine" | "default" if here => break,
            "machine" => here = words.next().is_some_and(|name| name.eq_ignore_ascii_case(host)),
            "login" if here => login = words.next(),
            "password" if here => password = words.next(),
            _ => {}
        }
    }
    Some((login?.to_owned(), password?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_netrc_gives_the_login_of_its_machine_only() {
        let text = "# machine example.com login no password no\nmachine other.org login a password b\n\
                    machine example.com\n  login me\n  password secret\ndefault login x password y";
        assert_eq!(netrc(text, "example.com"), Some(("me".to_owned(), "secret".to_owned())));
        assert_eq!(netrc(text, "third.org"), None);
    }

    #[test]
    fn basic_is_base64_of_user_and_password() {
        assert_eq!(basic("Aladdin", "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    }

    #[test]
    fn d25_credentials_go_to_their_exact_origin() {
        let mut credentials = Credentials::default();
        credentials.bearer(Origin::parse("https://example.com").unwrap(), "secret").unwrap();
        let sent = |uri: &str| {
            let mut headers = HeaderMap::new();
            credentials.apply(&Origin::parse(uri).unwrap(), &mut headers);
            headers.contains_key(AUTHORIZATION)
        };
        assert!(sent("https://example.com:443/a"));
        for other in
            ["http://example.com", "https://example.com:444", "https://sub.example.com", "https://com"]
        {
            assert!(!sent(other), "{other}");
        }
        assert!(!format!("{credentials:?}").contains("secret"));
    }
}

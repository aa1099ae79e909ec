use std::{collections::BTreeMap, fmt};

use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};

use super::{HttpError, Origin};

/// Headers that go to one origin each, and to no other (D25, AMB-B48).
#[derive(Clone, Default)]
pub struct Credentials(BTreeMap<Origin, Vec<(HeaderName, HeaderValue)>>);

impl Credentials {
    /// Sends `Authorization: Bearer` to an origin.
    ///
    /// # Errors
    /// When the token cannot stand in a header.
    pub fn bearer(&mut self, origin: Origin, token: &str) -> Result<(), HttpError> {
        self.header(origin, AUTHORIZATION.as_str(), &format!("Bearer {token}"))
    }

    /// Sends `Authorization: Basic` to an origin.
    ///
    /// # Errors
    /// Never with Base64; kept for the caller's `?`.
    pub fn basic(&mut self, origin: Origin, user: &str, password: &str) -> Result<(), HttpError> {
        self.header(origin, AUTHORIZATION.as_str(), &basic(user, password))
    }

    /// Sends any header to an origin.
    ///
    /// # Errors
    /// When name or value cannot stand in a header; the value is not shown.
    pub fn header(&mut self, origin: Origin, name: &str, value: &str) -> Result<(), HttpError> {
        let unusable =
            |part| HttpError::Option { what: format!("The {part} of the header {name:?} cannot be sent") };
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

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys().map(Origin::to_string)).finish()
    }
}

/// The value of a `Basic` authorization.
pub(crate) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", base64(format!("{user}:{password}").as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() { letter.into() } else { '=' });
        }
    }
    text
}

/// Login and password of a host in the text of a `netrc` file; the `default` entry is not used, for it names no host.
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
        assert_eq!(base64(b"ab"), "YWI=");
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

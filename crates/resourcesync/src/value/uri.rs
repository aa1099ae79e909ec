//! Absolute URIs.

use std::fmt;

/// An absolute URI from a `loc` or `href` (GEN-14), kept as written: never normalized.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uri(String);

/// The reason why a text is not a URI.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UriError {
    /// It has no scheme, so that it names nothing without a base.
    #[error("Not an absolute URI")]
    Relative,
    /// A URI of the web needs a host (RFC 9110 §4.2.1).
    #[error("A web URL needs a host, as in http://example.org/")]
    NoHost,
    /// RFC 3986 does not allow the text.
    #[error("Not a URI: {reason}")]
    Syntax {
        /// The part of RFC 3986 that the text breaks.
        reason: String,
    },
}

impl Uri {
    /// Reads an absolute URI (RFC 3986).
    ///
    /// # Errors
    /// If the text is relative, a web URL without a host, or not a URI at all.
    pub fn parse(text: &str) -> Result<Self, UriError> {
        Self::check(text)?;
        Ok(Self(text.to_owned()))
    }

    /// Reads a URI from a record. An earlier version may have recorded a web URL without a host, which no document has
    /// any more (C32).
    ///
    /// # Errors
    /// If the text is relative, or not a URI at all.
    pub fn parse_recorded(text: &str) -> Result<Self, UriError> {
        Self::check_syntax(text)?;
        Ok(Self(text.to_owned()))
    }

    /// Checks the same as [`Uri::parse`], without keeping anything.
    pub(crate) fn check(text: &str) -> Result<(), UriError> {
        Self::check_syntax(text)?;
        if lacks_host(text) { Err(UriError::NoHost) } else { Ok(()) }
    }

    fn check_syntax(text: &str) -> Result<(), UriError> {
        if is_plain(text) {
            return Ok(());
        }
        match fluent_uri::UriRef::parse(text) {
            Ok(uri) if uri.has_scheme() => Ok(()),
            Ok(_) => Err(UriError::Relative),
            Err(error) => Err(UriError::Syntax { reason: error.to_string() }),
        }
    }

    /// Resolves a reference against this URI (RFC 3986 §5, NAV-5); an absolute one stays as written.
    ///
    /// # Errors
    /// If the text is not a URI reference, or leads to a web URL without a host.
    pub fn resolve(&self, reference: &str) -> Result<Self, UriError> {
        let syntax = |reason: String| UriError::Syntax { reason };
        let reference = fluent_uri::UriRef::parse(reference).map_err(|error| syntax(error.to_string()))?;
        if reference.has_scheme() {
            return Self::parse(reference.as_str());
        }
        let base = fluent_uri::Uri::parse(self.0.as_str()).map_err(|error| syntax(error.to_string()))?;
        let resolved =
            reference.resolve_against(&base.strip_fragment()).map_err(|error| syntax(error.to_string()))?;
        if lacks_host(resolved.as_str()) {
            return Err(UriError::NoHost);
        }
        Ok(Self(resolved.into_string()))
    }

    /// Resolves a reference as servers write it: blanks and other bytes that no URI has are percent-encoded, as browsers
    /// do.
    ///
    /// # Errors
    /// As [`Uri::resolve`].
    pub fn resolve_as_written(&self, reference: &[u8]) -> Result<Self, UriError> {
        self.resolve(&Self::escape(reference.trim_ascii()))
    }

    /// Writes characters that a URI must not have in percent-encoding: blanks, controls, non-ASCII, quotes, brackets
    /// outside of the host, and percent signs without two digits after them.
    pub(crate) fn escape(text: &[u8]) -> String {
        let host_end = host_end(text);
        let mut escaped = String::with_capacity(text.len() + 8);
        for (at, &byte) in text.iter().enumerate() {
            let is_kept = match byte {
                b'!' | b'#' | b'$' | b'&'..=b';' | b'=' | b'?'..=b'Z' | b'_' | b'a'..=b'z' | b'~' => true,
                b'[' | b']' => at < host_end,
                b'%' => text.get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit)),
                _ => false,
            };
            if is_kept {
                escaped.push(byte.into());
            } else {
                escaped.push_str(&format!("%{byte:02X}"));
            }
        }
        escaped
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text, owned.
    pub fn into_string(self) -> String {
        self.0
    }

    /// Replaces the text and keeps the buffer. The caller has checked the text.
    pub(crate) fn set(&mut self, text: &str) {
        self.0.clear();
        self.0.push_str(text);
    }
}

/// Returns the offset after the host of a reference; 0 if it has none.
fn host_end(text: &[u8]) -> usize {
    let is_end = |byte: &u8| matches!(byte, b'/' | b'?' | b'#');
    let scheme = text.iter().position(|byte| *byte == b':' || is_end(byte)).filter(|at| text[*at] == b':');
    let after_scheme = scheme.map_or(0, |colon| colon + 1);
    match text[after_scheme..].strip_prefix(b"//") {
        Some(rest) => text.len() - rest.len() + rest.iter().position(is_end).unwrap_or(rest.len()),
        None => 0,
    }
}

/// Returns `true` for a web URI without a host: every recipient has to reject it (RFC 9110 §4.2.1), and those that repair
/// it take the first segment of its path as the host (C32).
pub(crate) fn lacks_host(text: &str) -> bool {
    // Most have a host that shows at once; without a user, its first character does.
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    if rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()) && !rest.contains('@')) {
        return false;
    }
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    if !["http", "https", "ws", "wss"].iter().any(|web| scheme.eq_ignore_ascii_case(web)) {
        return false;
    }
    let Some(rest) = rest.strip_prefix("//") else { return true };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    host.is_empty() || host.starts_with(':')
}

/// Returns `true` for a web URI without user, escape or fragment. Most are, and need no parser: any order of the
/// characters allowed here is a host with a path and a query.
fn is_plain(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")) else {
        return false;
    };
    let plain = |text: &str| text.bytes().all(|byte| PLAIN[usize::from(byte)]);
    let Some((host, port_and_path)) = rest.split_once(':') else { return !rest.is_empty() && plain(rest) };
    let digits = port_and_path.bytes().take_while(u8::is_ascii_digit).count();
    let path = &port_and_path[digits..];
    !host.is_empty() && plain(host) && (path.is_empty() || path.starts_with('/')) && plain(path)
}

/// The characters that RFC 3986 allows in hosts, paths and queries alike, and those between them.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut at = 0;
    let others = b"-._~!$&'()*+,;=/?";
    while at < others.len() {
        plain[others[at] as usize] = true;
        at += 1;
    }
    let mut byte = 0;
    while byte < 128 {
        plain[byte as usize] |= (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    plain
};

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for Uri {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for Uri {
    type Err = UriError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Uri, UriError, is_plain};

    #[test]
    fn c32_a_web_url_without_a_host_is_refused() {
        for text in [
            "http:///a",
            "http:a",
            "http:/a",
            "https://",
            "HTTP:",
            "http:?q",
            "http://?q",
            "http://#f",
            "http://:80/",
            "https://user@/",
            "https://user:word@:443/a",
            "ws:///a",
        ] {
            assert_eq!(Uri::parse(text), Err(UriError::NoHost), "{text}");
            let base = Uri::parse("https://example.org/a/").unwrap_or_default();
            assert_eq!(base.resolve(text), Err(UriError::NoHost), "{text}");
            assert_eq!(base.resolve("///b"), Err(UriError::NoHost));
            // What is recorded can still be read, so that it can be removed.
            assert_eq!(Uri::parse_recorded(text).map(Uri::into_string).as_deref(), Ok(text));
        }
        for text in
            ["http://a", "http://[::1]:80/", "https://user@a:1/", "urn:http:a", "info:http:///", "file:///a"]
        {
            assert!(Uri::parse(text).is_ok(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_needs_no_parser_is_a_uri_to_the_parser(rest in "[ -~]{0,12}|[ab./]{0,3}:[0-9:]{0,3}[/a?]{0,3}", scheme in "https?://|http:|") {
            let text = format!("{scheme}{rest}");
            let parsed = fluent_uri::UriRef::parse(text.as_str());
            prop_assert!(!is_plain(&text) || parsed.is_ok_and(|uri| uri.has_scheme() && uri.has_authority()));
        }
    }
}

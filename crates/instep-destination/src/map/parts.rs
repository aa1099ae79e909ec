//! A URI in its parts, as far as paths depend on them.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use resourcesync::Uri;

use super::{MapError, name};

/// The scheme, host and port of a URI, and the user if one is written. Each authority other than that of the base has a
/// folder of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Authority {
    https: bool,
    user: Option<String>,
    host: String,
    port: u16,
}

impl Authority {
    fn parse(uri: &Uri, scheme: &str, text: &str) -> Result<Self, MapError> {
        let https = match scheme {
            _ if scheme.eq_ignore_ascii_case("https") => true,
            _ if scheme.eq_ignore_ascii_case("http") => false,
            _ => return Err(MapError::Scheme { uri: uri.clone() }),
        };
        let no_host = || MapError::Host { uri: uri.clone() };
        let (user, host_port) = match text.rsplit_once('@') {
            Some((user, rest)) => (Some(user.to_owned()), rest),
            None => (None, text),
        };
        let (host, port) = match host_port.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port),
            _ => (host_port, ""),
        };
        let host = percent_decode_str(host).decode_utf8_lossy().to_lowercase();
        if host.is_empty() {
            return Err(no_host());
        }
        let port = match port {
            "" if https => 443,
            "" => 80,
            digits => digits.parse().map_err(|_| no_host())?,
        };
        Ok(Self { https, user, host, port })
    }

    /// Returns the folder of resources that are not below the base: `@host_port`, with the scheme if the port does not
    /// imply it. A user is represented by a digest, so that no password becomes a file name.
    pub(super) fn name(&self) -> String {
        let scheme = match (self.https, self.port) {
            (true, 443) => "",
            (true, _) => "_https",
            (false, 443) => "_http",
            (false, _) => "",
        };
        let user = self.user.as_deref().map_or_else(String::new, |user| name::digest_mark(user.as_bytes()));
        format!("@{}_{}{scheme}{user}", name::escape(self.host.as_bytes()), self.port)
    }
}

/// The parts of an http(s) URI.
pub(super) struct UriParts<'a> {
    pub(super) authority: Authority,
    /// The path from its first slash; empty if there is none.
    pub(super) path: &'a str,
    pub(super) query: Option<&'a str>,
    /// The complete URI without its fragment, as written.
    pub(super) written: &'a str,
}

impl<'a> UriParts<'a> {
    pub(super) fn of(uri: &'a Uri) -> Result<Self, MapError> {
        let written = without_fragment(uri);
        let (scheme, rest) = written.split_once(':').unwrap_or((written, ""));
        let rest = rest.strip_prefix("//").unwrap_or_default();
        let (authority, _) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let authority_parsed = Authority::parse(uri, scheme, authority)?;
        let (path, query) = split_query(&rest[authority.len()..]);
        Ok(Self { authority: authority_parsed, path, query, written })
    }

    /// Returns the decoded segments, at least one. The last one is empty if the path ends in a slash.
    pub(super) fn segments(&self) -> impl Iterator<Item = Cow<'a, [u8]>> + use<'a> {
        segments(self.path)
    }
}

/// Returns the decoded segments of a path, with or without its first slash.
pub(super) fn segments(path: &str) -> impl Iterator<Item = Cow<'_, [u8]>> {
    path.strip_prefix('/').unwrap_or(path).split('/').map(|segment| percent_decode_str(segment).into())
}

/// Splits a text into path and query.
pub(super) fn split_query(text: &str) -> (&str, Option<&str>) {
    text.split_once('?').map_or((text, None), |(path, query)| (path, Some(query)))
}

/// Returns the URI without its fragment, which does not identify a resource (D6).
pub(crate) fn without_fragment(uri: &Uri) -> &str {
    uri.as_str().split('#').next().unwrap_or_default()
}

//! One line of a manifest, in CSV or JSON.

use std::path::{Path, PathBuf};

use resourcesync::{Change, ChangeFreq, DateTime, Digests, Link, MediaType, Uri};
use serde::{Deserialize, Serialize};

use crate::{
    catalogue::ResourceState,
    content::{MOST_BYTES, MOST_CHARACTERS, has_login, is_publishable},
};

/// One line as it is written; the names are the columns of the CSV form.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct ManifestLine {
    pub(super) uri: String,
    path: Option<String>,
    length: Option<u64>,
    #[serde(alias = "digests")]
    hash: Option<String>,
    #[serde(rename = "type")]
    media_type: Option<String>,
    lastmod: Option<String>,
    changefreq: Option<String>,
    encoding: Option<String>,
    pub(super) change: Option<String>,
    links: Option<serde_json::Value>,
}

/// A resource as a manifest names it.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) uri: Uri,
    pub(crate) file: Option<PathBuf>,
    pub(crate) state: ResourceState,
    /// The kind of change, if the manifest is a list of changes.
    pub(crate) change: Option<Change>,
}

impl ManifestLine {
    /// Returns the resource of a line. The error is a sentence that describes the first wrong value.
    pub(super) fn listed(&self, folder: &Path) -> Result<Listed, String> {
        let uri = Uri::parse(&self.uri).map_err(|error| format!("{:?}: {error}", self.uri))?;
        if !is_publishable(uri.as_str()) {
            return Err(format!(
                "the URI has {} characters, and at most {MOST_CHARACTERS} can be published",
                self.uri.len()
            ));
        }
        // One that was published earlier can be deleted.
        let is_deleted = self.change.as_deref() == Some("deleted");
        if has_login(&self.uri) && !is_deleted {
            // The URI is not shown: the message may be kept in a log.
            let what = "the URI has a login before its host, which everybody could read and no copy sends";
            return Err(format!("{what}; write it without the login"));
        }
        // Each copy would fail for ever.
        if climbs(&self.uri) && !is_deleted {
            return Err(format!(
                "{:?}: the path has \"..\", which clients resolve and copies refuse; write the URI without it",
                self.uri
            ));
        }
        for (name, value) in [("type", &self.media_type), ("encoding", &self.encoding)] {
            if let Some(value) = value.as_ref().filter(|value| value.contains(is_no_text)) {
                return Err(format!("{name} {value:?} has a control character"));
            }
        }
        // An empty one is a field of CSV, or a column of a database, without a value.
        let media_type = self.media_type.as_deref().filter(|it| !it.is_empty()).map(MediaType::new);
        if let Some(wrong) = media_type.as_ref().filter(|it| !it.is_valid()) {
            return Err(format!("type {:?} is not a media type such as text/html", wrong.as_str()));
        }
        let mut state = ResourceState::new();
        if self.length.is_some_and(|length| length > MOST_BYTES) {
            return Err(format!("a length of more than {MOST_BYTES} bytes"));
        }
        state.length = self.length;
        state.digests = digests(self.hash.as_deref().unwrap_or_default())?;
        state.lastmod = self.lastmod.as_deref().map(datetime).transpose()?;
        state.media_type = media_type;
        state.encoding = self.encoding.as_deref().filter(|it| !it.is_empty()).map(Into::into);
        state.changefreq = self.changefreq.as_deref().map(frequency).transpose()?;
        if let Some(links) = &self.links {
            // A CSV field holds the same JSON as text.
            let json = links.as_str().map_or_else(|| links.to_string(), str::to_owned);
            state.links = Link::list_from_json(&json)
                .ok_or("links must be a JSON array of objects with rel and href, an absolute URI")?;
            if let Some(wrong) = state.links.iter().find_map(wrong_link) {
                return Err(format!("links: {wrong}"));
            }
        }
        let change = self.change.as_deref().map(change).transpose()?;
        Ok(Listed { uri, file: self.path.as_ref().map(|path| folder.join(path)), state, change })
    }
}

/// Reads a line in JSON. A refusal says what to write, and names no type of the program (O733).
pub(super) fn read_json(text: &[u8]) -> Result<ManifestLine, String> {
    serde_json::from_slice(text).map_err(|error| {
        let json = serde_json::from_slice::<serde_json::Value>(text).ok();
        let wrong = json.and_then(|json| {
            if json.is_object() { wrong_type(&json) } else { Some("it must be a JSON object".to_owned()) }
        });
        // The number of the line in the file is stated before it.
        wrong.unwrap_or_else(|| error.to_string().replace(" at line 1 column ", " at column "))
    })
}

/// Returns what is wrong with the first value of another type than its name has; `None` if there is none.
pub(super) fn wrong_type(json: &serde_json::Value) -> Option<String> {
    const TEXTS: [&str; 9] =
        ["uri", "path", "hash", "digests", "type", "lastmod", "changefreq", "encoding", "change"];
    let value = |name: &str| json.get(name).filter(|value| !value.is_null());
    if let Some(length) = value("length").filter(|length| !length.is_u64()) {
        return Some(format!("length must be a whole number of bytes, such as 812, and is {length}"));
    }
    let name = TEXTS.into_iter().find(|name| value(name).is_some_and(|value| !value.is_string()))?;
    Some(format!("{name} must be a text in quotes"))
}

/// Returns what is wrong with a link that no list may have; `None` if nothing is.
fn wrong_link(link: &Link) -> Option<String> {
    if has_login(link.href.as_str()) {
        return Some("an href has a login before its host, which everybody could read".to_owned());
    }
    if let Some(wrong) = link.media_type.as_ref().filter(|it| !it.is_valid()) {
        return Some(format!("type {:?} is not a media type such as text/html", wrong.as_str()));
    }
    let most = Link::LEAST_PREFERRED;
    if let Some(pri) = link.pri.filter(|pri| !(1..=most).contains(pri)) {
        return Some(format!("pri must be a number from 1 to {most}, and is {pri}"));
    }
    link.path.as_ref().map(|_| "path is the place of a file in a package, which no list states".to_owned())
}

/// Returns `true` if a segment of the path of a URI is `..`, also percent-encoded.
fn climbs(uri: &str) -> bool {
    let path = uri.split(['?', '#']).next().unwrap_or(uri).to_ascii_lowercase();
    path.replace("%2e", ".").split('/').any(|segment| segment == "..")
}

/// Returns `true` for characters that XML forbids, or that no value of HTTP has.
fn is_no_text(character: char) -> bool {
    character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}')
}

fn digests(text: &str) -> Result<Digests, String> {
    let mut wrong = None;
    let digests = Digests::parse(text, |error| {
        if !matches!(error, resourcesync::value::DigestError::UnknownAlgorithm { .. }) {
            wrong = Some(error.to_string());
        }
    });
    wrong.map_or(Ok(digests), Err)
}

fn datetime(text: &str) -> Result<DateTime, String> {
    DateTime::parse(text).map_err(|error| format!("lastmod: {error}"))
}

fn frequency(text: &str) -> Result<ChangeFreq, String> {
    ChangeFreq::parse(text)
        .ok_or_else(|| format!("changefreq {text:?} is not a value of the Sitemap protocol"))
}

fn change(text: &str) -> Result<Change, String> {
    match Change::parse(text) {
        Change::Other(_) => Err(format!("change {text:?} is not created, updated or deleted")),
        change => Ok(change),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{ManifestLine, read_json, wrong_type};

    #[test]
    fn o577_a_uri_that_no_copy_takes_is_refused_unless_it_is_deleted() {
        let refused = |json: serde_json::Value| {
            let line: ManifestLine = serde_json::from_value(json).unwrap();
            line.listed(Path::new("")).err()
        };
        for path in ["a/../b", "../b", "%2E%2e/b", "a/.."] {
            let uri = format!("http://source.example/{path}");
            let what = refused(serde_json::json!({"uri": uri})).unwrap();
            assert!(what.contains("write the URI without it"), "{what}");
            assert_eq!(refused(serde_json::json!({"uri": uri, "change": "deleted"})), None);
        }
        for path in ["a..b", "..a/b", ".../b", "b?x=/../c"] {
            let uri = format!("http://source.example/{path}");
            assert_eq!(refused(serde_json::json!({"uri": uri})), None, "{path}");
        }
    }

    #[test]
    fn o907_a_uri_with_a_login_is_refused_unless_it_is_deleted_and_not_shown() {
        let listed = |uri: &str, change: Option<&str>| {
            let json = serde_json::json!({"uri": uri, "change": change});
            serde_json::from_value::<ManifestLine>(json).unwrap().listed(Path::new("")).err()
        };
        for uri in
            ["https://user:secret@source.example/a", "HTTP://user@source.example", "ftp://u:secret@a/b"]
        {
            let what = listed(uri, None).unwrap();
            assert!(what.contains("login") && !what.contains("secret"), "{what}");
            assert_eq!(listed(uri, Some("deleted")), None, "{uri}");
        }
        for uri in [
            "https://source.example/a@b:c",
            "https://source.example?a:b@c",
            "mailto:a@b.example",
            "ssh://git@a/b",
        ] {
            assert_eq!(listed(uri, None), None, "{uri}");
        }
    }

    #[test]
    fn o907_a_link_that_no_list_may_have_is_refused() {
        let listed = |member: &str, value: serde_json::Value| {
            let mut link = serde_json::json!({"rel": "describedby", "href": "http://a/b"});
            link[member] = value;
            let json = serde_json::json!({"uri": "http://a/", "links": [link]});
            serde_json::from_value::<ManifestLine>(json).unwrap().listed(Path::new("")).err()
        };
        for (member, value) in [
            ("href", serde_json::json!("http://user:secret@a/b")),
            ("type", serde_json::json!("html")),
            ("pri", serde_json::json!(0)),
            ("pri", serde_json::json!(1_000_000)),
            ("path", serde_json::json!("/b")),
        ] {
            let what = listed(member, value).unwrap();
            assert!(
                what.starts_with("links: ") && what.contains(member) && !what.contains("secret"),
                "{what}"
            );
        }
        assert_eq!(listed("pri", serde_json::json!(999_999)), None);
    }

    #[test]
    fn o372_a_value_of_another_type_is_named_with_what_to_write() {
        for (json, part) in [
            (r#"{"length": 1.5}"#, "length must be a whole number"),
            (r#"{"length": -1}"#, "and is -1"),
            (r#"{"length": "5"}"#, "whole number of bytes"),
            (r#"{"lastmod": 1700000000}"#, "lastmod must be a text"),
            (r#"{"change": ["deleted"]}"#, "change must be a text"),
        ] {
            let found = wrong_type(&serde_json::from_str(json).unwrap()).unwrap();
            assert!(found.contains(part), "{json}: {found}");
        }
        let fine = r#"{"uri": "http://a/", "length": 0, "lastmod": null, "other": 5}"#;
        assert_eq!(wrong_type(&serde_json::from_str(fine).unwrap()), None);
    }

    #[test]
    fn o733_a_line_of_a_manifest_that_cannot_be_read_is_refused_with_what_to_write() {
        for (json, part) in [
            (r#"{"uri": "http://a/", "length": -1}"#, "whole number of bytes, such as 812, and is -1"),
            (r#"{"uri": "http://a/", "lastmod": 5}"#, "lastmod must be a text in quotes"),
            ("null", "it must be a JSON object"),
            (r#"{"uri": "http://a/""#, "at column 19"),
        ] {
            let found = read_json(json.as_bytes()).unwrap_err();
            assert!(found.contains(part), "{json}: {found}");
        }
        assert!(read_json(br#"{"uri": "http://a/"}"#).is_ok());
    }
}

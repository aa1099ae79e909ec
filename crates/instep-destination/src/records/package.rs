//! A package of a dump as bytes, for the list of packages that a run has found. The list is removed with the run, so it
//! has no version.

use std::borrow::Cow;

use instep_net::Origin;
use resourcesync::{DateTime, Entry, Link, Relation, Uri, value::UriError};
use serde::{Deserialize, Serialize};

use super::metadata::{Time, WrittenDigests};
use crate::documents::{Document, Stretch};

/// The entry of a dump for a package, and the place of its manifest.
#[derive(Serialize, Deserialize)]
pub(crate) struct WrittenPackage<'a> {
    uri: &'a str,
    speaker: Option<String>,
    changes: bool,
    at: Option<Time>,
    from: Option<Time>,
    until: Option<Time>,
    length: Option<u64>,
    digests: WrittenDigests<'a>,
    encoding: Option<&'a str>,
    contents: Option<&'a str>,
    manifest: Option<WrittenManifest<'a>>,
}

#[derive(Serialize, Deserialize)]
struct WrittenManifest<'a> {
    uri: &'a str,
    date: Option<Time>,
    start: u64,
    end: u64,
}

impl<'a> WrittenPackage<'a> {
    /// Returns the written form of a package. `manifest` is the manifest and its place, if it is known.
    pub(crate) fn of(
        entry: &'a Entry,
        speaker: Option<&Origin>,
        changes: bool,
        manifest: Option<(&'a Document, Stretch)>,
    ) -> Self {
        let metadata = &entry.metadata;
        let manifest = manifest.map(|(document, place)| WrittenManifest {
            uri: document.uri.as_str(),
            date: document.date.map(Time),
            start: place.start,
            end: place.end,
        });
        Self {
            uri: entry.loc.as_str(),
            speaker: speaker.map(ToString::to_string),
            changes,
            at: metadata.at.map(Time),
            from: metadata.from.map(Time),
            until: metadata.until.map(Time),
            length: metadata.length,
            digests: WrittenDigests(Cow::Borrowed(&metadata.hash)),
            encoding: metadata.encoding.as_deref(),
            contents: entry.link_for(&Relation::Contents).map(|link| link.href.as_str()),
            manifest,
        }
    }

    /// Returns `true` if it holds changes.
    pub(crate) fn changes(&self) -> bool {
        self.changes
    }

    /// Returns the origin of the dump.
    pub(crate) fn speaker(&self) -> Option<Origin> {
        self.speaker.as_deref().and_then(|speaker| Origin::parse(speaker).ok())
    }

    /// Returns the URI and the time of the manifest, and its place.
    ///
    /// # Errors
    /// If the URI is damaged.
    pub(crate) fn manifest(&self) -> Result<Option<(Uri, Option<DateTime>, Stretch)>, UriError> {
        let Some(WrittenManifest { uri, date, start, end }) = &self.manifest else { return Ok(None) };
        let place = Stretch { start: *start, end: *end };
        Ok(Some((Uri::parse_recorded(uri)?, date.as_ref().map(|date| date.0), place)))
    }

    /// Returns the entry of the dump, with the parts that are used.
    ///
    /// # Errors
    /// If a URI is damaged.
    pub(crate) fn entry(self) -> Result<Entry, UriError> {
        let mut entry = Entry::new(Uri::parse_recorded(self.uri)?);
        let metadata = &mut entry.metadata;
        metadata.at = self.at.map(|time| time.0);
        metadata.from = self.from.map(|time| time.0);
        metadata.until = self.until.map(|time| time.0);
        metadata.length = self.length;
        metadata.hash = self.digests.0.into_owned();
        metadata.encoding = self.encoding.map(Into::into);
        let contents = self.contents.map(Uri::parse_recorded).transpose()?;
        entry.links.extend(contents.map(|href| Link::new(Relation::Contents, href)));
        Ok(entry)
    }
}

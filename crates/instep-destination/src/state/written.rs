//! Facts as bytes, for what only this program reads again: plans and intents. Short, for each resource is written in both.

use std::borrow::Cow;

use resourcesync::{DateTime, Link, MediaType};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{Facts, codec};

#[derive(Serialize, Deserialize)]
pub(super) struct WrittenFacts<'a> {
    length: Option<u64>,
    #[serde(borrow)]
    digests: Blob<'a>,
    lastmod: Option<Time>,
    datetime: Option<Time>,
    etag: Option<&'a str>,
    media_type: Option<&'a str>,
    links: Option<String>,
}

impl<'a> WrittenFacts<'a> {
    pub(super) fn of(facts: &'a Facts) -> Self {
        Self {
            length: facts.length,
            digests: Blob(codec::digests_to_blob(&facts.digests).into()),
            lastmod: facts.lastmod.map(Time),
            datetime: facts.datetime.map(Time),
            etag: facts.etag.as_deref(),
            media_type: facts.media_type.as_ref().map(MediaType::as_str),
            links: codec::links_text(&facts.links),
        }
    }

    pub(super) fn facts(self) -> Facts {
        Facts {
            length: self.length,
            digests: codec::digests_from_blob(&self.digests.0),
            lastmod: self.lastmod.map(|time| time.0),
            datetime: self.datetime.map(|time| time.0),
            etag: self.etag.map(Into::into),
            media_type: self.media_type.map(MediaType::new),
            links: self.links.as_deref().and_then(Link::list_from_json).unwrap_or_default(),
        }
    }
}

/// As a document has it.
struct Time(DateTime);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&str>::deserialize(deserializer)?;
        DateTime::parse(text).map(Self).map_err(D::Error::custom)
    }
}

/// Bytes as one piece.
struct Blob<'a>(Cow<'a, [u8]>);

impl Serialize for Blob<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Blob<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&[u8]>::deserialize(deserializer).map(|bytes| Self(bytes.into()))
    }
}

//! The metadata of a resource as bytes, for plans and intents. The form is short, because each resource that changes is
//! written in both.

use std::borrow::Cow;

use resourcesync::{DateTime, Digests, Link, MediaType};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::state::{ResourceMetadata, codec};

#[derive(Serialize, Deserialize)]
pub(crate) struct WrittenMetadata<'a> {
    length: Option<u64>,
    digests: WrittenDigests<'a>,
    lastmod: Option<Time>,
    datetime: Option<Time>,
    etag: Option<&'a str>,
    media_type: Option<&'a str>,
    links: WrittenLinks<'a>,
}

impl<'a> WrittenMetadata<'a> {
    pub(crate) fn of(metadata: &'a ResourceMetadata) -> Self {
        Self {
            length: metadata.length,
            digests: WrittenDigests(Cow::Borrowed(&metadata.digests)),
            lastmod: metadata.lastmod.map(Time),
            datetime: metadata.datetime.map(Time),
            etag: metadata.etag.as_deref(),
            media_type: metadata.media_type.as_ref().map(MediaType::as_str),
            links: WrittenLinks(Cow::Borrowed(&metadata.links)),
        }
    }

    pub(crate) fn metadata(self) -> ResourceMetadata {
        ResourceMetadata {
            length: self.length,
            digests: self.digests.0.into_owned(),
            lastmod: self.lastmod.map(|time| time.0),
            datetime: self.datetime.map(|time| time.0),
            etag: self.etag.map(Into::into),
            media_type: self.media_type.map(MediaType::new),
            links: self.links.0.into_owned(),
        }
    }
}

/// A datetime in the form of documents.
pub(super) struct Time(pub(super) DateTime);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // `collect_str` is not used, because postcard formats twice there, the first time for the length.
        serializer.serialize_str(&self.0.to_string())
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&str>::deserialize(deserializer)?;
        DateTime::parse(text).map(Self).map_err(D::Error::custom)
    }
}

/// Digests in the form of the columns of the state.
pub(super) struct WrittenDigests<'a>(pub(super) Cow<'a, Digests>);

impl Serialize for WrittenDigests<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&codec::digests_to_blob(&self.0))
    }
}

impl<'de> Deserialize<'de> for WrittenDigests<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digests = codec::digests_from_blob(<&[u8]>::deserialize(deserializer)?);
        digests
            .map(|digests| Self(Cow::Owned(digests)))
            .ok_or_else(|| D::Error::custom("these are no digests"))
    }
}

/// Links in the form of the columns of the state.
struct WrittenLinks<'a>(Cow<'a, [Link]>);

impl Serialize for WrittenLinks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        codec::links_text(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for WrittenLinks<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(text) = Option::<&str>::deserialize(deserializer)? else {
            return Ok(Self(Cow::Borrowed(&[])));
        };
        let links = Link::list_from_json(text).map(|links| Self(Cow::Owned(links)));
        links.ok_or_else(|| D::Error::custom("these are no links"))
    }
}

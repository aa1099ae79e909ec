//! Operations as an intent has them: JSON, where what goes without saying is left out.

use std::{borrow::Cow, fmt, io};

use resourcesync::{DateTime, Digests, Link, MediaType, Uri};
use serde::{Deserialize, Serialize};

use super::{Facts, Operation};
use crate::{map::CopyPath, state::codec};

#[derive(Serialize, Deserialize)]
pub(super) enum Written<'a> {
    Place {
        uri: Cow<'a, str>,
        path: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Cow<'a, str>>,
        staged: u64,
        sets: i64,
        facts: WrittenFacts<'a>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        replaces: bool,
    },
    Remove {
        uri: Cow<'a, str>,
        path: Cow<'a, str>,
        staged: u64,
    },
    Move {
        uri: Cow<'a, str>,
        from: Cow<'a, str>,
        to: Cow<'a, str>,
        staged: u64,
    },
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WrittenFacts<'a> {
    length: u64,
    digests: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lastmod: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    datetime: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<Cow<'a, str>>,
}

impl<'a> From<&'a Operation> for Written<'a> {
    fn from(operation: &'a Operation) -> Self {
        let text = |uri: &'a Uri| Cow::Borrowed(uri.as_str());
        let place = |path: &'a CopyPath| Cow::Borrowed(path.as_str());
        match operation {
            Operation::Place { uri, path, key, staged, sets, facts, replaces } => Self::Place {
                uri: text(uri),
                path: place(path),
                key: key.as_deref().map(Cow::Borrowed),
                staged: *staged,
                sets: *sets,
                facts: WrittenFacts::of(facts),
                replaces: *replaces,
            },
            Operation::Remove { uri, path, staged } => {
                Self::Remove { uri: text(uri), path: place(path), staged: *staged }
            }
            Operation::Move { uri, from, to, staged } => {
                Self::Move { uri: text(uri), from: place(from), to: place(to), staged: *staged }
            }
        }
    }
}

impl<'a> WrittenFacts<'a> {
    fn of(facts: &'a Facts) -> Self {
        Self {
            length: facts.length.unwrap_or_default(),
            digests: codec::digests_text(&facts.digests).into(),
            lastmod: codec::datetime_text(facts.lastmod.as_ref()).map(Cow::Owned),
            datetime: codec::datetime_text(facts.datetime.as_ref()).map(Cow::Owned),
            etag: facts.etag.as_deref().map(Cow::Borrowed),
            media_type: facts.media_type.as_ref().map(|kind| Cow::Borrowed(kind.as_str())),
            links: codec::links_text(&facts.links).map(Cow::Owned),
        }
    }

    fn facts(self) -> io::Result<Facts> {
        let time = |text: Option<Cow<'_, str>>| {
            text.map(|text| DateTime::parse(&text)).transpose().map_err(io::Error::other)
        };
        Ok(Facts {
            length: Some(self.length),
            digests: Digests::parse(&self.digests, |_| {}),
            lastmod: time(self.lastmod)?,
            datetime: time(self.datetime)?,
            etag: self.etag.map(|etag| etag.into_owned().into()),
            media_type: self.media_type.as_deref().map(MediaType::new),
            links: self.links.as_deref().and_then(Link::list_from_json).unwrap_or_default(),
        })
    }
}

impl TryFrom<Written<'_>> for Operation {
    type Error = io::Error;

    fn try_from(written: Written<'_>) -> io::Result<Self> {
        let text = |uri: Cow<'_, str>| Uri::parse(&uri).map_err(io::Error::other);
        let place = |path: Cow<'_, str>| CopyPath::from_state(&path).ok_or_else(|| outside(&path));
        Ok(match written {
            Written::Place { uri, path, key, staged, sets, facts, replaces } => Self::Place {
                uri: text(uri)?,
                path: place(path)?,
                key: key.map(Cow::into_owned),
                staged,
                sets,
                facts: facts.facts()?,
                replaces,
            },
            Written::Remove { uri, path, staged } => {
                Self::Remove { uri: text(uri)?, path: place(path)?, staged }
            }
            Written::Move { uri, from, to, staged } => {
                Self::Move { uri: text(uri)?, from: place(from)?, to: place(to)?, staged }
            }
        })
    }
}

fn outside(path: impl fmt::Debug) -> io::Error {
    io::Error::other(format!("{path:?} is no path of a copy"))
}

//! Operations as an intent has them.

use std::{borrow::Cow, fmt, io};

use resourcesync::Uri;
use serde::{Deserialize, Serialize};

use super::Operation;
use crate::{map::CopyPath, state::written::WrittenFacts};

#[derive(Serialize, Deserialize)]
pub(super) enum Written<'a> {
    Place {
        uri: Cow<'a, str>,
        path: Cow<'a, str>,
        key: Option<Cow<'a, str>>,
        staged: u64,
        sets: i64,
        #[serde(borrow)]
        facts: WrittenFacts<'a>,
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
                facts: facts.facts(),
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

//! The way on which the operator's URL led to the Source.

use serde::{Deserialize, Serialize};

use super::versioned;
use crate::{
    discover::Way,
    state::{State, StateError},
};

const VERSION: u32 = 1;
const NAME: &str = "way";

#[derive(Serialize, Deserialize)]
struct Written {
    way: Option<String>,
}

/// Reads the way; `None` if the URL did not lead to a Source yet.
pub(crate) fn read(state: &State) -> Result<Option<Way>, StateError> {
    let written: Option<Written> = versioned::read(state, NAME, VERSION)?;
    let Some(word) = written.and_then(|written| written.way) else { return Ok(None) };
    let unknown = || versioned::damaged(state, NAME, format!("{word:?} is no way to a Source"));
    Way::parse(&word).map(Some).ok_or_else(unknown)
}

/// Records the way. `None` if the operator named another URL, which has not led to a Source yet.
pub(crate) fn write(state: &mut State, way: Option<Way>) -> Result<(), StateError> {
    let way = way.map(|way| way.as_str().to_owned());
    versioned::write(state, NAME, VERSION, &Written { way })
}

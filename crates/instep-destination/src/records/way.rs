//! The record of the way on which the operator's URL led to a Source.

use serde::{Deserialize, Serialize};

use super::versioned;
use crate::{
    discover::Way,
    state::{CopyState, ReadState, SourceId, StateError},
};

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct WrittenWay {
    way: Option<String>,
}

/// Reads the way; `None` if the URL has not led to a Source yet.
pub(crate) fn read(state: &dyn ReadState, source: SourceId) -> Result<Option<Way>, StateError> {
    let name = source.way_record();
    let written: Option<WrittenWay> = versioned::read(state, &name, VERSION)?;
    let Some(word) = written.and_then(|written| written.way) else { return Ok(None) };
    let unknown = || versioned::damaged(state, &name, format!("{word:?} is no way to a Source"));
    Way::parse(&word).map(Some).ok_or_else(unknown)
}

/// Records the way.
pub(crate) fn write(state: &mut dyn CopyState, source: SourceId, way: Way) -> Result<(), StateError> {
    let way = Some(way.as_str().to_owned());
    versioned::write(state, &source.way_record(), VERSION, &WrittenWay { way })
}

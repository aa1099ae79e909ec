//! Records in the state: JSON objects with the version of their format.

use instep_store::versioned;
use serde::{Serialize, de::DeserializeOwned};

use crate::state::{CopyState, ReadState, Setting, StateError};

/// Reads a record; `None` if none was written. A record of an unknown version, or an incomplete one, is an error that
/// names the state and the record.
pub(super) fn read<T: DeserializeOwned>(
    state: &dyn ReadState,
    name: &str,
    version: u32,
) -> Result<Option<T>, StateError> {
    let Some(text) = state.setting(name)? else { return Ok(None) };
    parse(&text, version).map(Some).map_err(|what| damaged(state, name, what))
}

/// Returns the version of a record; `None` if none was written, or it has none.
pub(super) fn version(state: &dyn ReadState, name: &str) -> Result<Option<u64>, StateError> {
    Ok(state.setting(name)?.and_then(|text| versioned::version(text.as_bytes())))
}

/// Parses the text of a record of a version.
pub(super) fn parse<T: DeserializeOwned>(text: &str, version: u32) -> Result<T, String> {
    versioned::parse(text.as_bytes(), version)
}

/// Writes a record, replacing an earlier one. It writes nothing if they are equal.
pub(super) fn write<T: Serialize>(
    state: &mut dyn CopyState,
    name: &str,
    version: u32,
    record: &T,
) -> Result<(), StateError> {
    let Setting { name, text } = setting(state, name, version, record)?;
    if state.setting(&name)?.as_deref() == Some(&text) {
        return Ok(());
    }
    state.set_setting(&name, &text)
}

/// Returns a record as it is written with a group.
pub(super) fn setting<T: Serialize>(
    state: &dyn ReadState,
    name: &str,
    version: u32,
    record: &T,
) -> Result<Setting, StateError> {
    let text = to_text(version, record).map_err(|what| damaged(state, name, what))?;
    Ok(Setting { name: name.to_owned(), text })
}

/// Returns the text of a record.
pub(super) fn to_text<T: Serialize>(version: u32, record: &T) -> Result<String, String> {
    versioned::to_text(version, record).map_err(|error| error.to_string())
}

/// Returns the error for a record with content that no version wrote.
pub(super) fn damaged(state: &dyn ReadState, name: &str, what: String) -> StateError {
    StateError::Record { place: state.place(), name: name.to_owned(), what }
}

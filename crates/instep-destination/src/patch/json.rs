use serde::Serialize;
use serde_json::Value;

use super::PatchError;

pub(super) fn patched(held: &[u8], patch: &[u8]) -> Result<Vec<Vec<u8>>, PatchError> {
    let mut value = parse(held)?;
    let patch: json_patch::Patch =
        serde_json::from_slice(patch).map_err(|error| PatchError::Malformed(error.to_string()))?;
    json_patch::patch(&mut value, &patch).map_err(|error| PatchError::Unfit(error.to_string()))?;
    Ok(spellings(&value))
}

pub(super) fn merged(held: &[u8], patch: &[u8]) -> Result<Vec<Vec<u8>>, PatchError> {
    let mut value = parse(held)?;
    json_patch::merge(&mut value, &parse(patch)?);
    Ok(spellings(&value))
}

fn parse(bytes: &[u8]) -> Result<Value, PatchError> {
    serde_json::from_slice(bytes).map_err(|error| PatchError::Malformed(error.to_string()))
}

/// Compact, or indented by two, four or a tab; with or without a last newline.
fn spellings(value: &Value) -> Vec<Vec<u8>> {
    let indented = |indent: &[u8]| {
        let mut bytes = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(indent);
        let written = value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter));
        written.map(|()| bytes)
    };
    let spelt = [serde_json::to_vec(value), indented(b"  "), indented(b"    "), indented(b"\t")];
    let with_newline = |bytes: Vec<u8>| [bytes.clone(), [bytes, b"\n".to_vec()].concat()];
    spelt.into_iter().flatten().flat_map(with_newline).collect()
}

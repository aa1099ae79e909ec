//! JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7396).

use json_patch::{Patch, PatchOperation};
use serde::Serialize;
use serde_json::Value;

use super::error::{PatchError, affordable};

/// Depth that a value may reach. A value that is read from text is at most half as deep.
const DEPTH: usize = 256;

/// Applies a JSON Patch, whose copies may add at most `most` bytes.
pub(super) fn patched(
    held: &[u8],
    patch: &[u8],
    most: usize,
) -> Result<impl Iterator<Item = Vec<u8>> + use<>, PatchError> {
    let mut value = parse(held)?;
    let Patch(operations) =
        serde_json::from_slice(patch).map_err(|error| PatchError::Malformed(error.to_string()))?;
    affordable(operations.len(), held.len() + patch.len())?;
    let mut left = most;
    for operation in operations {
        left = left.checked_sub(growth(&operation, &value)?).ok_or_else(too_much)?;
        json_patch::patch(&mut value, &[operation]).map_err(|error| PatchError::Unfit(error.to_string()))?;
    }
    Ok(spellings(value))
}

/// Applies a JSON Merge Patch.
pub(super) fn merged(held: &[u8], patch: &[u8]) -> Result<impl Iterator<Item = Vec<u8>> + use<>, PatchError> {
    let mut value = parse(held)?;
    json_patch::merge(&mut value, &parse(patch)?);
    Ok(spellings(value))
}

/// Makes a JSON Patch from one version to the next; `None` if one of them is not JSON.
pub(super) fn diff(held: &[u8], next: &[u8]) -> Option<Vec<u8>> {
    let patch = json_patch::diff(&parse(held).ok()?, &parse(next).ok()?);
    serde_json::to_vec(&patch).ok()
}

fn parse(bytes: &[u8]) -> Result<Value, PatchError> {
    serde_json::from_slice(bytes).map_err(|error| PatchError::Malformed(error.to_string()))
}

fn too_much() -> PatchError {
    PatchError::Unfit("its result is larger or deeper than allowed".to_owned())
}

/// Returns the bytes that an operation adds beyond those of the patch. A value that would become too deep is refused:
/// walking through it would overflow the stack.
fn growth(operation: &PatchOperation, value: &Value) -> Result<usize, PatchError> {
    let from = |pointer: &str| value.pointer(pointer).map_or((0, 0), extent);
    let (bytes, depth) = match operation {
        PatchOperation::Copy(copy) => from(copy.from.as_str()),
        PatchOperation::Move(moved) => (0, from(moved.from.as_str()).1),
        PatchOperation::Add(add) => (0, extent(&add.value).1),
        PatchOperation::Replace(replace) => (0, extent(&replace.value).1),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => (0, 0),
    };
    let beneath = operation.path().as_str().matches('/').count();
    if depth + beneath > DEPTH { Err(too_much()) } else { Ok(bytes) }
}

/// Returns the approximate bytes of a value, and its depth.
fn extent(value: &Value) -> (usize, usize) {
    let within = |items: &mut dyn Iterator<Item = (usize, &Value)>| {
        items.fold((2, 1), |(bytes, depth), (name, value)| {
            let (more, deeper) = extent(value);
            (bytes + name + more, depth.max(deeper + 1))
        })
    };
    match value {
        Value::String(text) => (text.len() + 2, 1),
        Value::Array(items) => within(&mut items.iter().map(|item| (1, item))),
        Value::Object(members) => within(&mut members.iter().map(|(name, value)| (name.len() + 4, value))),
        _ => (5, 1),
    }
}

/// Returns the usual texts of a value: compact, or indented by two, four or a tab; with or without a final newline.
fn spellings(value: Value) -> impl Iterator<Item = Vec<u8>> {
    let indents: [Option<&[u8]>; 4] = [None, Some(b"  "), Some(b"    "), Some(b"\t")];
    let spelt = move |(indent, end): (Option<&[u8]>, &[u8])| {
        let mut bytes = Vec::new();
        let written = match indent {
            None => value.serialize(&mut serde_json::Serializer::new(&mut bytes)),
            Some(indent) => {
                let formatter = serde_json::ser::PrettyFormatter::with_indent(indent);
                value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter))
            }
        };
        bytes.extend_from_slice(end);
        written.ok().map(|()| bytes)
    };
    let ends: [&[u8]; 2] = [b"", b"\n"];
    indents.into_iter().flat_map(move |indent| ends.map(|end| (indent, end))).filter_map(spelt)
}

#[cfg(test)]
mod tests {
    use super::{PatchError, patched};

    fn refused(held: &str, patch: &str) -> bool {
        matches!(patched(held.as_bytes(), patch.as_bytes(), 1 << 20).map(drop), Err(PatchError::Unfit(_)))
    }

    #[test]
    fn copies_of_copies_do_not_fill_the_memory() {
        let doubling = r#"{"op":"copy","from":"","path":"/-"}"#;
        assert!(refused("[[1,2,3]]", &format!("[{}]", [doubling; 60].join(","))));
        let wide = [r#"{"op":"copy","from":"/0","path":"/-"}"#; 60].join(",");
        let held = format!("[\"{}\"]", "x".repeat(100_000));
        assert!(refused(&held, &format!("[{wide}]")));
    }

    #[test]
    fn no_value_becomes_too_deep_to_walk_through() {
        let nested = format!("{}{}", "[".repeat(100), "]".repeat(100));
        let inside = "/0".repeat(99);
        let deeper: Vec<String> = (1..40)
            .map(|times| format!(r#"{{"op":"add","path":"{}/0","value":{nested}}}"#, inside.repeat(times)))
            .collect();
        assert!(refused(&nested, &format!("[{}]", deeper.join(","))));
    }
}

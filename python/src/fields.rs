//! The fields that entries, links and headers have in common: from keyword arguments, and back.

use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyDict, PyInt, PyString},
};
use resourcesync::{
    Capability, Change, Digests, MediaType, PackagePath, Uri,
    document::{Attribute, Metadata},
};

use crate::{
    datetime::{DateTimeValue, TimeArgument},
    errors,
};

/// Reads a URI.
pub(crate) fn uri(name: &str, text: &str) -> PyResult<Uri> {
    Uri::parse(text).map_err(|error| errors::value(name, text, &error))
}

/// Reads an optional time.
pub(crate) fn time(value: &Bound<'_, PyAny>) -> PyResult<Option<resourcesync::DateTime>> {
    Ok(value.extract::<Option<TimeArgument>>()?.map(|time| time.0))
}

/// Reads an optional text.
pub(crate) fn text(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    value.extract()
}

/// Reads digests: `"md5:... sha-256:..."`, or a mapping of algorithms to hexadecimal digests. Those that
/// [`set_fields`] returns were read from a document, and need not be right.
pub(crate) fn digests(value: &Bound<'_, PyAny>) -> PyResult<Digests> {
    if let Ok((read,)) = value.extract::<(String,)>() {
        return Ok(Digests::parse(&read, |_| {}));
    }
    let text = match value.cast::<PyDict>() {
        Ok(map) => {
            let items = map.iter().map(|(name, digest)| Ok(format!("{name}:{digest}")));
            items.collect::<PyResult<Vec<_>>>()?.join(" ")
        }
        Err(_) => text(value)?.unwrap_or_default(),
    };
    text.parse().map_err(|error| errors::value("hash", &text, &error))
}

/// Reads attributes of other namespaces: tuples of namespace, name and value.
pub(crate) fn attributes(value: &Bound<'_, PyAny>) -> PyResult<Vec<Attribute>> {
    let tuples: Vec<(String, String, String)> = value.extract()?;
    Ok(tuples.iter().map(|(namespace, name, value)| Attribute::new(namespace, name, value)).collect())
}

/// Reads a number of bytes; `None` removes it.
pub(crate) fn length(value: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    value.extract().map_err(|error| match value.is_instance_of::<PyInt>() {
        true => PyValueError::new_err(format!("length: {value} is not a number of bytes")),
        false => error,
    })
}

/// Sets a field of `rs:md` by its Python name; `None` removes it. Returns `false` if there is no such field.
pub(crate) fn set_metadata(md: &mut Metadata, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    match name {
        "capability" => md.capability = text(value)?.map(|text| Capability::parse(&text)),
        "at" => md.at = time(value)?,
        "completed" => md.completed = time(value)?,
        "from_" => md.from = time(value)?,
        "until" => md.until = time(value)?,
        "change" => md.change = text(value)?.map(|text| Change::parse(&text)),
        "datetime" => md.datetime = time(value)?,
        "encoding" => md.encoding = text(value)?.map(String::into_boxed_str),
        "hash" => md.hash = digests(value)?,
        "length" => md.length = length(value)?,
        "path" => md.path = text(value)?.map(|text| PackagePath::new(&text)),
        "type" => md.media_type = text(value)?.map(|text| MediaType::new(&text)),
        "modified" => md.modified = time(value)?,
        "attributes" => md.other = attributes(value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// The fields that [`set_metadata`] knows.
const METADATA: [&str; 14] = [
    "capability",
    "at",
    "completed",
    "from_",
    "until",
    "change",
    "datetime",
    "encoding",
    "hash",
    "length",
    "path",
    "type",
    "modified",
    "attributes",
];

/// Returns the fields of a value that are set, by their names: what `pickle` and `copy` make another one of. `more` are
/// those that are no metadata.
pub(crate) fn set_fields<'py>(value: &Bound<'py, PyAny>, more: &[&str]) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(value.py());
    for name in METADATA.iter().chain(more) {
        // A link does not have all of them.
        let Some(field) = value.getattr_opt(*name)?.filter(|field| !field.is_none()) else { continue };
        if *name == "hash" {
            // In a tuple, to tell it from digests that a program gives.
            fields.set_item(*name, (field,))?;
        } else {
            fields.set_item(*name, field)?;
        }
    }
    Ok(fields)
}

/// Returns a time for Python.
pub(crate) fn shown(time: Option<resourcesync::DateTime>) -> Option<DateTimeValue> {
    time.map(DateTimeValue)
}

/// Returns digests as written; `None` if there are none.
pub(crate) fn written(digests: &Digests) -> Option<String> {
    (!digests.is_empty()).then(|| digests.to_string())
}

/// Returns digests as a `dict` of algorithms to digests as written.
pub(crate) fn by_algorithm<'py>(py: Python<'py>, digests: &Digests) -> PyResult<Bound<'py, PyDict>> {
    let map = PyDict::new(py);
    for digest in digests {
        let written = digest.to_string();
        map.set_item(digest.algorithm.as_str(), written.split_once(':').map_or("", |(_, value)| value))?;
    }
    Ok(map)
}

/// Returns attributes of other namespaces as tuples.
pub(crate) fn foreign(attributes: &[Attribute]) -> Vec<(String, String, String)> {
    let owned = |text: &str| text.to_owned();
    let tuple = |it: &Attribute| (owned(&it.namespace), owned(&it.name), owned(&it.value));
    attributes.iter().map(tuple).collect()
}

/// Returns the representation of a value: the call that makes it, with the fields that are set.
pub(crate) fn representation(
    py: Python<'_>,
    class: &str,
    values: &[&str],
    fields: &[(&str, Option<String>)],
    length: Option<u64>,
) -> PyResult<String> {
    let quoted = |text: &str| Ok::<_, PyErr>(PyString::new(py, text).repr()?.to_string());
    let mut arguments = values.iter().map(|value| quoted(value)).collect::<PyResult<Vec<_>>>()?;
    for (name, value) in fields {
        if let Some(value) = value {
            arguments.push(format!("{name}={}", quoted(value)?));
        }
    }
    arguments.extend(length.map(|length| format!("length={length}")));
    Ok(format!("{class}({})", arguments.join(", ")))
}

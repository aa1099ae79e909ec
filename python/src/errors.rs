//! Errors of the library as exceptions of `instep.errors`.

use std::{error::Error, io};

use pyo3::{
    exceptions::{PyOSError, PyValueError},
    prelude::*,
    types::PyType,
};
use resourcesync::{Position, ReadError, WriteError, package::PackageError};

/// Returns an error with its causes in one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

/// Creates an exception of `instep.errors`.
fn exception(name: &str, message: String, rule: Option<&str>, position: Option<Position>) -> PyResult<PyErr> {
    Python::attach(|py| {
        let class = py.import("instep.errors")?.getattr(name)?.cast_into::<PyType>()?;
        let place = position.filter(|position| position.line > 0);
        let (line, column) = (place.map(|place| place.line), place.map(|place| place.column));
        Ok(PyErr::from_type(class, (message, rule.map(str::to_owned), line, column)))
    })
}

fn raised(name: &str, message: String, rule: Option<&str>, position: Option<Position>) -> PyErr {
    exception(name, message, rule, position).unwrap_or_else(|error| error)
}

/// Returns the exception for a value that cannot be read.
pub(crate) fn value(name: &str, text: &str, error: &dyn Error) -> PyErr {
    let (quoted, what) = (format!("{text:?}"), chain(error));
    // Some errors quote the text themselves.
    let subject = if what.starts_with(&quoted) { name.to_owned() } else { format!("{name} {quoted}") };
    PyValueError::new_err(format!("{subject}: {what}"))
}

/// Returns the exception for a document that cannot be read to its end.
pub(crate) fn read(error: ReadError) -> PyErr {
    match error {
        ReadError::Io(error) => input(error),
        ReadError::Syntax(error) => {
            let (rule, position) = (error.kind.rule(), error.position);
            raised("DocumentError", error.kind.to_string(), Some(rule), Some(position))
        }
        error => raised("DocumentError", chain(&error), None, None),
    }
}

/// Returns the exception for a document that cannot be written.
pub(crate) fn write(error: WriteError) -> PyErr {
    match error {
        WriteError::Io(error) => input(error),
        WriteError::Rule { rule, what } => raised("DocumentError", what, Some(rule), None),
        error => raised("DocumentError", chain(&error), None, None),
    }
}

/// Returns the exception for a package that cannot be used.
pub(crate) fn package(error: PackageError) -> PyErr {
    match error {
        PackageError::Io(error) => input(error),
        PackageError::Manifest(error) => read(error),
        PackageError::Refused(problem) | PackageError::Unusable(problem) => {
            raised("PackageError", problem.what, Some(problem.rule), None)
        }
        error => raised("PackageError", chain(&error), None, None),
    }
}

/// Returns the exception for bytes that do not arrive: the one that a Python file raised, a damaged compression as an
/// error of the document, else an `OSError`.
pub(crate) fn input(error: io::Error) -> PyErr {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<PyErr>());
    if let Some(inner) = inner {
        return Python::attach(|py| inner.clone_ref(py));
    }
    let is_damage = matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput);
    if is_damage || error.kind() == io::ErrorKind::UnexpectedEof {
        return raised("DocumentError", error.to_string(), None, None);
    }
    match error.raw_os_error() {
        Some(code) => PyOSError::new_err((code, reason(&error))),
        None => PyOSError::new_err(error.to_string()),
    }
}

/// Returns the text of an error of the system without its number, which Python shows by itself.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.as_str(), |(reason, _)| reason).to_owned()
}

/// Returns the exception for something that was closed before.
pub(crate) fn closed(what: &str) -> PyErr {
    PyValueError::new_err(format!("The {what} is closed"))
}

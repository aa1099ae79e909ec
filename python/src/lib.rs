//! The Python module `instep._native`: documents and packages of the standard, read and written without Python's lock.
//!
//! The classes that people use are made of these in `instep/`; the commands there run the program of the same wheel.

mod datetime;
mod entry;
mod errors;
mod fields;
mod header;
mod link;
mod package;
mod reader;
mod stream;
mod validate;
mod writer;

use pyo3::prelude::*;

/// The part of `instep` that is written in Rust.
#[pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use super::{
        datetime::DateTimeValue,
        entry::EntryValue,
        header::HeaderValue,
        link::LinkValue,
        package::{MemberValue, PackageArchive, PackageBuilder},
        reader::EntryReader,
        validate::{FindingValue, ReportValue, validate_document, validate_package},
        writer::EntryWriter,
    };
    use pyo3::{prelude::*, types::PyModule};

    #[pymodule_init]
    fn add_version(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // Not `add`, which would count it among the names that `import *` takes.
        module.setattr("__version__", env!("CARGO_PKG_VERSION"))
    }
}

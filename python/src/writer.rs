//! `instep.Writer`: a document written entry by entry.

use std::fmt;

use pyo3::prelude::*;
use resourcesync::{DocumentWriter, WriteOptions};

use crate::{
    entry::{EntryValue, entries},
    errors,
    header::HeaderValue,
    stream::{self, ByteSink},
};

/// Writes a document entry by entry to an object with `write(bytes)`.
///
/// An entry that breaks a *must* of the standard is refused with a `DocumentError`, and nothing of it is written.
///
/// >>> import io, instep
/// >>> file = io.BytesIO()
/// >>> with instep.Writer(file, instep.Header("description")) as writer:
/// ...     writer.write(instep.Entry("http://example.com/caps.xml", capability="capabilitylist"))
/// >>> file.getvalue().count(b"<url>")
/// 1
#[pyclass(name = "Writer", module = "instep")]
pub(crate) struct EntryWriter {
    /// `None` once it is closed.
    writer: Option<DocumentWriter<ByteSink>>,
}

impl fmt::Debug for EntryWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntryWriter").field("is_open", &self.writer.is_some()).finish()
    }
}

impl EntryWriter {
    fn open(&mut self) -> PyResult<&mut DocumentWriter<ByteSink>> {
        self.writer.as_mut().ok_or_else(|| errors::closed("Writer"))
    }
}

#[pymethods]
impl EntryWriter {
    #[new]
    #[pyo3(signature = (file, header, *, version="1.1", plain=false, checked=true))]
    fn new(
        file: &Bound<'_, PyAny>,
        header: &HeaderValue,
        version: &str,
        plain: bool,
        checked: bool,
    ) -> PyResult<Self> {
        let mut options = WriteOptions::new();
        options.version = version.parse().map_err(|error| errors::value("version", version, &error))?;
        (options.plain, options.unchecked) = (plain, !checked);
        let writer = DocumentWriter::new(stream::sink(file), &header.0, options).map_err(errors::write)?;
        Ok(Self { writer: Some(writer) })
    }

    /// Writes an entry.
    fn write(&mut self, entry: &EntryValue) -> PyResult<()> {
        self.open()?.write_entry(&entry.0).map_err(errors::write)
    }

    /// Writes a list of entries, and lets other threads run meanwhile.
    fn write_batch(&mut self, py: Python<'_>, batch: Vec<Py<EntryValue>>) -> PyResult<()> {
        let mut writer = self.writer.take().ok_or_else(|| errors::closed("Writer"))?;
        let (writer, outcome) = py.detach(|| {
            let outcome = entries(&batch).try_for_each(|entry| writer.write_entry(entry));
            (writer, outcome)
        });
        self.writer = Some(writer);
        outcome.map_err(errors::write)
    }

    /// The number of entries written so far.
    #[getter]
    fn entries_written(&mut self) -> PyResult<u64> {
        Ok(self.open()?.entries_written())
    }

    /// The number of bytes written so far, without the end of the document.
    #[getter]
    fn bytes_written(&mut self) -> PyResult<u64> {
        Ok(self.open()?.bytes_written())
    }

    /// Writes the end of the document. The file stays open.
    fn close(&mut self) -> PyResult<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        writer.finish().map(drop).map_err(errors::write)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Ends the document; one that an exception interrupted stays without its end, so that no reader takes it for whole.
    #[pyo3(signature = (kind, *_exception))]
    fn __exit__(&mut self, kind: &Bound<'_, PyAny>, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        if kind.is_none() {
            return self.close();
        }
        self.writer = None;
        Ok(())
    }
}

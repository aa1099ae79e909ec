//! `instep.Reader`: the entries of a document, one after the other, in constant memory.

use std::{fmt, mem};

use pyo3::{exceptions::PyValueError, prelude::*};
use resourcesync::{Decoded, DocumentReader, Entry, ReadOptions};

use crate::{
    entry::{EntryValue, positive},
    errors,
    fields::uri,
    header::HeaderValue,
    stream::{self, ByteSource},
    validate::FindingValue,
};

/// Entries that are parsed at a time without Python's lock: few enough to stay in the processor's cache, enough that
/// letting go of the lock costs nothing.
const BATCH: usize = 512;

/// Reads a document entry by entry: an iterator over its entries, whose header is known from the start.
///
/// `instep.read` opens one. Parsing lets other threads run.
///
/// >>> import instep
/// >>> xml = instep.ResourceList([instep.Entry("http://example.com/res1")],
/// ...     at="2013-01-03T09:00:00Z", up="http://example.com/caps.xml").to_xml()
/// >>> with instep.read(xml.encode()) as reader:
/// ...     reader.header.capability, [entry.loc for entry in reader]
/// ('resourcelist', ['http://example.com/res1'])
#[pyclass(name = "Reader", module = "instep")]
pub(crate) struct EntryReader {
    /// `None` once it is closed, and while a batch is read.
    reader: Option<DocumentReader<Decoded<ByteSource>>>,
    ready: std::vec::IntoIter<Entry>,
    /// The error that ended the reading; it is raised after the entries before it.
    fault: Option<PyErr>,
    is_closed: bool,
    header: HeaderValue,
    entries_read: u64,
    bytes_read: u64,
    findings: Vec<FindingValue>,
}

impl fmt::Debug for EntryReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntryReader").field("header", &self.header).finish_non_exhaustive()
    }
}

impl EntryReader {
    /// Parses the next entries.
    fn fill(&mut self, py: Python<'_>, most: usize) -> PyResult<()> {
        // No end of the entries: there may be more.
        if self.is_closed {
            return Err(PyValueError::new_err("the reader is closed"));
        }
        if let Some(fault) = self.fault.take() {
            self.reader = None;
            return Err(fault);
        }
        let Some(mut reader) = self.reader.take() else { return Ok(()) };
        let (reader, batch, outcome) = py.detach(move || {
            let mut batch = Vec::with_capacity(most.min(BATCH));
            let mut read = || {
                while batch.len() < most {
                    let mut entry = Entry::default();
                    if !reader.read_entry(&mut entry)? {
                        break;
                    }
                    batch.push(entry);
                }
                Ok(())
            };
            let outcome = read();
            (reader, batch, outcome)
        });
        let mut reader = reader;
        self.header = HeaderValue(reader.header().clone());
        (self.entries_read, self.bytes_read) = (reader.entries_read(), reader.bytes_read());
        self.findings.extend(reader.take_findings().into_iter().map(FindingValue));
        self.reader = Some(reader);
        self.ready = batch.into_iter();
        self.fault = outcome.err().map(errors::read);
        if self.ready.len() == 0 && self.fault.is_some() { self.fill(py, most) } else { Ok(()) }
    }
}

#[pymethods]
impl EntryReader {
    #[new]
    #[pyo3(signature = (source, *, base=None))]
    fn new(source: &Bound<'_, PyAny>, base: Option<&str>) -> PyResult<Self> {
        let base = base.map(|base| uri("base", base)).transpose()?;
        let bytes = stream::open(source)?;
        let options = base.map_or_else(ReadOptions::new, ReadOptions::for_base);
        let opened = source.py().detach(|| DocumentReader::open(bytes, options));
        let reader = opened.map_err(errors::read)?;
        Ok(Self {
            header: HeaderValue(reader.header().clone()),
            entries_read: 0,
            bytes_read: reader.bytes_read(),
            reader: Some(reader),
            ready: Vec::new().into_iter(),
            fault: None,
            is_closed: false,
            findings: Vec::new(),
        })
    }

    /// The header. Links that follow the entries are in it once they were read.
    #[getter]
    fn header(&self) -> HeaderValue {
        self.header.clone()
    }

    /// The number of entries parsed so far; a few more than the iterator has returned.
    #[getter]
    fn entries_read(&self) -> u64 {
        self.entries_read
    }

    /// The number of bytes parsed so far, decompressed.
    #[getter]
    fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Returns the findings since the last call: what was skipped, or not read as it is written.
    fn take_findings(&mut self) -> Vec<FindingValue> {
        if let Some(reader) = &mut self.reader {
            self.findings.extend(reader.take_findings().into_iter().map(FindingValue));
        }
        mem::take(&mut self.findings)
    }

    /// Returns the next entries as a list, at most `size`; an empty list at the end.
    #[pyo3(signature = (size=512))]
    fn next_batch(&mut self, py: Python<'_>, size: usize) -> PyResult<Vec<EntryValue>> {
        positive("size", size)?;
        if self.ready.len() == 0 {
            self.fill(py, size)?;
        }
        Ok(self.ready.by_ref().take(size).map(EntryValue).collect())
    }

    /// Lets go of the source. To read on from a closed reader is a ``ValueError``, as from a closed file.
    fn close(&mut self) {
        (self.reader, self.fault, self.is_closed) = (None, None, true);
        self.ready = Vec::new().into_iter();
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&mut self, _exception: &Bound<'_, PyAny>) {
        self.close();
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<EntryValue>> {
        if self.ready.len() == 0 {
            self.fill(py, BATCH)?;
        }
        Ok(self.ready.next().map(EntryValue))
    }
}

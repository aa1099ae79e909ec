//! `instep.Package` and `instep.PackageWriter`: ZIP files with a manifest.

use std::{
    fmt, io,
    io::{Cursor, Read as _, Write as _},
};

use pyo3::{prelude::*, pybacked::PyBackedBytes, types::PyBytes};
use resourcesync::{
    Entry, MediaType, PackagePath, ReadOptions,
    package::{Member, Package, PackageError, PackageLimits, PackageWriter},
};

use crate::{
    entry::EntryValue,
    errors,
    header::HeaderValue,
    stream::{self, PythonFile, SeekableSource},
};

/// A member of a package: its name and sizes.
#[pyclass(name = "Member", module = "instep", frozen, eq)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberValue(Member);

#[pymethods]
impl MemberValue {
    /// The name in the package.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The length in bytes, decompressed.
    #[getter]
    fn length(&self) -> u64 {
        self.0.length
    }

    /// The length in bytes in the package.
    #[getter]
    fn compressed(&self) -> u64 {
        self.0.compressed
    }

    fn __repr__(&self) -> String {
        format!("<Member {} of {} bytes>", self.0.name, self.0.length)
    }
}

/// Reads a package from a path, `bytes` or a file that can seek. One that is not safe to read is refused.
///
/// >>> import io, instep
/// >>> manifest = instep.ResourceDumpManifest([instep.Entry("http://example.com/res1", path="/res1")],
/// ...     at="2013-01-03T09:00:00Z", up="http://example.com/caps.xml")
/// >>> file = io.BytesIO()
/// >>> with instep.PackageWriter(file, manifest) as writer:
/// ...     writer.add("/res1", b"hello")
/// >>> package = instep.Package(file.getvalue())
/// >>> [(entry.loc, package.read(entry.path)) for entry in package.entries()]
/// [('http://example.com/res1', b'hello')]
#[pyclass(name = "Package", module = "instep")]
pub(crate) struct PackageArchive {
    package: Package<Box<dyn SeekableSource>>,
}

impl fmt::Debug for PackageArchive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackageArchive").finish_non_exhaustive()
    }
}

#[pymethods]
impl PackageArchive {
    #[new]
    fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let archive = stream::archive(source)?;
        let opened = source.py().detach(|| Package::open(archive, PackageLimits::new()));
        opened.map(|package| Self { package }).map_err(errors::package)
    }

    /// The header of the manifest.
    #[getter]
    fn header(&mut self) -> PyResult<HeaderValue> {
        let manifest = self.package.manifest(ReadOptions::new()).map_err(errors::package)?;
        Ok(HeaderValue(manifest.header().clone()))
    }

    /// Returns the entries of the manifest, also if it is in several parts.
    fn entries(&mut self, py: Python<'_>) -> PyResult<Vec<EntryValue>> {
        let read = || {
            let mut listed = Vec::new();
            for part in self.package.manifests(ReadOptions::new())? {
                let mut reader = self.package.manifest_at(&part, ReadOptions::new())?;
                for entry in reader.entries() {
                    listed.push(entry?);
                }
            }
            Ok(listed)
        };
        let listed: Result<Vec<Entry>, PackageError> = py.detach(read);
        Ok(listed.map_err(errors::package)?.into_iter().map(EntryValue).collect())
    }

    /// Returns the members, also those that the manifest does not name.
    fn members(&mut self) -> PyResult<Vec<MemberValue>> {
        self.package.members().map(|member| Ok(MemberValue(member.map_err(errors::input)?))).collect()
    }

    /// Returns the bytes of the bitstream at a path. A wrong length or checksum raises a `DocumentError`.
    fn read<'py>(&mut self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyBytes>> {
        let read = || {
            let mut bytes = Vec::new();
            self.package.bitstream(&PackagePath::new(path))?.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes: Result<Vec<u8>, PackageError> = py.detach(read);
        Ok(PyBytes::new(py, &bytes.map_err(errors::package)?))
    }

    /// Copies the bitstream at a path to an object with `write(bytes)`, and returns its length.
    fn copy(&mut self, path: &str, file: &Bound<'_, PyAny>) -> PyResult<u64> {
        let mut sink = stream::sink(file);
        let copy = || {
            let copied = io::copy(&mut self.package.bitstream(&PackagePath::new(path))?, &mut sink)?;
            sink.flush()?;
            Ok(copied)
        };
        let copied: Result<u64, PackageError> = file.py().detach(copy);
        copied.map_err(errors::package)
    }
}

/// Writes a package to a file that can seek: its manifest, then one bitstream after the other.
#[pyclass(name = "PackageBuilder", module = "instep")]
pub(crate) struct PackageBuilder {
    /// `None` once it is closed.
    writer: Option<PackageWriter<PythonFile>>,
}

impl fmt::Debug for PackageBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackageBuilder").field("is_open", &self.writer.is_some()).finish()
    }
}

#[pymethods]
impl PackageBuilder {
    #[new]
    fn new(file: &Bound<'_, PyAny>, manifest: &[u8]) -> PyResult<Self> {
        let sink = PythonFile(file.clone().unbind());
        let writer = PackageWriter::new(sink, manifest).map_err(errors::package)?;
        Ok(Self { writer: Some(writer) })
    }

    /// Adds a bitstream of `length` bytes under the path that the manifest gives it.
    #[pyo3(signature = (path, content, length, type_=None))]
    fn add(
        &mut self,
        path: &str,
        content: &Bound<'_, PyAny>,
        length: u64,
        type_: Option<&str>,
    ) -> PyResult<()> {
        let writer = self.writer.as_mut().ok_or_else(|| errors::closed("PackageWriter"))?;
        let (path, media_type) = (PackagePath::new(path), type_.map(MediaType::new));
        let bytes: Box<dyn io::Read + Send> = match content.extract::<PyBackedBytes>() {
            Ok(bytes) => Box::new(Cursor::new(bytes)),
            Err(_) => Box::new(PythonFile(content.clone().unbind())),
        };
        let added = content.py().detach(|| writer.add(&path, media_type.as_ref(), length, bytes));
        added.map_err(errors::package)
    }

    /// Writes the directory. The file stays open.
    fn close(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        py.detach(|| writer.finish()).map(drop).map_err(errors::package)
    }
}

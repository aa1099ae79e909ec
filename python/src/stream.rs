//! Bytes from and to Python: `bytes`, paths, and objects with `read`, `write` and `seek`.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom, Write},
    path::PathBuf,
};

use pyo3::{
    exceptions::{PyOSError, PyTypeError},
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyBytes, PyInt},
};

use crate::errors;

/// Bytes that are read or written at a time: large enough that taking Python's lock for them costs nothing.
const BLOCK: usize = 256 << 10;
/// `EISDIR` of Linux and macOS.
const IS_A_FOLDER: i32 = 21;

/// A Python object that reads or writes bytes. Python's lock is taken for each call alone.
#[derive(Debug)]
pub(crate) struct PythonFile(pub(crate) Py<PyAny>);

impl Read for PythonFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let read = self.0.bind(py).call_method1("read", (buffer.len(),))?;
            let bytes = read.extract::<PyBackedBytes>().map_err(|_| {
                let kind = read.get_type();
                PyTypeError::new_err(format!("the file returned {kind}, not bytes; open it in binary mode"))
            })?;
            let fits = buffer.get_mut(..bytes.len());
            let fits = fits.ok_or_else(|| io::Error::other("read(n) returned more than n bytes"))?;
            fits.copy_from_slice(&bytes);
            Ok(bytes.len())
        })
    }
}

impl Write for PythonFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let written = self.0.bind(py).call_method1("write", (PyBytes::new(py, bytes),))?;
            // A file without a buffer may take less, for instance when the disk is full. An object of the user takes
            // everything if it does not say how much.
            let count = written.cast_exact::<PyInt>().ok().and_then(|count| count.extract::<usize>().ok());
            Ok(count.map_or(bytes.len(), |count| count.min(bytes.len())))
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for PythonFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (offset, whence) = match to {
            SeekFrom::Start(offset) => (i64::try_from(offset).map_err(io::Error::other)?, 0),
            SeekFrom::Current(offset) => (offset, 1),
            SeekFrom::End(offset) => (offset, 2),
        };
        Python::attach(|py| Ok(self.0.bind(py).call_method1("seek", (offset, whence))?.extract()?))
    }
}

/// A source of bytes that is read from front to back.
pub(crate) type ByteSource = Box<dyn BufRead + Send + Sync>;

/// Opens `bytes`, a path or a Python file for reading.
pub(crate) fn open(source: &Bound<'_, PyAny>) -> PyResult<ByteSource> {
    if let Ok(bytes) = source.extract::<PyBackedBytes>() {
        return Ok(Box::new(Cursor::new(bytes)));
    }
    if source.hasattr("read")? {
        return Ok(Box::new(BufReader::with_capacity(BLOCK, PythonFile(source.clone().unbind()))));
    }
    Ok(Box::new(BufReader::with_capacity(BLOCK, file(source)?)))
}

fn file(source: &Bound<'_, PyAny>) -> PyResult<File> {
    let path: PathBuf = source.extract()?;
    // A folder can be opened, and fails without its name when it is read.
    let opened = File::open(&path).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(io::Error::from_raw_os_error(IS_A_FOLDER)),
        false => Ok(file),
    });
    opened.map_err(|error| {
        let code = error.raw_os_error().unwrap_or_default();
        PyOSError::new_err((code, errors::reason(&error), path))
    })
}

/// Bytes that can be read at any place.
pub(crate) trait SeekableSource: Read + Seek + Send + Sync {}

impl<T: Read + Seek + Send + Sync> SeekableSource for T {}

/// Opens `bytes`, a path or a Python file that can seek.
pub(crate) fn archive(source: &Bound<'_, PyAny>) -> PyResult<Box<dyn SeekableSource>> {
    if let Ok(bytes) = source.extract::<PyBackedBytes>() {
        return Ok(Box::new(Cursor::new(bytes)));
    }
    if source.hasattr("read")? {
        return Ok(Box::new(PythonFile(source.clone().unbind())));
    }
    Ok(Box::new(file(source)?))
}

/// A sink of bytes that hands them to Python in blocks.
pub(crate) type ByteSink = io::BufWriter<PythonFile>;

/// Opens a Python file for writing.
pub(crate) fn sink(file: &Bound<'_, PyAny>) -> ByteSink {
    io::BufWriter::with_capacity(BLOCK, PythonFile(file.clone().unbind()))
}

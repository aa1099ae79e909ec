//! Gzip twins: documents that lie compressed beside themselves.

use std::{
    fs::File,
    io::{self, BufWriter, Read, Write},
};

use flate2::{Compression, GzBuilder};

/// The treatment of gzip twins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TwinRule {
    /// Each XML document gets a compressed one beside it.
    Made,
    /// None has one, and those of earlier publications are removed.
    #[default]
    Removed,
    /// They are documents like any other: whoever made the documents made them, too.
    AsNamed,
}

/// Returns `true` for a document that may have a twin.
pub(super) fn has_twin(name: &str) -> bool {
    name.ends_with(".xml")
}

/// Returns the name of the twin of a document.
pub(super) fn twin(name: &str) -> String {
    format!("{name}.gz")
}

/// Writes the twin of a document. It has neither name nor time, so that equal documents have equal twins.
pub(super) fn compress(mut document: impl Read, twin: &mut File) -> io::Result<()> {
    let mut gzip = GzBuilder::new().write(BufWriter::new(twin), Compression::default());
    io::copy(&mut document, &mut gzip)?;
    gzip.finish()?.flush()
}

//! A document held in memory: reading, writing and the properties that all kinds share.

use std::{
    io::{BufRead, Write},
    marker::PhantomData,
};

use super::{
    Entry, Header, Link,
    kind::{DocumentKind, IntervalKind, SnapshotKind},
};
use crate::{
    error::{ReadError, WriteError},
    finding::Finding,
    value::{Capability, DateTime, Relation, Uri},
    xml::{Decoded, DocumentReader, DocumentWriter, ReadOptions, WriteOptions},
};

/// A document held in memory (§7). Each kind of document is an alias of it: [`super::ResourceList`],
/// [`super::ChangeList`], ...; methods exist only for the kinds that have the property.
///
/// Entries stay in the order of the document, regardless of their times.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Collected<K> {
    /// The metadata and links under the root.
    pub header: Header,
    /// The entries, in document order.
    pub entries: Vec<Entry>,
    kind: PhantomData<K>,
}

impl<K: DocumentKind> Collected<K> {
    /// Reads a document of this kind, compressed or not, in any encoding.
    ///
    /// # Errors
    /// If the bytes cannot be read, or the document is of another kind. [`Self::stream`] keeps the entries before a fault.
    pub fn read(source: impl BufRead, options: ReadOptions) -> Result<Self, ReadError> {
        Self::read_with_findings(source, options).map(|(document, _)| document)
    }

    /// Reads a document of this kind, and returns it with the findings about it, as many as
    /// [`Limits::findings`](crate::Limits) allows.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_with_findings(
        source: impl BufRead,
        options: ReadOptions,
    ) -> Result<(Self, Vec<Finding>), ReadError> {
        let mut reader = Self::stream(source, options)?;
        let entries = reader.entries().collect::<Result<_, _>>()?;
        Ok((Self::from_parts(reader.header().clone(), entries), reader.take_findings()))
    }

    /// Opens a document of this kind to read its entries one by one, in constant memory.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn stream<R: BufRead>(
        source: R,
        options: ReadOptions,
    ) -> Result<DocumentReader<Decoded<R>>, ReadError> {
        let reader = DocumentReader::open(source, options)?;
        if !K::accepts(reader.header()) {
            return Err(ReadError::Kind { expected: K::NAME, found: reader.header().describe() });
        }
        Ok(reader)
    }

    /// Writes the document for readers of version 1.1.
    ///
    /// # Errors
    /// If the sink fails, or the document breaks a *must*.
    pub fn write_to(&self, sink: impl Write) -> Result<(), WriteError> {
        self.write(sink, WriteOptions::new()).map(drop)
    }

    /// Returns the document as XML for readers of version 1.1.
    ///
    /// # Errors
    /// If the document breaks a *must*.
    pub fn to_xml(&self) -> Result<String, WriteError> {
        self.write(Vec::new(), WriteOptions::new()).map(utf8)
    }

    /// Writes the document with the given options, and returns the sink.
    ///
    /// # Errors
    /// If the sink fails, or the document breaks a *must*.
    pub fn write<W: Write>(&self, sink: W, options: WriteOptions) -> Result<W, WriteError> {
        let mut writer = DocumentWriter::new(sink, &self.header, options)?;
        for entry in &self.entries {
            writer.write_entry(entry)?;
        }
        writer.finish()
    }

    /// Returns the document's capability; `None` in a plain Sitemap (DIA-7).
    pub fn capability(&self) -> Option<&Capability> {
        self.header.capability()
    }

    /// Returns the root's `rs:md`; `None` in a plain Sitemap.
    pub fn metadata(&self) -> Option<&super::Metadata> {
        self.header.metadata.as_ref()
    }

    /// Returns the root's links, in order.
    pub fn links(&self) -> &[Link] {
        &self.header.links
    }

    /// Returns the first link of a relation.
    pub fn link_for(&self, rel: &Relation) -> Option<&Link> {
        self.header.link_for(rel)
    }

    /// Returns the links of a relation, in order.
    pub fn links_for<'a>(&'a self, rel: &'a Relation) -> impl Iterator<Item = &'a Link> {
        self.header.links_for(rel)
    }

    /// Returns the document one level up (NAV-1).
    pub fn up(&self) -> Option<&Uri> {
        self.header.up()
    }

    /// Returns the index that this document is a member of (NAV-2).
    pub fn index(&self) -> Option<&Uri> {
        self.header.index()
    }

    /// Returns the description of the Source or of the set of resources.
    pub fn describedby(&self) -> Option<&Uri> {
        self.header.describedby()
    }

    pub(super) fn from_parts(header: Header, entries: Vec<Entry>) -> Self {
        Self { header, entries, kind: PhantomData }
    }
}

/// Converts the output of the writer to text: the writer writes only UTF-8.
pub(super) fn utf8(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_default()
}

impl<K: SnapshotKind> Collected<K> {
    /// Returns the start of the snapshot (TIME-3).
    pub fn at(&self) -> Option<DateTime> {
        self.metadata()?.at
    }

    /// Returns the end of the snapshot (TIME-4).
    pub fn completed(&self) -> Option<DateTime> {
        self.metadata()?.completed
    }
}

impl<K: IntervalKind> Collected<K> {
    /// Returns the start of the interval (TIME-5).
    pub fn from(&self) -> Option<DateTime> {
        self.metadata()?.from
    }

    /// Returns the end of the interval (TIME-6).
    pub fn until(&self) -> Option<DateTime> {
        self.metadata()?.until
    }

    /// Returns `true` if the document never changes again: it has `until` (TIME-6), and its dialect means that by it
    /// (DIA-3).
    pub fn is_closed(&self) -> bool {
        self.header.is_closed()
    }
}

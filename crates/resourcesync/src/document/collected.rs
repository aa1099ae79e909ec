use std::{
    io::{BufRead, Write},
    marker::PhantomData,
};

use super::{
    Entry, Header, Link,
    kind::{Interval, Kind, Snapshot, Timeless},
};
use crate::{
    error::{ReadError, WriteError},
    finding::Finding,
    value::{Capability, DateTime, Relation, Uri},
    xml::{Decoded, DocumentReader, DocumentWriter, ReadOptions, WriteOptions},
};

/// A document held as a whole (§7). Each kind of document is an alias of it: [`super::ResourceList`],
/// [`super::ChangeList`], ...; what only some kinds have, only those kinds offer.
///
/// Entries stay in the order of the document, whatever their times say.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Collected<K> {
    /// What stands before the entries.
    pub header: Header,
    /// The entries, in order.
    pub entries: Vec<Entry>,
    kind: PhantomData<K>,
}

impl<K: Kind> Collected<K> {
    /// Reads a document of this kind, compressed or not, in any encoding.
    ///
    /// # Errors
    /// When it cannot be read, or is of another kind.
    pub fn read(source: impl BufRead, options: ReadOptions) -> Result<Self, ReadError> {
        Self::read_with_findings(source, options).map(|(document, _)| document)
    }

    /// Reads a document of this kind and tells what was noticed about it.
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

    /// Writes the document.
    ///
    /// # Errors
    /// When the sink fails, or the document breaks a *must*.
    pub fn write<W: Write>(&self, sink: W, options: WriteOptions) -> Result<W, WriteError> {
        let mut writer = DocumentWriter::new(sink, &self.header, options)?;
        for entry in &self.entries {
            writer.write_entry(entry)?;
        }
        writer.finish()
    }

    /// What the document is; none in a plain Sitemap (DIA-7).
    pub fn capability(&self) -> Option<&Capability> {
        self.header.capability()
    }

    /// The root's `rs:md`; none in a plain Sitemap.
    pub fn metadata(&self) -> Option<&super::Metadata> {
        self.header.metadata.as_ref()
    }

    /// The root's links, in order.
    pub fn links(&self) -> &[Link] {
        &self.header.links
    }

    /// The first link of a relation.
    pub fn link_for(&self, rel: &Relation) -> Option<&Link> {
        self.header.link_for(rel)
    }

    /// The links of a relation, in order.
    pub fn links_for<'a>(&'a self, rel: &'a Relation) -> impl Iterator<Item = &'a Link> {
        self.header.links_for(rel)
    }

    /// The document one level up (NAV-1).
    pub fn up(&self) -> Option<&Uri> {
        self.header.up()
    }

    /// The index this document is a member of (NAV-2).
    pub fn index(&self) -> Option<&Uri> {
        self.header.index()
    }

    /// The description of the Source or set.
    pub fn describedby(&self) -> Option<&Uri> {
        self.header.describedby()
    }

    /// The same with one more link under the root.
    #[must_use]
    pub fn with_link(mut self, rel: Relation, target: Uri) -> Self {
        self.header.links.push(Link::new(rel, target));
        self
    }

    /// The same with one more entry.
    #[must_use]
    pub fn with_entry(mut self, entry: Entry) -> Self {
        self.entries.push(entry);
        self
    }

    /// The same with more entries.
    #[must_use]
    pub fn with_entries(mut self, entries: impl IntoIterator<Item = Entry>) -> Self {
        self.entries.extend(entries);
        self
    }

    pub(super) fn empty() -> Self {
        Self::from_parts(K::header(), Vec::new())
    }

    pub(super) fn from_parts(header: Header, entries: Vec<Entry>) -> Self {
        Self { header, entries, kind: PhantomData }
    }

    fn with_metadata(mut self, set: impl FnOnce(&mut super::Metadata)) -> Self {
        set(self.header.metadata.get_or_insert_default());
        self
    }
}

impl<K: Snapshot> Collected<K> {
    /// An empty one: the state as of `at` (TIME-3), below a Capability List (NAV-1).
    pub fn as_of(at: DateTime, up: Uri) -> Self {
        Self::empty().with_link(Relation::Up, up).with_metadata(|md| md.at = Some(at))
    }

    /// The same, finished at a time (TIME-4).
    #[must_use]
    pub fn with_completed(self, completed: DateTime) -> Self {
        self.with_metadata(|md| md.completed = Some(completed))
    }

    /// Start of the snapshot (TIME-3).
    pub fn at(&self) -> Option<DateTime> {
        self.metadata()?.at
    }

    /// End of the snapshot (TIME-4).
    pub fn completed(&self) -> Option<DateTime> {
        self.metadata()?.completed
    }
}

impl<K: Interval> Collected<K> {
    /// An empty, open one: the changes since `from` (TIME-5), below a Capability List (NAV-1).
    pub fn since(from: DateTime, up: Uri) -> Self {
        Self::empty().with_link(Relation::Up, up).with_metadata(|md| md.from = Some(from))
    }

    /// The same, closed: it will never change again (TIME-6).
    #[must_use]
    pub fn with_until(self, until: DateTime) -> Self {
        self.with_metadata(|md| md.until = Some(until))
    }

    /// Start of the interval (TIME-5).
    pub fn from(&self) -> Option<DateTime> {
        self.metadata()?.from
    }

    /// End of the interval (TIME-6).
    pub fn until(&self) -> Option<DateTime> {
        self.metadata()?.until
    }

    /// Whether it never changes again: it has `until` (TIME-6), and its dialect means that by it (DIA-3).
    pub fn is_closed(&self) -> bool {
        self.header.is_closed()
    }
}

impl<K: Timeless> Collected<K> {
    /// An empty one below the document that leads to it (NAV-1).
    pub fn below(up: Uri) -> Self {
        Self::empty().with_link(Relation::Up, up)
    }
}

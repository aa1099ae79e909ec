//! A document of any kind.

use std::io::{BufRead, Write};

use super::{
    CapabilityList, CapabilityListIndex, ChangeDump, ChangeDumpArchive, ChangeDumpArchiveIndex,
    ChangeDumpIndex, ChangeDumpManifest, ChangeDumpManifestIndex, ChangeList, ChangeListArchive,
    ChangeListArchiveIndex, ChangeListIndex, ChangeNotification, Collected, Entry, Form,
    FrameworkNotification, Header, ResourceDump, ResourceDumpArchive, ResourceDumpArchiveIndex,
    ResourceDumpIndex, ResourceDumpManifest, ResourceDumpManifestIndex, ResourceList, ResourceListArchive,
    ResourceListArchiveIndex, ResourceListIndex, SourceDescription, SourceDescriptionIndex, collected::utf8,
    kind,
};
use crate::{
    error::{ReadError, WriteError},
    finding::Finding,
    value::{Capability, Relation},
    xml::{ReadOptions, WriteOptions},
};

macro_rules! document {
    ($($kind:ident,)*) => {
        /// A document of any kind, held as a whole. Its root element and its capability decide which kind it is
        /// (GEN-11).
        ///
        /// ```
        /// use resourcesync::{Document, ReadOptions};
        /// # fn main() -> Result<(), resourcesync::ReadError> {
        /// let sitemap = b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>
        ///     <url><loc>http://example.com/</loc></url></urlset>";
        /// match Document::read(&sitemap[..], ReadOptions::new())? {
        ///     Document::ResourceList(list) => assert_eq!(list.entries.len(), 1),
        ///     other => panic!("{other:?}"),
        /// }
        /// # Ok(())
        /// # }
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Document {
            $(
                #[doc = concat!("A [`", stringify!($kind), "`].")]
                $kind($kind),
            )*
            /// A document whose capability has no type here (CAP-13).
            Other(Collected<kind::Any>),
        }

        impl Document {
            /// Returns the metadata and links under the root.
            pub fn header(&self) -> &Header {
                match self {
                    $(Self::$kind(document) => &document.header,)*
                    Self::Other(document) => &document.header,
                }
            }

            /// Returns the entries, in document order.
            pub fn entries(&self) -> &[Entry] {
                match self {
                    $(Self::$kind(document) => &document.entries,)*
                    Self::Other(document) => &document.entries,
                }
            }

            /// Writes the document with the given options, and returns the sink.
            ///
            /// # Errors
            /// If the sink fails, or the document breaks a *must*.
            pub fn write<W: Write>(&self, sink: W, options: WriteOptions) -> Result<W, WriteError> {
                match self {
                    $(Self::$kind(document) => document.write(sink, options),)*
                    Self::Other(document) => document.write(sink, options),
                }
            }

            fn from_parts(header: Header, entries: Vec<Entry>) -> Self {
                if let Some(notification) = notification(&header, &entries) {
                    return notification(header, entries);
                }
                $(if <kind::$kind as kind::DocumentKind>::accepts(&header) {
                    return Self::$kind(Collected::from_parts(header, entries));
                })*
                Self::Other(Collected::from_parts(header, entries))
            }
        }
    };
}

document! {
    SourceDescription, SourceDescriptionIndex, CapabilityList, CapabilityListIndex,
    ResourceList, ResourceListIndex, ResourceDump, ResourceDumpIndex, ResourceDumpManifest,
    ResourceDumpManifestIndex, ChangeDumpManifestIndex,
    ChangeList, ChangeListIndex, ChangeDump, ChangeDumpIndex, ChangeDumpManifest,
    ResourceListArchive, ResourceListArchiveIndex, ResourceDumpArchive, ResourceDumpArchiveIndex,
    ChangeListArchive, ChangeListArchiveIndex, ChangeDumpArchive, ChangeDumpArchiveIndex,
    ChangeNotification, FrameworkNotification,
}

impl Document {
    /// Reads a document of any kind, compressed or not, in any encoding. To read one kind only, use that type's own
    /// `read`.
    ///
    /// # Errors
    /// If the bytes do not arrive, are no XML, are no Sitemap, or exceed a limit. [`DocumentReader`](crate::DocumentReader)
    /// keeps the entries before a fault.
    pub fn read(source: impl BufRead, options: ReadOptions) -> Result<Self, ReadError> {
        Self::read_with_findings(source, options).map(|(document, _)| document)
    }

    /// Reads a document of any kind, and returns it with the findings about it, as many as
    /// [`Limits::findings`](crate::Limits) allows.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_with_findings(
        source: impl BufRead,
        options: ReadOptions,
    ) -> Result<(Self, Vec<Finding>), ReadError> {
        let (any, findings) = Collected::<kind::Any>::read_with_findings(source, options)?;
        Ok((Self::from_parts(any.header, any.entries), findings))
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

    /// Returns the document's capability; `None` in a plain Sitemap (DIA-7) or an early notification (N8-5).
    pub fn capability(&self) -> Option<&Capability> {
        self.header().capability()
    }
}

/// Recognizes a payload without root metadata by its content: changes, below a Capability List (N8-5).
fn notification(header: &Header, entries: &[Entry]) -> Option<fn(Header, Vec<Entry>) -> Document> {
    let bare = header.metadata.is_none() && header.form == Form::List;
    let first = &entries.first()?.metadata;
    if !bare || header.link_for(&Relation::Up).is_none() || first.change.is_none() {
        return None;
    }
    Some(match first.capability {
        Some(_) => |header, entries| Document::FrameworkNotification(Collected::from_parts(header, entries)),
        None => |header, entries| Document::ChangeNotification(Collected::from_parts(header, entries)),
    })
}

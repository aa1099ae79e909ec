use std::io::BufRead;

use super::{
    CapabilityList, ChangeDump, ChangeDumpArchive, ChangeDumpArchiveIndex, ChangeDumpIndex,
    ChangeDumpManifest, ChangeList, ChangeListArchive, ChangeListArchiveIndex, ChangeListIndex,
    ChangeNotification, Collected, Entry, Form, FrameworkNotification, Header, ResourceDump,
    ResourceDumpArchive, ResourceDumpArchiveIndex, ResourceDumpIndex, ResourceDumpManifest, ResourceList,
    ResourceListArchive, ResourceListArchiveIndex, ResourceListIndex, SourceDescription,
    SourceDescriptionIndex, kind,
};
use crate::{
    error::{ReadError, WriteError},
    finding::Finding,
    value::{Capability, Relation},
    xml::{ReadOptions, WriteOptions},
};

macro_rules! document {
    ($($kind:ident,)*) => {
        /// A document of any kind, held as a whole; which kind it is, its root and its capability decide (GEN-11).
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
            /// Of a capability that has no type here (CAP-13).
            Other(Collected<kind::Any>),
        }

        impl Document {
            /// What stands before the entries.
            pub fn header(&self) -> &Header {
                match self {
                    $(Self::$kind(document) => &document.header,)*
                    Self::Other(document) => &document.header,
                }
            }

            /// The entries, in order.
            pub fn entries(&self) -> &[Entry] {
                match self {
                    $(Self::$kind(document) => &document.entries,)*
                    Self::Other(document) => &document.entries,
                }
            }

            /// Writes the document.
            ///
            /// # Errors
            /// When the sink fails, or the document breaks a *must*.
            pub fn write<W: std::io::Write>(&self, sink: W, options: WriteOptions) -> Result<W, WriteError> {
                match self {
                    $(Self::$kind(document) => document.write(sink, options),)*
                    Self::Other(document) => document.write(sink, options),
                }
            }

            fn from_parts(header: Header, entries: Vec<Entry>) -> Self {
                if let Some(notification) = notification(&header, &entries) {
                    return notification(header, entries);
                }
                $(if <kind::$kind as kind::Kind>::accepts(&header) {
                    return Self::$kind(Collected::from_parts(header, entries));
                })*
                Self::Other(Collected::from_parts(header, entries))
            }
        }
    };
}

document! {
    SourceDescription, SourceDescriptionIndex, CapabilityList,
    ResourceList, ResourceListIndex, ResourceDump, ResourceDumpIndex, ResourceDumpManifest,
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
    /// When it cannot be read.
    pub fn read(source: impl BufRead, options: ReadOptions) -> Result<Self, ReadError> {
        Self::read_with_findings(source, options).map(|(document, _)| document)
    }

    /// Reads a document of any kind and tells what was noticed about it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read_with_findings(
        source: impl BufRead,
        options: ReadOptions,
    ) -> Result<(Self, Vec<Finding>), ReadError> {
        let (any, findings) = Collected::<kind::Any>::read_with_findings(source, options)?;
        Ok((Self::from_parts(any.header, any.entries), findings))
    }

    /// What the document is; none in a plain Sitemap (DIA-7) or an early notification (N8-5).
    pub fn capability(&self) -> Option<&Capability> {
        self.header().capability()
    }
}

/// A payload without root metadata is known by what it says (N8-5): changes, below a Capability List.
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

//! The engine: pieces of XML in, a header and entries out, and findings beside them.

mod content;
mod element;
mod errors;
mod events;
mod media;
mod references;
mod root;
mod tags;

use std::{
    io::BufRead,
    sync::{Arc, atomic::AtomicBool},
};

use element::Element;

use super::{
    Limits,
    attributes::Attributes,
    decode::Decoded,
    names::{NamespaceScope, OpenElements},
    window::DocumentWindow,
};
use crate::{
    dialect::Dialect,
    document::{Entry, Form, Header},
    error::{LimitKind, ReadError, SyntaxErrorKind},
    finding::{Finding, Position, Severity},
    value::Uri,
};

/// Options of reading.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The URI of the document; relative references are resolved against it (NAV-5).
    pub base: Option<Uri>,
    /// The limits.
    pub limits: Limits,
    /// Reads documents of older versions as 1.1 (DIA-1). A validator reads them as they are.
    pub dialects: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { base: None, limits: Limits::default(), dialects: true }
    }
}

impl ReadOptions {
    /// Reads without a base, with the default limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a document that was fetched from `base`.
    pub fn for_base(base: Uri) -> Self {
        Self { base: Some(base), ..Self::default() }
    }
}

/// Reads a document from front to back: the header first, then entry after entry, in constant memory.
///
/// A bad value costs that value, a bad entry that entry; both leave a [`Finding`]. Only bytes that are no XML, no
/// Sitemap, or too much end the reading (GEN-24, GEN-1, GEN-26).
///
/// ```
/// # fn main() -> Result<(), resourcesync::ReadError> {
/// let xml = br#"<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
///     xmlns:rs="http://www.openarchives.org/rs/terms/">
///   <rs:md capability="resourcelist" at="2013-01-03T09:00:00Z"/>
///   <url><loc>http://example.com/res1</loc><rs:md length="8876"/></url>
/// </urlset>"#;
/// let mut reader = resourcesync::DocumentReader::new(&xml[..], resourcesync::ReadOptions::new())?;
/// let mut entry = resourcesync::Entry::default();
/// while reader.read_entry(&mut entry)? {
///     assert_eq!(entry.loc.as_str(), "http://example.com/res1");
///     assert_eq!(entry.metadata.length, Some(8876));
/// }
/// # Ok(())
/// # }
/// ```
pub struct DocumentReader<R> {
    window: DocumentWindow<R>,
    open: OpenElements,
    scope: NamespaceScope,
    /// The roles of elements below the root by name, as long as the scope does not change.
    elements: Vec<(Box<str>, Element)>,
    options: ReadOptions,
    header: Header,
    /// `true` if an extension under the root is in the namespace of the first drafts.
    draft_namespace: bool,
    attributes: Attributes,
    text: String,
    /// `true` while the text of a leaf element is read, whose pieces are joined.
    in_leaf: bool,
    entries: u64,
    next: Next,
    findings: Vec<Finding>,
    findings_dropped: u64,
    /// Elements of Sitemaps of which an attribute was reported.
    with_attributes: Vec<Element>,
    /// Entries that this kind of document may have.
    most: u64,
    /// Links that it may still have.
    links_left: u64,
    at: Position,
    /// Offset of the last piece; its line is computed only if needed.
    step_start: u64,
    /// The mark that is set once bytes were replaced that are not in the encoding; `None` if this was reported.
    replaced: Option<Arc<AtomicBool>>,
}

impl<R> std::fmt::Debug for DocumentReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DocumentReader")
            .field("header", &self.header)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

/// The state of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The content of the root comes next.
    Root,
    /// The content of an entry comes next; its start tag was read.
    Entry { empty: bool },
    /// Nothing comes next.
    End,
}

impl<R: BufRead> DocumentReader<Decoded<R>> {
    /// Opens a document as it was sent, compressed with gzip or not, in the encoding it declares, and reads its header.
    /// An encoding other than UTF-8 leaves a finding (GEN-24). The limits count decoded bytes.
    ///
    /// # Errors
    /// As [`DocumentReader::new`].
    ///
    /// ```
    /// # fn main() -> Result<(), resourcesync::ReadError> {
    /// use resourcesync::{DocumentReader, ReadOptions};
    /// let text = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'/>";
    /// let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    /// let mut reader = DocumentReader::open(&utf16[..], ReadOptions::new())?;
    /// assert_eq!(reader.take_findings()[0].rule, "GEN-24");
    /// # Ok(())
    /// # }
    /// ```
    pub fn open(source: R, options: ReadOptions) -> Result<Self, ReadError> {
        let decoded = Decoded::new(source)?;
        let other =
            (decoded.encoding() != "UTF-8").then(|| format!("the encoding {}", decoded.name_as_written()));
        let misdeclared = decoded.misdeclared().map(|name| format!("the encoding {name}, which it has not"));
        let replaced = decoded.replaced();
        let mut reader = Self::new(decoded, options)?;
        reader.replaced = Some(replaced);
        reader.report_replaced();
        if let Some(found) = other.or(misdeclared) {
            let start = Position { line: 1, column: 1, offset: 0 };
            reader.findings.insert(0, Finding::new("GEN-24", Severity::Error, start, found, "UTF-8"));
        }
        Ok(reader)
    }
}

impl<R: BufRead> DocumentReader<R> {
    /// Opens a document in UTF-8 and reads its header.
    ///
    /// # Errors
    /// If the bytes cannot be read, are no XML, or are no Sitemap.
    pub fn new(source: R, options: ReadOptions) -> Result<Self, ReadError> {
        let entries = options.limits.entries;
        let mut reader = Self {
            window: DocumentWindow::new(source, options.limits),
            open: OpenElements::default(),
            scope: NamespaceScope::default(),
            elements: Vec::new(),
            options,
            header: Header::bare(Form::List),
            draft_namespace: false,
            attributes: Attributes::default(),
            text: String::new(),
            in_leaf: false,
            entries: 0,
            next: Next::Root,
            findings: Vec::new(),
            findings_dropped: 0,
            with_attributes: Vec::new(),
            most: entries,
            links_left: u64::MAX,
            at: Position::default(),
            step_start: 0,
            replaced: None,
        };
        reader.read_root()?;
        reader.next = match reader.next {
            Next::Root => reader.read_root_children()?,
            end => end,
        };
        reader.recognize_dialect();
        let limits = reader.options.limits.of(&reader.header);
        (reader.most, reader.links_left) = (limits.entries, limits.links);
        reader.window.limit_bytes(limits.bytes);
        Ok(reader)
    }

    /// Returns the metadata and links under the root. Those after the entries are included once they were read.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the number of entries read so far, those included that cannot be used.
    pub fn entries_read(&self) -> u64 {
        self.entries
    }

    /// Returns the number of bytes read so far, decoded.
    pub fn bytes_read(&self) -> u64 {
        self.window.offset()
    }

    /// Returns the findings since the last call. Beyond the limit they are only counted.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    /// Returns `true` if there are findings to take.
    pub(crate) fn has_findings(&self) -> bool {
        !self.findings.is_empty()
    }

    /// Returns the number of findings that were not kept.
    pub fn findings_dropped(&self) -> u64 {
        self.findings_dropped
    }

    /// Reads the next entry into a reused value. Returns `false` at the end of the document.
    ///
    /// # Errors
    /// If the bytes cannot be read, are no XML, or exceed a limit. The entries read before remain valid.
    pub fn read_entry(&mut self, entry: &mut Entry) -> Result<bool, ReadError> {
        loop {
            let Next::Entry { empty } = self.next else { return Ok(false) };
            if self.entries >= self.most {
                let (limit, most) = (LimitKind::Entries, self.most);
                return Err(self.syntax(SyntaxErrorKind::Limit { limit, most }));
            }
            self.entries += 1;
            entry.clear();
            entry.position = self.at;
            let usable = self.read_entry_children(entry, empty)?;
            if self.header.dialect != Dialect::Current && self.options.dialects {
                Dialect::translate_entry(entry);
            }
            self.next = self.read_root_children()?;
            self.report_replaced();
            if usable {
                return Ok(true);
            }
        }
    }

    /// Returns the entries as owned values.
    pub fn entries(&mut self) -> impl Iterator<Item = Result<Entry, ReadError>> {
        std::iter::from_fn(|| {
            let mut entry = Entry::default();
            match self.read_entry(&mut entry) {
                Ok(true) => Some(Ok(entry)),
                Ok(false) => None,
                Err(error) => {
                    self.next = Next::End;
                    Some(Err(error))
                }
            }
        })
    }

    fn recognize_dialect(&mut self) {
        let mut header = std::mem::replace(&mut self.header, Header::bare(Form::List));
        header.dialect = Dialect::of(&header, self.draft_namespace);
        if self.options.dialects {
            header.dialect.translate(&mut header, &mut |rule, found, expected| {
                self.report(rule, Severity::Info, found, expected);
            });
        }
        self.header = header;
    }
}

fn push(findings: &mut Vec<Finding>, dropped: &mut u64, options: &ReadOptions, finding: Finding) {
    if findings.len() < options.limits.findings {
        findings.push(finding);
    } else {
        *dropped += 1;
    }
}

//! Typed documents to bytes: equal values always give equal bytes.

mod elements;

use std::io::Write;

use self::elements::{
    push, push_all, push_escaped, write_changefreq, write_lastmod, write_link, write_metadata, write_priority,
};
use super::{
    fidelity,
    names::{RS, SITEMAP},
    obligations::Obligations,
    version::SpecVersion,
};
use crate::{
    document::{Entry, Form, Header},
    error::WriteError,
};

/// Options of writing.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// The version for which to write. With 1.0 the `lastmod` of each change is its time (DIA-8).
    pub version: SpecVersion,
    /// Writes a plain Sitemap, without the extensions (GEN-23).
    pub plain: bool,
    /// Writes documents that break a *must* too: for tests, and to keep documents of others. The result is still
    /// well-formed XML.
    pub unchecked: bool,
    /// The address of an XSL stylesheet with which browsers show the document: a processing instruction before the root.
    /// Readers of documents pass over it.
    pub stylesheet: Option<String>,
}

impl WriteOptions {
    /// Writes for readers of version 1.1.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes for readers that support only Sitemaps.
    pub fn plain() -> Self {
        Self { plain: true, ..Self::default() }
    }

    /// Writes without checking the rules of the standard.
    pub fn unchecked() -> Self {
        Self { unchecked: true, ..Self::default() }
    }
}

/// Writes a document from front to back: the header, entry after entry, the end. The header of an empty document of
/// its type has the required metadata.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use resourcesync::{DocumentWriter, Entry, WriteOptions, document::ResourceList};
/// let list = ResourceList::new("2013-01-03T09:00:00Z".parse()?, "http://example.com/caps.xml".parse()?);
/// let mut writer = DocumentWriter::new(Vec::new(), &list.header, WriteOptions::new())?;
/// for number in 0..3 {
///     writer.write_entry(&Entry::new(format!("http://example.com/res{number}").parse()?))?;
/// }
/// assert_eq!(writer.entries_written(), 3);
/// assert!(writer.finish()?.ends_with(b"</urlset>\n"));
/// # Ok(())
/// # }
/// ```
///
/// A header that breaks a *must* is refused, with the rule:
///
/// ```
/// # fn main() -> Result<(), resourcesync::WriteError> {
/// use resourcesync::{Capability, DocumentWriter, Form, Header, WriteOptions};
/// let header = Header::new(Form::List, Capability::Description);
/// let bytes = DocumentWriter::new(Vec::new(), &header, WriteOptions::new())?.finish()?;
/// assert!(bytes.ends_with(b"</urlset>\n"));
/// // A Change List needs `from` and a link `up`.
/// let header = Header::new(Form::List, Capability::ChangeList);
/// let error = DocumentWriter::new(Vec::new(), &header, WriteOptions::new()).unwrap_err();
/// assert_eq!(error.rule(), Some("CL-2"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct DocumentWriter<W> {
    sink: W,
    form: Form,
    options: WriteOptions,
    /// `None` if nothing is checked.
    obligations: Option<Obligations>,
    text: Vec<u8>,
    entries: u64,
    bytes: u64,
}

impl<W: Write> DocumentWriter<W> {
    /// Begins a document and writes its header.
    ///
    /// # Errors
    /// If the sink fails, or the header breaks a *must*.
    pub fn new(sink: W, header: &Header, options: WriteOptions) -> Result<Self, WriteError> {
        let sitemap = options.plain || (header.metadata.is_none() && header.links.is_empty());
        let obligations = if options.unchecked || sitemap {
            // The rules of ResourceSync do not apply to a plain Sitemap (DIA-7).
            None
        } else {
            Some(Obligations::of(header, options.version)?)
        };
        let (form, plain) = (header.form, options.plain);
        let mut writer = Self { sink, form, options, obligations, text: Vec::new(), entries: 0, bytes: 0 };
        let root = writer.root();
        fidelity::check_names(fidelity::header_attributes(header))?;
        if writer.keeps_values() {
            fidelity::check_header(header)?;
        }
        let text = &mut writer.text;
        push(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        if let Some(stylesheet) = &writer.options.stylesheet {
            push(text, "<?xml-stylesheet type=\"text/xsl\" href=\"");
            // Escaped, it cannot end the instruction either.
            push_escaped(text, stylesheet);
            push(text, "\"?>\n");
        }
        push_all(text, ["<", root, " xmlns=\"", SITEMAP]);
        if plain {
            push(text, "\">\n");
        } else {
            push_all(text, ["\" xmlns:rs=\"", RS, "\">\n"]);
        }
        if !plain {
            header.links.iter().for_each(|link| write_link(text, "  ", link));
            header.metadata.iter().for_each(|metadata| write_metadata(text, "  ", metadata));
        }
        writer.flush_text()?;
        Ok(writer)
    }

    /// Writes an entry.
    ///
    /// # Errors
    /// If the sink fails, or the entry breaks a *must*. Nothing of the entry is written then.
    pub fn write_entry(&mut self, entry: &Entry) -> Result<(), WriteError> {
        fidelity::check_names(fidelity::entry_attributes(entry))?;
        if self.keeps_values() {
            fidelity::check_entry(entry)?;
        }
        if let Some(obligations) = &self.obligations {
            obligations.check(entry)?;
        }
        let (opening, closing) = match self.form {
            Form::List => ("  <url>\n    <loc>", "  </url>\n"),
            Form::Index => ("  <sitemap>\n    <loc>", "  </sitemap>\n"),
        };
        let lastmod = match self.options.version {
            SpecVersion::V1_1 => entry.lastmod,
            SpecVersion::V1_0 => entry.metadata.datetime.or(entry.lastmod),
        };
        let text = &mut self.text;
        push(text, opening);
        push_escaped(text, entry.loc.as_str());
        push(text, "</loc>\n");
        write_lastmod(text, lastmod);
        write_changefreq(text, entry.changefreq);
        write_priority(text, entry.priority.as_deref());
        if !self.options.plain {
            write_metadata(text, "    ", &entry.metadata);
            entry.links.iter().for_each(|link| write_link(text, "    ", link));
        }
        push(text, closing);
        self.flush_text()?;
        self.entries += 1;
        if let Some(obligations) = &mut self.obligations {
            obligations.take_in(entry);
        }
        Ok(())
    }

    /// Returns the bytes written so far, without the end of the root.
    pub fn bytes_written(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of entries written so far.
    pub fn entries_written(&self) -> u64 {
        self.entries
    }

    /// Writes the end of the document and returns the sink.
    ///
    /// # Errors
    /// If the sink fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        let root = self.root();
        push_all(&mut self.text, ["</", root, ">\n"]);
        self.flush_text()?;
        self.sink.flush()?;
        Ok(self.sink)
    }

    fn root(&self) -> &'static str {
        match self.form {
            Form::List => "urlset",
            Form::Index => "sitemapindex",
        }
    }

    /// Returns `true` if each value must be read back as it was written. Without extensions there is nothing to
    /// compare.
    fn keeps_values(&self) -> bool {
        !self.options.unchecked && !self.options.plain
    }

    /// Writes the composed text, completely or not at all.
    fn flush_text(&mut self) -> Result<(), WriteError> {
        if let Err(error) = fidelity::check_text(&self.text) {
            self.text.clear();
            return Err(error);
        }
        self.sink.write_all(&self.text)?;
        self.bytes += self.text.len() as u64;
        self.text.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        document::{Link, Metadata},
        value::{Capability, Change, DateTime, MediaType, PackagePath, Relation, Uri},
    };

    #[test]
    fn o464_an_entry_that_is_refused_does_not_count_as_one_before_the_next() {
        let uri = |text: &str| Uri::parse(text).unwrap();
        let mut header = Header::new(Form::List, Capability::ChangeDumpManifest);
        let metadata = header.metadata.get_or_insert_with(Metadata::new);
        metadata.from = Some(DateTime::from_unix_seconds(0));
        metadata.until = Some(DateTime::from_unix_seconds(9));
        header.links.push(Link::new(Relation::Up, uri("http://x/capabilitylist.xml")));
        let mut writer = DocumentWriter::new(Vec::new(), &header, WriteOptions::new()).unwrap();
        let mut entry = Entry::new(uri("http://x/a"));
        entry.metadata.change = Some(Change::Updated);
        entry.metadata.datetime = Some(DateTime::from_unix_seconds(5));
        entry.metadata.path = Some(PackagePath::new("/a"));
        let mut without_place = entry.clone();
        let mut patch = Link::new(Relation::Patch, uri("http://x/patch"));
        patch.media_type = Some(MediaType::new("application/json-patch+json"));
        without_place.links.push(patch);
        let mut not_xml = entry.clone();
        not_xml.metadata.media_type = Some(MediaType::new("text/\u{1}plain"));
        for (refused, rule) in [(without_place, "CDM-11"), (not_xml, "GEN-24")] {
            assert_eq!(writer.write_entry(&refused).unwrap_err().rule(), Some(rule));
        }
        assert_eq!(writer.entries_written(), 0);
        writer.write_entry(&entry).unwrap();
        assert_eq!(writer.write_entry(&entry).unwrap_err().rule(), Some("CDM-10"));
        assert_eq!(writer.entries_written(), 1);
    }
}

//! The engine: events in, a header and entries out, findings beside them.

use std::io::BufRead;

use quick_xml::{
    Error as XmlError,
    escape::resolve_xml_entity,
    events::{BytesStart, Event},
};

use super::{
    Limits,
    attributes::{Attributes, datetime, for_each_attribute},
    meter::{Meter, Stop},
    names::{Namespace, RS, Scope},
};
use crate::{
    document::{Entry, Form, Header, Link},
    error::{LimitKind, ReadError, SyntaxError, SyntaxErrorKind},
    finding::{Finding, Position, Severity},
    value::{ChangeFreq, Uri, UriError},
};

/// How a document is read.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Where the document was fetched: relative references are resolved against it (NAV-5).
    pub base: Option<Uri>,
    /// How much is taken.
    pub limits: Limits,
}

impl ReadOptions {
    /// Without a base, with the default limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// For a document that was fetched from `base`.
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
    xml: quick_xml::Reader<Meter<R>>,
    buffer: Vec<u8>,
    scope: Scope,
    options: ReadOptions,
    header: Header,
    attributes: Attributes,
    text: String,
    entries: u64,
    next: Next,
    findings: Vec<Finding>,
    findings_dropped: u64,
    at: Position,
}

impl<R> std::fmt::Debug for DocumentReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DocumentReader")
            .field("header", &self.header)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The content of the root.
    Root,
    /// The content of an entry whose start tag was read.
    Entry { empty: bool },
    /// Nothing.
    End,
}

/// An event, reduced to what matters here; names are in the reader's scope.
enum Step {
    Start { kind: Kind, empty: bool },
    End,
    Text,
}

/// What an element is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Root(Form),
    Entry(Form),
    Loc,
    LastMod,
    ChangeFreq,
    Priority,
    Md,
    Ln,
    OtherSitemap,
    Foreign,
}

impl<R: BufRead> DocumentReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// When the bytes do not arrive, are not XML, or are no Sitemap.
    pub fn new(source: R, options: ReadOptions) -> Result<Self, ReadError> {
        let mut xml = quick_xml::Reader::from_reader(Meter::new(source, options.limits));
        xml.config_mut().check_comments = true;
        let mut reader = Self {
            xml,
            buffer: Vec::with_capacity(1024),
            scope: Scope::default(),
            options,
            header: Header { form: Form::List, metadata: None, links: Vec::new() },
            attributes: Attributes::default(),
            text: String::new(),
            entries: 0,
            next: Next::Root,
            findings: Vec::new(),
            findings_dropped: 0,
            at: Position::default(),
        };
        reader.read_root()?;
        reader.next = match reader.next {
            Next::Root => reader.read_root_children()?,
            end => end,
        };
        Ok(reader)
    }

    /// What stands under the root. Extensions that follow the entries (B6) are in it once they were read.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Entries read so far.
    pub fn entries_read(&self) -> u64 {
        self.entries
    }

    /// Bytes read so far, decoded.
    pub fn bytes_read(&self) -> u64 {
        self.xml.buffer_position()
    }

    /// The findings since they were last taken. Beyond the limit they are only counted.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    /// How many findings were not kept.
    pub fn findings_dropped(&self) -> u64 {
        self.findings_dropped
    }

    /// Reads the next entry into a reused value. False at the end of the document, which has then been read whole.
    ///
    /// # Errors
    /// When the bytes do not arrive, are not XML, or are too much. Nothing read before is wrong because of it.
    pub fn read_entry(&mut self, entry: &mut Entry) -> Result<bool, ReadError> {
        loop {
            let Next::Entry { empty } = self.next else { return Ok(false) };
            if self.entries == self.options.limits.entries {
                let (limit, most) = (LimitKind::Entries, self.entries);
                return Err(self.syntax(SyntaxErrorKind::Limit { limit, most }));
            }
            self.entries += 1;
            entry.clear();
            entry.position = self.at;
            let usable = self.read_entry_children(entry, empty)?;
            self.next = self.read_root_children()?;
            if usable {
                return Ok(true);
            }
        }
    }

    /// The entries as owned values.
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

    fn read_root(&mut self) -> Result<(), ReadError> {
        loop {
            match self.step(0)? {
                Some(Step::Start { kind: Kind::Root(form), empty }) => {
                    self.header.form = form;
                    if empty {
                        self.expect_nothing_more()?;
                    }
                    return Ok(());
                }
                Some(Step::Start { .. }) => return Err(self.syntax(SyntaxErrorKind::Truncated)),
                Some(Step::Text) if self.text.trim().is_empty() => {}
                Some(_) => return Err(self.ill_formed("text before the root element")),
                None => return Err(self.syntax(SyntaxErrorKind::Truncated)),
            }
        }
    }

    /// Reads on under the root to the next entry or the end.
    fn read_root_children(&mut self) -> Result<Next, ReadError> {
        loop {
            match self.step(1)? {
                None => return Err(self.syntax(SyntaxErrorKind::Truncated)),
                Some(Step::End) => {
                    self.expect_nothing_more()?;
                    return Ok(Next::End);
                }
                Some(Step::Text) => self.stray_text("GEN-13"),
                Some(Step::Start { kind, empty }) => match kind {
                    Kind::Entry(form) => {
                        if form != self.header.form {
                            let (found, expected) = match form {
                                Form::List => ("url in a sitemapindex", "sitemap elements only"),
                                Form::Index => ("sitemap in a urlset", "url elements only"),
                            };
                            self.report("GEN-13", Severity::Error, found, expected);
                        }
                        return Ok(Next::Entry { empty });
                    }
                    Kind::Md => {
                        self.root_metadata();
                        self.skip(2, empty)?;
                    }
                    Kind::Ln => {
                        if self.entries > 0 {
                            self.report(
                                "GEN-23",
                                Severity::Warning,
                                "rs:ln after an entry",
                                "it before the entries",
                            );
                        }
                        if let Some(link) = self.link() {
                            self.header.links.push(link);
                        }
                        self.skip(2, empty)?;
                    }
                    Kind::Foreign => self.skip(2, empty)?,
                    _ => {
                        self.report(
                            "GEN-13",
                            Severity::Error,
                            "another Sitemap element under the root",
                            "entries only",
                        );
                        self.skip(2, empty)?;
                    }
                },
            }
        }
    }

    fn root_metadata(&mut self) {
        if self.entries > 0 {
            self.report("GEN-23", Severity::Warning, "rs:md after an entry", "it before the entries");
        }
        if self.header.metadata.is_some() {
            self.report("GEN-3", Severity::Error, "a second rs:md under the root", "one; the first is taken");
        } else {
            self.header.metadata = Some(std::mem::take(&mut self.attributes.metadata));
        }
    }

    /// Reads what an entry holds. False where it has no usable `loc`.
    fn read_entry_children(&mut self, entry: &mut Entry, empty: bool) -> Result<bool, ReadError> {
        let (mut loc_seen, mut usable, mut metadata_seen) = (false, false, false);
        while !empty {
            match self.step(2)? {
                None => return Err(self.syntax(SyntaxErrorKind::Truncated)),
                Some(Step::End) => break,
                Some(Step::Text) => self.stray_text("GEN-14"),
                Some(Step::Start { kind, empty }) => match kind {
                    Kind::Md if metadata_seen => {
                        self.report(
                            "GEN-18",
                            Severity::Error,
                            "a second rs:md in an entry",
                            "one; the first is taken",
                        );
                        self.skip(3, empty)?;
                    }
                    Kind::Md => {
                        metadata_seen = true;
                        std::mem::swap(&mut entry.metadata, &mut self.attributes.metadata);
                        self.skip(3, empty)?;
                    }
                    Kind::Ln => {
                        if let Some(link) = self.link() {
                            entry.links.push(link);
                        }
                        self.skip(3, empty)?;
                    }
                    Kind::Loc if loc_seen => {
                        self.report("GEN-14", Severity::Error, "a second loc", "one; the first is taken");
                        self.skip(3, empty)?;
                    }
                    Kind::Loc => {
                        loc_seen = true;
                        self.read_text(empty)?;
                        usable = self.loc(entry);
                    }
                    Kind::LastMod => {
                        let second = entry.lastmod.is_some();
                        self.read_text(empty)?;
                        if second {
                            self.report(
                                "GEN-15",
                                Severity::Error,
                                "a second lastmod",
                                "one; the first is taken",
                            );
                        } else {
                            entry.lastmod = self.lastmod();
                        }
                    }
                    Kind::ChangeFreq => {
                        self.read_text(empty)?;
                        entry.changefreq = self.changefreq();
                    }
                    Kind::Priority => {
                        self.read_text(empty)?;
                        entry.priority = Some(self.text.trim().into());
                    }
                    Kind::Foreign => self.skip(3, empty)?,
                    Kind::Root(_) | Kind::Entry(_) | Kind::OtherSitemap => {
                        self.report(
                            "GEN-14",
                            Severity::Error,
                            "an unknown Sitemap element in an entry",
                            "loc, lastmod, changefreq, priority",
                        );
                        self.skip(3, empty)?;
                    }
                },
            }
        }
        if !loc_seen {
            self.at = entry.position;
            self.report("GEN-14", Severity::Error, "an entry without loc", "one loc with an absolute URI");
        }
        Ok(usable)
    }

    /// Takes the text read as the entry's URI; resolves it where it is relative (NAV-5).
    fn loc(&mut self, entry: &mut Entry) -> bool {
        let text = std::mem::take(&mut self.text);
        let usable = match Uri::check(text.trim()) {
            Ok(()) => {
                entry.loc.set(text.trim());
                true
            }
            Err(error) => match self.mend(text.trim(), &error, "GEN-14") {
                Some(uri) => {
                    entry.loc = uri;
                    true
                }
                None => false,
            },
        };
        self.text = text;
        usable
    }

    /// What a bad reference most likely means: relative to the document, or with characters not escaped.
    fn mend(&mut self, text: &str, error: &UriError, rule: &'static str) -> Option<Uri> {
        if text.is_empty() {
            self.report(rule, Severity::Error, "an empty URI", "an absolute URI");
            return None;
        }
        self.report(rule, Severity::Error, format!("\"{text}\""), format!("an absolute URI ({error})"));
        let escaped = escape_iri(text);
        match (&self.options.base, Uri::parse(&escaped)) {
            (_, Ok(uri)) => Some(uri),
            (Some(base), Err(UriError::Relative)) => base.resolve(&escaped).ok(),
            _ => None,
        }
    }

    fn lastmod(&mut self) -> Option<crate::DateTime> {
        let Self { text, findings, findings_dropped, options, at, .. } = self;
        datetime("lastmod", text.trim(), &mut |rule, severity, found, expected| {
            push(findings, findings_dropped, options, Finding::new(rule, severity, *at, found, expected));
        })
    }

    fn changefreq(&mut self) -> Option<ChangeFreq> {
        let value = ChangeFreq::parse(self.text.trim());
        if value.is_none() {
            let found = format!("changefreq \"{}\"", self.text.trim());
            self.report(
                "GEN-16",
                Severity::Error,
                found,
                "always, hourly, daily, weekly, monthly, yearly or never",
            );
        }
        value
    }

    /// The link whose attributes were read; none without `rel` and a usable `href` (GEN-20).
    fn link(&mut self) -> Option<Link> {
        let (Some(rel), Some(href)) = (self.attributes.rel.take(), self.attributes.href.take()) else {
            self.report("GEN-20", Severity::Error, "rs:ln without href or rel", "both");
            return None;
        };
        let href = match Uri::parse(&href) {
            Ok(href) => href,
            Err(error) => self.mend(&href, &error, "NAV-5")?,
        };
        Some(self.attributes.take_link(rel, href))
    }

    /// Text in `self.text` that stands where only elements may.
    fn stray_text(&mut self, rule: &'static str) {
        if !self.text.trim().is_empty() {
            let found = format!("text {:?}", self.text.trim().chars().take(40).collect::<String>());
            self.report(rule, Severity::Error, found, "elements only");
        }
    }

    /// Reads the text of a leaf element into `self.text`; entities and CDATA are part of it.
    fn read_text(&mut self, empty: bool) -> Result<(), ReadError> {
        let mut text = String::new();
        std::mem::swap(&mut text, &mut self.text);
        text.clear();
        let at = self.at;
        while !empty {
            match self.step(3)? {
                None => return Err(self.syntax(SyntaxErrorKind::Truncated)),
                Some(Step::End) => break,
                Some(Step::Text) => text.push_str(&self.text),
                Some(Step::Start { empty, .. }) => {
                    self.report("GEN-14", Severity::Error, "an element within a text element", "text only");
                    self.skip(4, empty)?;
                }
            }
        }
        self.at = at;
        self.text = text;
        Ok(())
    }

    /// Passes over the content of an element at a depth.
    fn skip(&mut self, depth: usize, empty: bool) -> Result<(), ReadError> {
        let mut open = usize::from(!empty);
        while open > 0 {
            match self.step(depth + open - 1)? {
                None => return Err(self.syntax(SyntaxErrorKind::Truncated)),
                Some(Step::Start { empty: false, .. }) => open += 1,
                Some(Step::End) => open -= 1,
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn expect_nothing_more(&mut self) -> Result<(), ReadError> {
        self.next = Next::End;
        loop {
            match self.step(0)? {
                None => return Ok(()),
                Some(Step::Text) if self.text.trim().is_empty() => {}
                Some(_) => return Err(self.ill_formed("content after the root element")),
            }
        }
    }

    /// The next event within an element at `depth`; none at the end of the input.
    ///
    /// Attributes of `rs:md` and `rs:ln` are read here, while the event's bytes are at hand.
    fn step(&mut self, depth: usize) -> Result<Option<Step>, ReadError> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let step = self.step_in(&mut buffer, depth);
        self.buffer = buffer;
        step
    }

    fn step_in(&mut self, buffer: &mut Vec<u8>, depth: usize) -> Result<Option<Step>, ReadError> {
        loop {
            buffer.clear();
            self.xml.get_mut().start_token();
            let offset = self.xml.buffer_position();
            let event = match self.xml.read_event_into(buffer) {
                Ok(event) => event,
                Err(error) => return Err(self.xml_error(error)),
            };
            match event {
                Event::Eof => return Ok(None),
                Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
                Event::DocType(_) => {
                    self.locate(offset);
                    return Err(self.syntax(SyntaxErrorKind::Doctype("a DOCTYPE".into())));
                }
                Event::Text(text) => {
                    self.text.clear();
                    self.text.push_str(&text.xml10_content());
                    if self.text.contains("]]>") {
                        self.locate(offset);
                        return Err(self.ill_formed("\"]]>\" in text"));
                    }
                    return Ok(Some(Step::Text));
                }
                Event::CData(text) => {
                    self.text.clear();
                    self.text.push_str(&text.xml10_content());
                    return Ok(Some(Step::Text));
                }
                Event::GeneralRef(reference) => {
                    self.text.clear();
                    match reference.resolve_char_ref() {
                        Ok(Some(character)) if is_xml_char(character) => self.text.push(character),
                        Ok(Some(_)) | Err(_) => {
                            self.locate(offset);
                            return Err(self.ill_formed("a reference to a character that XML does not allow"));
                        }
                        Ok(None) => match resolve_xml_entity(&reference) {
                            Some(text) => self.text.push_str(text),
                            None => {
                                self.locate(offset);
                                let what = format!("the entity &{};", &*reference);
                                return Err(self.syntax(SyntaxErrorKind::Doctype(what)));
                            }
                        },
                    }
                    return Ok(Some(Step::Text));
                }
                Event::End(_) => {
                    self.scope.leave(depth);
                    return Ok(Some(Step::End));
                }
                Event::Start(start) => return self.start(&start, offset, depth, false).map(Some),
                Event::Empty(start) => return self.start(&start, offset, depth, true).map(Some),
            }
        }
    }

    fn start(
        &mut self,
        start: &BytesStart<'_>,
        offset: u64,
        depth: usize,
        empty: bool,
    ) -> Result<Step, ReadError> {
        self.locate(offset);
        if depth >= self.options.limits.depth {
            let most = self.options.limits.depth as u64;
            return Err(self.syntax(SyntaxErrorKind::Limit { limit: LimitKind::Depth, most }));
        }
        let declares = self.scope.enter(start, depth + 1);
        let (namespace, local) = self.scope.element(start.name().into_inner());
        let kind = kind_of(&namespace, local, depth);
        match kind {
            Kind::Md | Kind::Ln => {
                if let (1 | 2, Namespace::RsVariant(uri)) = (depth, &namespace) {
                    self.report("GEN-2", Severity::Error, format!("the namespace {uri}"), RS);
                }
                let Self { attributes, scope, options, findings, findings_dropped, at, .. } = self;
                let most = options.limits.attributes;
                attributes
                    .read(start, scope, most, &mut |rule, severity, found, expected| {
                        push(
                            findings,
                            findings_dropped,
                            options,
                            Finding::new(rule, severity, *at, found, expected),
                        );
                    })
                    .map_err(|kind| self.syntax(kind))?;
            }
            _ if start.attributes_raw().is_empty() => {}
            _ => self.other_attributes(start, kind)?,
        }
        if depth == 0 {
            self.require_root(kind, &namespace, local)?;
        }
        if empty && declares {
            self.scope.leave(depth + 1);
        }
        Ok(Step::Start { kind, empty })
    }

    /// Attributes of elements that have none in the standard (GEN-22); still they must be XML.
    fn other_attributes(&mut self, start: &BytesStart<'_>, kind: Kind) -> Result<(), ReadError> {
        let mut stray = None;
        for_each_attribute(start, self.options.limits.attributes, |key, _| {
            if !key.starts_with("xmlns") && !key.starts_with("xml:") && matches!(kind, Kind::Entry(_)) {
                stray.get_or_insert_with(|| key.to_owned());
            }
        })
        .map_err(|kind| self.syntax(kind))?;
        if let Some(key) = stray {
            let severity = if key.contains(':') { Severity::Warning } else { Severity::Error };
            self.report("GEN-22", severity, format!("the attribute {key} on an entry"), "none");
        }
        Ok(())
    }

    fn require_root(&self, kind: Kind, namespace: &Namespace, local: &str) -> Result<(), ReadError> {
        if matches!(kind, Kind::Root(_)) {
            return Ok(());
        }
        let rejected = match (namespace.uri(), local) {
            ("http://www.w3.org/2005/Atom", "feed") => Some("The Atom serialization"),
            (_, "resync") => Some("The resync serialization"),
            _ => None,
        };
        if let Some(name) = rejected {
            return Err(self.syntax(SyntaxErrorKind::RejectedSerialization(name)));
        }
        let hint = match local {
            "urlset" | "sitemapindex" => {
                "; its namespace must be http://www.sitemaps.org/schemas/sitemap/0.9"
            }
            "html" => "; this is a web page",
            _ => "",
        };
        let found = match namespace.uri() {
            "" => format!("{local} without a namespace"),
            uri => format!("{local} in {uri}"),
        };
        Err(self.syntax(SyntaxErrorKind::Root { found, hint }))
    }

    fn locate(&mut self, offset: u64) {
        self.at = self.xml.get_mut().position(offset);
    }

    fn report(
        &mut self,
        rule: &'static str,
        severity: Severity,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) {
        let finding = Finding::new(rule, severity, self.at, found, expected);
        push(&mut self.findings, &mut self.findings_dropped, &self.options, finding);
    }

    fn syntax(&self, kind: SyntaxErrorKind) -> ReadError {
        SyntaxError { kind, position: self.at }.into()
    }

    fn ill_formed(&self, what: &str) -> ReadError {
        self.syntax(SyntaxErrorKind::NotWellFormed(what.into()))
    }

    fn xml_error(&mut self, error: XmlError) -> ReadError {
        let offset = self.xml.error_position().max(self.at.offset);
        self.locate(offset);
        match error {
            XmlError::Io(error) => match error.get_ref().and_then(|inner| inner.downcast_ref::<Stop>()) {
                Some(Stop::Limit(limit, most)) => {
                    self.syntax(SyntaxErrorKind::Limit { limit: *limit, most: *most })
                }
                Some(Stop::Control(offset)) => {
                    self.locate(*offset);
                    self.ill_formed("a control character that XML does not allow")
                }
                None => ReadError::Io(std::io::Error::new(error.kind(), error)),
            },
            XmlError::IllFormed(quick_xml::errors::IllFormedError::MissingEndTag(_))
            | XmlError::Syntax(_) => self.syntax(SyntaxErrorKind::Truncated),
            other => self.ill_formed(&other.to_string()),
        }
    }
}

fn push(findings: &mut Vec<Finding>, dropped: &mut u64, options: &ReadOptions, finding: Finding) {
    if findings.len() < options.limits.findings {
        findings.push(finding);
    } else {
        *dropped += 1;
    }
}

fn kind_of(namespace: &Namespace, local: &str, depth: usize) -> Kind {
    match (namespace, local) {
        (Namespace::Sitemap, "urlset") => Kind::Root(Form::List),
        (Namespace::Sitemap, "sitemapindex") => Kind::Root(Form::Index),
        _ if depth == 0 => Kind::Foreign,
        (Namespace::Sitemap, "url") => Kind::Entry(Form::List),
        (Namespace::Sitemap, "sitemap") => Kind::Entry(Form::Index),
        (Namespace::Sitemap, "loc") => Kind::Loc,
        (Namespace::Sitemap, "lastmod") => Kind::LastMod,
        (Namespace::Sitemap, "changefreq") => Kind::ChangeFreq,
        (Namespace::Sitemap, "priority") => Kind::Priority,
        (Namespace::Sitemap, _) => Kind::OtherSitemap,
        (namespace, "md") if namespace.is_rs() => Kind::Md,
        (namespace, "ln") if namespace.is_rs() => Kind::Ln,
        _ => Kind::Foreign,
    }
}

fn is_xml_char(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

/// Percent-encodes what a URI must not hold as it is: blanks, controls, non-ASCII, quotes, brackets.
fn escape_iri(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for byte in text.bytes() {
        match byte {
            b'!' | b'#'..=b';' | b'=' | b'?'..=b'[' | b']' | b'_' | b'a'..=b'z' | b'~' => {
                escaped.push(byte.into())
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

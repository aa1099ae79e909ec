//! The way through a response: events of XML in, records out; after damage it goes on at the next record.

use std::ops::Range;

use memchr::{memchr_iter, memmem};
use quick_xml::{
    Reader,
    escape::resolve_predefined_entity,
    events::{BytesRef, BytesStart, Event},
};

use super::{
    Fragment, NotOai, OaiRecord, OaiResponse, ProtocolError, RecordFault,
    namespaces::InScope,
    repair::{is_allowed, repaired},
};

/// The declaration that begins each document.
const DECLARATION: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
/// The element around `about` containers that stand alone.
const AROUND_ABOUT: (&[u8], &[u8]) =
    (b"<record xmlns=\"http://www.openarchives.org/OAI/2.0/\">\n", b"</record>\n");
const BREAKS_OFF: &str = "the response breaks off";

/// A reader of one response.
pub(super) struct Walk<'t> {
    text: &'t str,
    /// The offset at which the reader began.
    base: usize,
    reader: Reader<&'t [u8]>,
    scope: InScope,
    has_root: bool,
    response: OaiResponse,
}

/// Damage that ends a record, or the list.
struct Damage {
    /// The offset of the record; `None` if the damage is outside of records.
    record: Option<usize>,
    what: String,
}

impl From<String> for Damage {
    fn from(what: String) -> Self {
        Self { record: None, what }
    }
}

impl<'t> Walk<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        // Warnings of PHP come before the document.
        let start = memmem::find(text.as_bytes(), b"<OAI-PMH").unwrap_or(0);
        let (scope, response) = (InScope::default(), OaiResponse::default());
        Self { text, base: start, reader: reader(&text[start..]), scope, has_root: false, response }
    }

    /// Reads all of it.
    ///
    /// # Errors
    /// If the root is not that of a response.
    pub(super) fn response(mut self) -> Result<OaiResponse, NotOai> {
        loop {
            match self.part() {
                Ok(true) => {}
                Ok(false) => return Ok(self.response),
                Err(_) if !self.has_root => return Err(self.not_oai()),
                Err(damage) => {
                    let next = self.next_part(damage.record.unwrap_or_else(|| self.position()) + 1);
                    if let Some(start) = damage.record {
                        self.repair(start..next.unwrap_or(self.text.len()), damage.what);
                    }
                    let Some(next) = next else { return Ok(self.response) };
                    (self.base, self.reader) = (next, reader(&self.text[next..]));
                }
            }
        }
    }

    /// Reads the next part; returns `false` at the end.
    fn part(&mut self) -> Result<bool, Damage> {
        let start = self.position();
        match self.event()? {
            Event::Start(tag) => self.element(&tag, start)?,
            Event::Empty(tag) => match local(&tag) {
                "header" => self.response.records.push(header_alone(&tag)),
                "OAI-PMH" => self.has_root = true,
                "error" => self.response.errors.push(protocol_error(&tag, String::new())),
                _ if !self.has_root => return Err(BREAKS_OFF.to_owned().into()),
                _ => {}
            },
            Event::End(tag) if tag.local_name().as_ref() == "OAI-PMH" => {
                self.response.is_whole = true;
                return Ok(false);
            }
            Event::Eof if !self.has_root => return Err(BREAKS_OFF.to_owned().into()),
            Event::Eof => return Ok(false),
            _ => {}
        }
        Ok(true)
    }

    fn element(&mut self, tag: &BytesStart<'_>, start: usize) -> Result<(), Damage> {
        let name = local(tag);
        if !self.has_root && name != "OAI-PMH" {
            return Err(format!("its root is {name}").into());
        }
        match name {
            "OAI-PMH" => {
                self.has_root = true;
                self.scope.enter(tag);
            }
            "ListRecords" | "ListIdentifiers" | "GetRecord" => self.scope.enter(tag),
            "ListMetadataFormats" | "ListSets" => {}
            "responseDate" => self.response.date = self.words()?,
            "error" => {
                let message = self.words()?;
                self.response.errors.push(protocol_error(tag, message));
            }
            "Identify" => self.identify()?,
            "metadataFormat" => self.format()?,
            "record" => {
                let record = self.record(tag).map_err(|what| Damage { record: Some(start), what })?;
                self.response.records.push(record);
            }
            "header" => {
                let mut record = header_alone(tag);
                self.header(&mut record).map_err(|what| Damage { record: Some(start), what })?;
                self.response.records.push(record);
            }
            "resumptionToken" => self.response.token = Some(self.words()?).filter(|token| !token.is_empty()),
            _ => self.skip()?,
        }
        Ok(())
    }

    fn identify(&mut self) -> Result<(), String> {
        loop {
            match self.event()? {
                Event::Start(tag) if local(&tag) == "description" => self.skip()?,
                Event::Start(tag) => {
                    let text = self.words()?;
                    self.response.identity.push((local(&tag).to_owned(), text));
                }
                Event::End(_) => return Ok(()),
                Event::Eof => return Err(BREAKS_OFF.to_owned()),
                _ => {}
            }
        }
    }

    fn format(&mut self) -> Result<(), String> {
        loop {
            match self.event()? {
                Event::Start(tag) => {
                    let text = self.words()?;
                    if local(&tag) == "metadataPrefix" {
                        self.response.formats.push(text);
                    }
                }
                Event::End(_) => return Ok(()),
                Event::Eof => return Err(BREAKS_OFF.to_owned()),
                _ => {}
            }
        }
    }

    /// Reads a record, of which the start tag was read.
    fn record(&mut self, tag: &BytesStart<'_>) -> Result<OaiRecord, String> {
        let mark = self.scope.mark();
        self.scope.enter(tag);
        let record = self.content();
        self.scope.leave(mark);
        record
    }

    fn content(&mut self) -> Result<OaiRecord, String> {
        let mut record = OaiRecord::default();
        let mut about = Vec::new();
        loop {
            let start = self.position();
            match self.event()? {
                Event::Start(tag) => match local(&tag) {
                    "header" => {
                        record.is_deleted = is_deleted(&tag);
                        self.header(&mut record)?;
                    }
                    "metadata" => record.metadata = self.metadata(&tag)?,
                    "about" => {
                        let (element, fragment) = self.capture(&tag, start)?;
                        fragment.append(element, &self.scope, &mut about)?;
                    }
                    _ => self.skip()?,
                },
                Event::Empty(tag) if local(&tag) == "header" => record.is_deleted = is_deleted(&tag),
                Event::End(_) => break,
                Event::Eof => return Err(BREAKS_OFF.to_owned()),
                _ => {}
            }
        }
        if !about.is_empty() {
            let (before, after) = AROUND_ABOUT;
            record.about = Some([DECLARATION, before, &about, after].concat());
        }
        Ok(record)
    }

    fn header(&mut self, record: &mut OaiRecord) -> Result<(), String> {
        loop {
            match self.event()? {
                Event::Start(tag) => {
                    let text = self.words()?;
                    match local(&tag) {
                        "identifier" => record.identifier = text,
                        "datestamp" => record.datestamp = text,
                        "setSpec" if !text.is_empty() => record.sets.push(text),
                        _ => {}
                    }
                }
                Event::End(_) => return Ok(()),
                Event::Eof => return Err(BREAKS_OFF.to_owned()),
                _ => {}
            }
        }
    }

    /// Reads a metadata element, and returns the first element in it as a document; `None` if it is empty.
    fn metadata(&mut self, tag: &BytesStart<'_>) -> Result<Option<Vec<u8>>, String> {
        let mark = self.scope.mark();
        self.scope.enter(tag);
        let mut document = None;
        loop {
            let start = self.position();
            match self.event()? {
                Event::Start(child) if document.is_none() => {
                    let (element, fragment) = self.capture(&child, start)?;
                    document = Some(self.document(element, &fragment)?);
                }
                Event::Start(_) => self.skip()?,
                Event::Empty(child) if document.is_none() => {
                    let mut fragment = Fragment::default();
                    fragment.open(&child)?;
                    document = Some(self.document(&self.text[start..self.position()], &fragment)?);
                }
                Event::End(_) => break,
                Event::Eof => return Err(BREAKS_OFF.to_owned()),
                _ => {}
            }
        }
        self.scope.leave(mark);
        Ok(document)
    }

    fn document(&self, element: &str, fragment: &Fragment) -> Result<Vec<u8>, String> {
        let mut document = Vec::with_capacity(DECLARATION.len() + element.len() + 256);
        document.extend_from_slice(DECLARATION);
        fragment.append(element, &self.scope, &mut document)?;
        Ok(document)
    }

    /// Reads an element to its end, and returns it as it is written.
    fn capture(&mut self, tag: &BytesStart<'_>, start: usize) -> Result<(&'t str, Fragment), String> {
        let mut fragment = Fragment::default();
        fragment.open(tag)?;
        let mut depth = 1_u32;
        while depth > 0 {
            match self.event()? {
                Event::Start(tag) => {
                    fragment.open(&tag)?;
                    depth += 1;
                }
                Event::Empty(tag) => {
                    fragment.open(&tag)?;
                    fragment.close();
                }
                Event::End(_) => {
                    fragment.close();
                    depth -= 1;
                }
                Event::GeneralRef(reference) => drop(character(&reference)?),
                Event::DocType(_) => return Err("it has a DOCTYPE".to_owned()),
                Event::Eof => return Err(BREAKS_OFF.to_owned()),
                _ => {}
            }
        }
        let element = &self.text[start..self.position()];
        let is_control = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r');
        if element.as_bytes().iter().any(is_control) || element.contains(['\u{fffe}', '\u{ffff}']) {
            return Err("it has a character that XML does not have".to_owned());
        }
        Ok((element, fragment))
    }

    /// Reads an element to its end, and returns its text without the blanks around it.
    fn words(&mut self) -> Result<String, String> {
        let (mut text, mut depth) = (String::new(), 1_u32);
        while depth > 0 {
            match self.event()? {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                Event::Text(part) => text.push_str(&part),
                Event::CData(part) => text.push_str(&part),
                Event::GeneralRef(reference) => text.push_str(&character(&reference)?),
                Event::Eof => return Err(BREAKS_OFF.to_owned()),
                _ => {}
            }
        }
        match text.chars().all(is_allowed) {
            true => Ok(text.trim().to_owned()),
            false => Err("it has a character that XML does not have".to_owned()),
        }
    }

    fn skip(&mut self) -> Result<(), String> {
        let mut depth = 1_u32;
        while depth > 0 {
            match self.event()? {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                Event::Eof => return Err(BREAKS_OFF.to_owned()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads a damaged record again with its usual faults repaired, and keeps it or the fault.
    fn repair(&mut self, at: Range<usize>, what: String) {
        let damaged = &self.text[at];
        let text = repaired(damaged);
        let mut again = Walk {
            text: &text,
            base: 0,
            reader: reader(&text),
            scope: self.scope.clone(),
            has_root: true,
            response: OaiResponse::default(),
        };
        let found = again.part();
        match (found, again.response.records.pop()) {
            (Ok(true), Some(record)) => {
                let what = format!("{what}; the characters in question were replaced");
                self.response.faults.push(RecordFault {
                    record: record.identifier.clone(),
                    what,
                    is_lost: false,
                });
                self.response.records.push(record);
            }
            _ => {
                let record = identifier_in(damaged)
                    .unwrap_or_else(|| format!("record {}", self.response.records.len() + 1));
                let what = format!("cannot be read: {what}");
                self.response.faults.push(RecordFault { record, what, is_lost: true });
            }
        }
    }

    /// Returns the offset of the next record, header or token at or after an offset.
    fn next_part(&self, from: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let after = bytes.get(from..)?;
        memchr_iter(b'<', after).map(|at| from + at).find(|at| {
            let rest = &self.text[at + 1..];
            match element_name(rest) {
                "resumptionToken" => true,
                "record" => rest.split_once('>').is_some_and(|(_, inside)| {
                    inside
                        .trim_start()
                        .strip_prefix('<')
                        .is_some_and(|inside| element_name(inside) == "header")
                }),
                // In a list of identifiers there is nothing around a header.
                "header" => self.is_header_alone(*at),
                _ => false,
            }
        })
    }

    fn is_header_alone(&self, at: usize) -> bool {
        let before = self.text[..at].trim_end();
        let tag = before.rsplit_once('<').map_or("", |(_, tag)| tag);
        element_name(tag) != "record"
    }

    fn not_oai(&self) -> NotOai {
        let start = self.text.trim_start().get(..512).unwrap_or(self.text.trim_start()).to_ascii_lowercase();
        NotOai(match start {
            _ if start.is_empty() => "the response is empty".to_owned(),
            _ if start.contains("<html") || start.contains("<!doctype html") => {
                "the response is a web page, not OAI-PMH".to_owned()
            }
            _ => "the response is not OAI-PMH".to_owned(),
        })
    }

    fn position(&self) -> usize {
        self.base + self.reader.buffer_position() as usize
    }

    fn event(&mut self) -> Result<Event<'t>, String> {
        self.reader.read_event().map_err(|error| error.to_string())
    }
}

fn reader(text: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.check_comments = true;
    // After damage the reader begins in the middle: the ends of what is around it come without their starts.
    config.allow_unmatched_ends = true;
    reader
}

fn local<'a>(tag: &'a BytesStart<'_>) -> &'a str {
    let name = tag.name().into_inner();
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// Returns the name without prefix at the begin of a tag, of which the `<` is gone.
fn element_name(tag: &str) -> &str {
    let end =
        tag.find(|c: char| c.is_ascii_whitespace() || matches!(c, '>' | '/')).unwrap_or(tag.len().min(64));
    let name = tag.get(..end).unwrap_or_default();
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> String {
    let found =
        tag.attributes().with_checks(false).flatten().find(|attribute| attribute.key.as_ref() == name);
    found.map_or(String::new(), |attribute| attribute.value.trim().to_owned())
}

fn is_deleted(tag: &BytesStart<'_>) -> bool {
    attribute(tag, "status").eq_ignore_ascii_case("deleted")
}

fn header_alone(tag: &BytesStart<'_>) -> OaiRecord {
    OaiRecord { is_deleted: is_deleted(tag), ..OaiRecord::default() }
}

fn protocol_error(tag: &BytesStart<'_>, message: String) -> ProtocolError {
    ProtocolError { code: attribute(tag, "code"), message }
}

/// Returns the text of a reference.
fn character(reference: &BytesRef<'_>) -> Result<String, String> {
    let name: &str = reference;
    if let Some(text) = resolve_predefined_entity(name) {
        return Ok(text.to_owned());
    }
    match reference.resolve_char_ref() {
        Ok(Some(character)) if is_allowed(character) => Ok(character.to_string()),
        Ok(None) => Err(format!("the entity {name} is declared nowhere")),
        _ => Err(format!("&{name}; is no character of XML")),
    }
}

/// Returns the text of the first identifier in a damaged record.
fn identifier_in(damaged: &str) -> Option<String> {
    let (_, rest) = damaged.split_once("identifier>")?;
    let identifier = rest.split('<').next()?.trim();
    let is_sane =
        !identifier.is_empty() && identifier.len() <= 1_000 && !identifier.contains(char::is_control);
    is_sane.then(|| identifier.to_owned())
}

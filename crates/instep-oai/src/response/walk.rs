//! Reads a response: events of XML in, records out; after damage it continues with the next record.

use memchr::memmem;
use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

use super::{
    effort::ReadingEffort,
    namespaces::InScope,
    parts::{NotOai, OaiRecord, OaiResponse, RecordFault},
    tags::{BREAKS_OFF, DECLARATION, header_alone, is_deleted, list_size, local, protocol_error, reader},
};

/// The element around `about` containers in a separate document.
const AROUND_ABOUT: (&[u8], &[u8]) =
    (b"<record xmlns=\"http://www.openarchives.org/OAI/2.0/\">\n", b"</record>\n");

/// The most values of one kind that are kept of an element: further ones are ignored.
const MOST_FIELDS: usize = 10_000;

/// The most bytes of the `about` containers of a record, each with the declarations of namespaces that it needs.
const MOST_ABOUT: usize = 64 << 20;

/// A reader of one response.
pub(super) struct ResponseReader<'t> {
    pub(super) text: &'t str,
    /// The offset at which the reader began.
    pub(super) base: usize,
    pub(super) reader: Reader<&'t [u8]>,
    pub(super) scope: InScope,
    pub(super) has_root: bool,
    pub(super) response: OaiResponse,
    pub(super) effort: ReadingEffort,
}

impl OaiResponse {
    /// Reads a response.
    ///
    /// # Errors
    /// If it is no OAI-PMH at all.
    pub(crate) fn parse(text: &str) -> Result<Self, NotOai> {
        ResponseReader::new(text).response()
    }
}

/// Damage that ends a record, or the list.
pub(super) struct Damage {
    /// The offset of the record; `None` if the damage is outside of records.
    record: Option<usize>,
    what: String,
}

impl From<String> for Damage {
    fn from(what: String) -> Self {
        Self { record: None, what }
    }
}

impl<'t> ResponseReader<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        // Some repositories print warnings of PHP before the document.
        let start = memmem::find(text.as_bytes(), b"<OAI-PMH").unwrap_or(0);
        let (scope, response, effort) =
            (InScope::default(), OaiResponse::default(), ReadingEffort::default());
        Self { text, base: start, reader: reader(&text[start..]), scope, has_root: false, response, effort }
    }

    /// Reads all of it. A response in which damage leads to the same bytes again and again counts as truncated.
    ///
    /// # Errors
    /// If the root is not that of a response, or the response has more than fits into memory.
    pub(super) fn response(mut self) -> Result<OaiResponse, NotOai> {
        loop {
            let read = self.part();
            self.effort.count(&self.response)?;
            match read {
                Ok(true) => {}
                Ok(false) => return Ok(self.response),
                Err(_) if !self.has_root => return Err(self.not_oai()),
                Err(damage) => {
                    let again = self.position().saturating_sub(damage.record.unwrap_or(usize::MAX));
                    if !self.effort.allows_again(again, self.text.len()) {
                        return Ok(self.response);
                    }
                    let next = self.next_part(damage.record.unwrap_or_else(|| self.position()) + 1);
                    if let Some(start) = damage.record {
                        self.repair(start..next.unwrap_or(self.text.len()), damage.what);
                    }
                    let Some(next) = next else {
                        // Neither a record nor a token follows the damage, so nothing is missing if the end of the response
                        // arrived.
                        self.response.is_whole = self.text.trim_end().ends_with("OAI-PMH>");
                        return Ok(self.response);
                    };
                    (self.base, self.reader) = (next, reader(&self.text[next..]));
                }
            }
        }
    }

    /// Reads the next part; returns `false` at the end.
    pub(super) fn part(&mut self) -> Result<bool, Damage> {
        let start = self.position();
        match self.event()? {
            Event::Start(tag) => self.element(&tag, start)?,
            Event::Empty(tag) => match local(&tag) {
                "header" => self.response.records.push(header_alone(&tag)),
                "OAI-PMH" => self.has_root = true,
                "ListRecords" | "ListIdentifiers" | "GetRecord" => self.response.has_list = true,
                "resumptionToken" => {
                    (self.response.list_size, self.response.has_end) = (list_size(&tag), true);
                }
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
            "ListRecords" | "ListIdentifiers" | "GetRecord" => {
                self.response.has_list = true;
                self.scope.enter(tag);
            }
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
            "resumptionToken" => {
                self.response.list_size = list_size(tag);
                self.response.token = Some(self.words()?).filter(|token| !token.is_empty());
                self.response.has_end = self.response.token.is_none();
            }
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
                    if self.response.identity.len() < MOST_FIELDS {
                        self.response.identity.push((local(&tag).to_owned(), text));
                    }
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
                    if local(&tag) == "metadataPrefix" && self.response.formats.len() < MOST_FIELDS {
                        self.response.formats.push(text);
                    }
                }
                Event::End(_) => return Ok(()),
                Event::Eof => return Err(BREAKS_OFF.to_owned()),
                _ => {}
            }
        }
    }

    /// Reads a record whose start tag was already read.
    fn record(&mut self, tag: &BytesStart<'_>) -> Result<OaiRecord, String> {
        let mark = self.scope.mark();
        self.scope.enter(tag);
        let record = self.content();
        self.scope.leave(mark);
        record
    }

    fn content(&mut self) -> Result<OaiRecord, String> {
        let (mut record, mut has_more) = (OaiRecord::default(), false);
        let mut about = Vec::new();
        loop {
            let start = self.position();
            match self.event()? {
                Event::Start(tag) => match local(&tag) {
                    "header" => {
                        record.is_deleted = is_deleted(&tag);
                        self.header(&mut record)?;
                    }
                    "metadata" => (record.metadata, has_more) = self.metadata(&tag)?,
                    "about" => {
                        let (element, fragment) = self.capture(&tag, start)?;
                        fragment.append(element, &self.scope, &mut about)?;
                        if about.len() > MOST_ABOUT {
                            return Err(format!(
                                "its about containers have more than {} MiB",
                                MOST_ABOUT >> 20
                            ));
                        }
                    }
                    _ => self.skip()?,
                },
                Event::Empty(tag) if local(&tag) == "header" => record.is_deleted = is_deleted(&tag),
                Event::End(_) => break,
                Event::Eof => return Err(BREAKS_OFF.to_owned()),
                _ => {}
            }
        }
        if has_more && record.metadata.is_some() {
            self.response.faults.push(RecordFault {
                record: record.identifier.clone(),
                identifier: Some(record.identifier.clone()),
                what: "has more than one element in its metadata; the first one was taken".to_owned(),
                is_lost: false,
            });
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
                        "setSpec" if !text.is_empty() && record.sets.len() < MOST_FIELDS => {
                            record.sets.push(text);
                        }
                        _ => {}
                    }
                }
                Event::End(_) => return Ok(()),
                Event::Eof => return Err(BREAKS_OFF.to_owned()),
                _ => {}
            }
        }
    }
}

//! The pieces of XML, checked, and reduced to the steps that documents are made of.

use std::{io::BufRead, ops::Range};

use quick_xml::{
    errors::IllFormedError,
    escape::resolve_xml_entity,
    events::{BytesRef, BytesText},
};

use super::{DocumentReader, element::Element};
use crate::{
    error::{LimitKind, ReadError, SyntaxErrorKind},
    finding::Severity,
    xml::{
        declaration::{is_declaration, is_instruction},
        scan::XmlPiece,
        tag::Tag,
    },
};

/// A piece, reduced to its role in a document. Names are in the reader's scope.
pub(super) enum ReadStep {
    Start { kind: Element, empty: bool },
    End,
    Text,
}

/// The depth of the text in an entry's elements.
const TEXT_DEPTH: usize = 3;

impl<R: BufRead> DocumentReader<R> {
    /// Returns the next step within an element at `depth`; `None` at the end of the input.
    ///
    /// Attributes of `rs:md` and `rs:ln` are read here, while the tag's text is held.
    pub(super) fn step(&mut self, depth: usize) -> Result<Option<ReadStep>, ReadError> {
        loop {
            self.step_start = self.window.offset();
            let (piece, range) = match self.window.next() {
                Ok(Some(found)) => found,
                Ok(None) => {
                    self.locate(self.step_start);
                    return Ok(None);
                }
                Err(stop) => return Err(self.stopped(stop)),
            };
            match piece {
                // Between elements. In a text element blanks may be between two references.
                XmlPiece::Blank if depth < TEXT_DEPTH => {}
                XmlPiece::Blank | XmlPiece::Text => return self.text_piece(range).map(Some),
                XmlPiece::Start => return self.start(range, depth, false).map(Some),
                XmlPiece::Empty => return self.start(range, depth, true).map(Some),
                XmlPiece::End => return self.end(range, depth).map(Some),
                XmlPiece::Reference | XmlPiece::CData if depth == 0 => {
                    self.locate(self.step_start);
                    return Err(self.ill_formed("a reference or CDATA outside of the root element"));
                }
                XmlPiece::Reference => return self.reference(range).map(Some),
                XmlPiece::CData => {
                    let inner = range.start + "<![CDATA[".len()..range.end - "]]>".len();
                    let text = BytesText::from_escaped(&self.window.text()[inner]);
                    keep(&mut self.text, self.in_leaf, &text.xml10_content());
                    return Ok(Some(ReadStep::Text));
                }
                XmlPiece::Comment => self.comment(range)?,
                XmlPiece::Declaration if self.step_start > 0 => {
                    self.locate(self.step_start);
                    self.report(
                        "GEN-24",
                        Severity::Error,
                        "an XML declaration after the start",
                        "it at the very start",
                    );
                }
                XmlPiece::Declaration | XmlPiece::Instruction => self.instruction(piece, range),
                XmlPiece::Doctype => {
                    let named = self.window.text()[range.start + "<!DOCTYPE".len()..].trim_ascii_start();
                    let page = named.get(..4).is_some_and(|name| name.eq_ignore_ascii_case("html"));
                    let found = if page { "a DOCTYPE; this is a web page" } else { "a DOCTYPE" };
                    self.locate(self.step_start);
                    return Err(self.syntax(SyntaxErrorKind::Doctype(found.into())));
                }
            }
        }
    }

    fn text_piece(&mut self, range: Range<usize>) -> Result<ReadStep, ReadError> {
        let text = &self.window.text()[range];
        if !self.in_leaf {
            // Text between elements is reported where it begins (O993).
            self.step_start += (text.len() - text.trim_ascii_start().len()) as u64;
        }
        // A search for two bytes is much faster than one for "]]>" and "\r", and text rarely has either.
        if memchr::memchr2(b'>', b'\r', text.as_bytes()).is_none() {
            keep(&mut self.text, self.in_leaf, text);
            return Ok(ReadStep::Text);
        }
        if text.contains("]]>") {
            self.locate(self.step_start);
            return Err(self.ill_formed("\"]]>\" in text"));
        }
        keep(&mut self.text, self.in_leaf, &BytesText::from_escaped(text).xml10_content());
        Ok(ReadStep::Text)
    }

    fn reference(&mut self, range: Range<usize>) -> Result<ReadStep, ReadError> {
        keep(&mut self.text, self.in_leaf, "");
        let name = &self.window.text()[range.start + 1..range.end - 1];
        if let Err(kind) = resolve_reference(&BytesRef::new(name), &mut self.text) {
            self.locate(self.step_start);
            return Err(self.syntax(kind));
        }
        Ok(ReadStep::Text)
    }

    /// Reports what is written between `<?` and `?>` and is not XML (C40); it has no meaning for a document.
    fn instruction(&mut self, piece: XmlPiece, range: Range<usize>) {
        let text = &self.window.text()[range];
        let (is_right, found, expected) = match piece {
            XmlPiece::Declaration => (
                is_declaration(text),
                "an XML declaration that is not well-formed",
                "a version, then an encoding",
            ),
            _ => (
                is_instruction(text),
                "a processing instruction that is not well-formed",
                "one that begins with a name",
            ),
        };
        if !is_right {
            self.locate(self.step_start);
            self.report("GEN-24", Severity::Error, found, expected);
        }
    }

    fn comment(&mut self, range: Range<usize>) -> Result<(), ReadError> {
        let comment = &self.window.text()[range.start + "<!--".len()..range.end - ">".len()];
        // In a well-formed comment the first two hyphens are those at its end.
        let hyphens = comment.find("--").unwrap_or_default();
        if hyphens + "--".len() < comment.len() {
            self.locate(self.step_start + ("<!--".len() + hyphens) as u64);
            return Err(self.not_well_formed(IllFormedError::DoubleHyphenInComment));
        }
        Ok(())
    }

    fn end(&mut self, range: Range<usize>, depth: usize) -> Result<ReadStep, ReadError> {
        let inner = &self.window.text()[range.start + "</".len()..range.end - ">".len()];
        let name = match inner.trim_ascii_end() {
            "" => inner,
            name => name,
        };
        if let Err(error) = self.open.pop(name) {
            self.locate(self.step_start);
            return Err(self.not_well_formed(error));
        }
        if self.scope.leave(depth) {
            self.elements.clear();
        }
        Ok(ReadStep::End)
    }

    fn start(&mut self, range: Range<usize>, depth: usize, empty: bool) -> Result<ReadStep, ReadError> {
        self.locate(self.step_start);
        if depth >= self.options.limits.depth {
            let most = self.options.limits.depth as u64;
            return Err(self.syntax(SyntaxErrorKind::Limit { limit: LimitKind::Depth, most }));
        }
        let text = self.window.lend();
        let inner = range.start + 1..range.end - if empty { "/>".len() } else { ">".len() };
        let kind = self.element(&Tag::new(&text[inner]), depth, empty);
        self.window.put_back(text);
        kind.map(|kind| ReadStep::Start { kind, empty })
    }

    pub(super) fn locate(&mut self, offset: u64) {
        self.at = self.window.position(offset);
    }
}

/// Appends a piece of a leaf's text; elsewhere a piece replaces the one before.
fn keep(text: &mut String, in_leaf: bool, piece: &str) {
    if !in_leaf {
        text.clear();
    }
    text.push_str(piece);
}

/// Appends the text of a reference. Only characters and the five entities of XML itself are known.
fn resolve_reference(reference: &BytesRef<'_>, text: &mut String) -> Result<(), SyntaxErrorKind> {
    match reference.resolve_char_ref() {
        Ok(Some(character)) if is_xml_char(character) => text.push(character),
        Ok(Some(_)) | Err(_) => {
            let what = "a reference to a character that XML does not allow";
            return Err(SyntaxErrorKind::NotWellFormed(what.into()));
        }
        Ok(None) => match resolve_xml_entity(reference) {
            Some(known) => text.push_str(known),
            None => return Err(SyntaxErrorKind::Doctype(format!("the entity &{};", &**reference))),
        },
    }
    Ok(())
}

fn is_xml_char(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

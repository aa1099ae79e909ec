//! The pieces of XML, checked, and reduced to the steps that documents are made of.

use std::{io::BufRead, ops::Range};

use quick_xml::{
    errors::IllFormedError,
    escape::resolve_xml_entity,
    events::{BytesRef, BytesText},
};

use super::{
    DocumentReader, Next,
    element::{Element, kind_of, stray_namespace},
    push,
};
use crate::{
    error::{LimitKind, ReadError, SyntaxErrorKind},
    finding::{Finding, Severity},
    xml::{
        attributes::Reading,
        names::{Namespace, RS, is_draft},
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

/// Names of elements that are remembered.
const NAMES: usize = 8;

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
                XmlPiece::Declaration | XmlPiece::Instruction => {}
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

    fn element(&mut self, tag: &Tag<'_>, depth: usize, empty: bool) -> Result<Element, ReadError> {
        if !empty {
            self.open.push(tag.name());
        }
        let declares = tag.has_attributes() && self.scope.enter(tag, depth + 1);
        if declares {
            self.elements.clear();
        }
        let kind = self.kind(tag.name(), depth)?;
        match kind {
            Element::Md | Element::Ln => self.read_attributes(tag, kind)?,
            _ if tag.has_attributes() => self.other_attributes(tag, kind)?,
            _ => {}
        }
        if empty && declares {
            self.scope.leave(depth + 1);
            self.elements.clear();
        }
        Ok(kind)
    }

    /// Returns the role of an element, by its name in the scope.
    fn kind(&mut self, name: &str, depth: usize) -> Result<Element, ReadError> {
        if depth > 0
            && let Some((_, kind)) = self.elements.iter().find(|(known, _)| **known == *name)
        {
            return Ok(*kind);
        }
        let (namespace, local) = self.scope.element(name);
        let kind = kind_of(&namespace, local, depth);
        if depth == 0 && self.next != Next::End {
            self.require_root(kind, &namespace, local)?;
        }
        let stray = stray_namespace(kind, &namespace, local);
        let variant = match &*namespace {
            Namespace::RsVariant(uri) => Some(uri.clone()),
            _ => None,
        };
        drop(namespace);
        if kind == Element::Foreign && !self.scope.declares(name) {
            let found = format!("the prefix of {name}, which is not declared");
            self.report("GEN-24", Severity::Error, found, "a declaration of each prefix");
        }
        if let Some(found) = stray {
            self.report("GEN-2", Severity::Error, found, RS);
        }
        match variant {
            Some(uri) if depth <= 2 && matches!(kind, Element::Md | Element::Ln) => {
                self.draft_namespace |= depth == 1 && is_draft(&uri);
                self.report("GEN-2", Severity::Error, format!("the namespace {uri}"), RS);
            }
            // Caches a name only if it produced no finding: a finding must be reported for each occurrence.
            None if depth > 0
                && !matches!(kind, Element::Foreign | Element::OtherSitemap)
                && self.elements.len() < NAMES =>
            {
                self.elements.push((name.into(), kind));
            }
            _ => {}
        }
        Ok(kind)
    }

    fn read_attributes(&mut self, tag: &Tag<'_>, kind: Element) -> Result<(), ReadError> {
        let Self { attributes, scope, options, findings, findings_dropped, at, .. } = self;
        let reading = Reading {
            most: options.limits.attributes,
            on_link: kind == Element::Ln,
            prefixed: options.dialects,
        };
        attributes
            .read(tag, scope, reading, &mut |rule, severity, found, expected| {
                push(findings, findings_dropped, options, Finding::new(rule, severity, *at, found, expected));
            })
            .map_err(|kind| self.syntax(kind))
    }

    /// Checks the attributes of elements that have none in the standard (GEN-22): they must be XML all the same.
    fn other_attributes(&mut self, tag: &Tag<'_>, kind: Element) -> Result<(), ReadError> {
        let mut stray = None;
        tag.for_each_attribute(self.options.limits.attributes, |key, _| {
            if !key.starts_with("xmlns") && !key.starts_with("xml:") && matches!(kind, Element::Entry(_)) {
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

    fn require_root(&self, kind: Element, namespace: &Namespace, local: &str) -> Result<(), ReadError> {
        if matches!(kind, Element::Root(_)) {
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

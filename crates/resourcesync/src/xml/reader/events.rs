//! Events of the XML library, reduced to what matters here; what it lets pass is checked.

use std::io::BufRead;

use quick_xml::{
    Error as XmlError,
    escape::resolve_xml_entity,
    events::{BytesRef, BytesStart, Event},
};

use super::{DocumentReader, Next, push};
use crate::{
    document::Form,
    error::{LimitKind, ReadError, SyntaxError, SyntaxErrorKind},
    finding::{Finding, Severity},
    xml::{
        attributes::{Reading, for_each_attribute},
        meter::Stop,
        names::{Namespace, RS, is_draft},
    },
};

/// An event, reduced to what matters here; names are in the reader's scope.
pub(super) enum Step {
    Start { kind: Kind, empty: bool },
    End,
    Text,
}

/// What an element is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
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

/// How deep the text of an entry's elements stands.
const TEXT_DEPTH: usize = 3;

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_whitespace())
}

impl<R: BufRead> DocumentReader<R> {
    /// The next event within an element at `depth`; none at the end of the input.
    ///
    /// Attributes of `rs:md` and `rs:ln` are read here, while the event's bytes are at hand.
    pub(super) fn step(&mut self, depth: usize) -> Result<Option<Step>, ReadError> {
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
            self.step_start = offset;
            let event = match self.xml.read_event_into(buffer) {
                Ok(event) => event,
                Err(error) => return Err(self.xml_error(error)),
            };
            match event {
                Event::Eof => {
                    self.locate(offset);
                    return Ok(None);
                }
                Event::Decl(_) if offset > 0 => {
                    self.locate(offset);
                    self.report("GEN-24", Severity::Error, "an XML declaration late", "it before all else");
                }
                Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
                Event::DocType(text) => {
                    let page =
                        text.trim_ascii().get(..4).is_some_and(|name| name.eq_ignore_ascii_case("html"));
                    let found = if page { "a DOCTYPE; this is a web page" } else { "a DOCTYPE" };
                    self.locate(offset);
                    return Err(self.syntax(SyntaxErrorKind::Doctype(found.into())));
                }
                // Between elements; in a text element blanks may stand between two references.
                Event::Text(text) if depth < TEXT_DEPTH && is_blank(&text) => {}
                Event::Text(text) => {
                    // Looking for one byte is much cheaper than for three, and text rarely has it.
                    if memchr::memchr(b'>', text.as_bytes()).is_some() && text.contains("]]>") {
                        self.locate(offset);
                        return Err(self.ill_formed("\"]]>\" in text"));
                    }
                    self.keep_text(&text.xml10_content());
                    return Ok(Some(Step::Text));
                }
                Event::CData(text) => {
                    self.keep_text(&text.xml10_content());
                    return Ok(Some(Step::Text));
                }
                Event::GeneralRef(reference) => {
                    self.keep_text("");
                    if let Err(kind) = resolve_reference(&reference, &mut self.text) {
                        self.locate(offset);
                        return Err(self.syntax(kind));
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

    /// A leaf's text comes in pieces; elsewhere each piece stands for itself.
    fn keep_text(&mut self, text: &str) {
        if !self.in_leaf {
            self.text.clear();
        }
        self.text.push_str(text);
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
        if depth == 0 && self.next != Next::End {
            self.require_root(kind, &namespace, local)?;
        }
        let variant = match &*namespace {
            Namespace::RsVariant(uri) if depth <= 2 => Some(uri.clone()),
            _ => None,
        };
        let stray = stray_namespace(kind, &namespace, local);
        if kind == Kind::Foreign && !self.scope.declares(start.name().into_inner()) {
            let found = format!("the prefix of {}, which is not declared", start.name().into_inner());
            self.report("GEN-24", Severity::Error, found, "a declaration of each prefix");
        }
        if let Some(found) = stray {
            self.report("GEN-2", Severity::Error, found, RS);
        }
        match kind {
            Kind::Md | Kind::Ln => {
                if let Some(uri) = variant {
                    self.draft_namespace |= depth == 1 && is_draft(&uri);
                    self.report("GEN-2", Severity::Error, format!("the namespace {uri}"), RS);
                }
                let Self { attributes, scope, options, findings, findings_dropped, at, .. } = self;
                let reading = Reading {
                    most: options.limits.attributes,
                    on_link: kind == Kind::Ln,
                    prefixed: options.dialects,
                };
                attributes
                    .read(start, scope, reading, &mut |rule, severity, found, expected| {
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

    pub(super) fn locate(&mut self, offset: u64) {
        self.at = self.xml.get_mut().position(offset);
    }

    pub(super) fn report(
        &mut self,
        rule: &'static str,
        severity: Severity,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) {
        let finding = Finding::new(rule, severity, self.at, found, expected);
        push(&mut self.findings, &mut self.findings_dropped, &self.options, finding);
    }

    pub(super) fn syntax(&self, kind: SyntaxErrorKind) -> ReadError {
        SyntaxError { kind, position: self.at }.into()
    }

    pub(super) fn ill_formed(&self, what: &str) -> ReadError {
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

/// Appends what a reference stands for. Only characters and the five entities of XML itself are known.
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

/// What is said of an element that is named as one of ResourceSync's and in no namespace of its own (GEN-2).
fn stray_namespace(kind: Kind, namespace: &Namespace, local: &str) -> Option<String> {
    let without = kind == Kind::OtherSitemap || kind == Kind::Foreign && *namespace == Namespace::None;
    (without && matches!(local, "md" | "ln")).then(|| match namespace {
        Namespace::None => format!("{local} without a namespace"),
        namespace => format!("{local} in the namespace {}", namespace.uri()),
    })
}

fn is_xml_char(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

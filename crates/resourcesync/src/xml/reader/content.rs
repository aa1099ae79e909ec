//! The content of the root and of entries: elements to values.

use std::io::BufRead;

use super::{
    DocumentReader, Next,
    events::{Element, Step},
    push,
};
use crate::{
    document::{Entry, Form, Link},
    error::{ReadError, SyntaxErrorKind},
    finding::{Finding, Severity},
    tables::relation_rule,
    value::{ChangeFreq, Relation, Uri, UriError},
    xml::attributes::datetime,
};

const FIRST_TAKEN: &str = "one; the first is taken";
/// The Sitemap protocol asks for shorter URIs (GEN-14).
const LONGEST_LOC: usize = 2_048;

/// The elements of an entry that were seen so far.
#[derive(Default)]
struct Seen {
    loc: u32,
    lastmod: u32,
    changefreq: u32,
    metadata: u32,
    rank: u8,
    usable: bool,
}

fn once(count: &mut u32) -> bool {
    *count = count.saturating_add(1);
    *count == 1
}

impl<R: BufRead> DocumentReader<R> {
    pub(super) fn read_root(&mut self) -> Result<(), ReadError> {
        loop {
            match self.step(0)? {
                Some(Step::Start { kind: Element::Root(form), empty }) => {
                    self.header.form = form;
                    self.header.places.root = self.at;
                    if empty {
                        self.expect_nothing_more()?;
                    }
                    return Ok(());
                }
                Some(Step::Start { .. }) => return Err(self.syntax(SyntaxErrorKind::Truncated)),
                Some(Step::Text) if self.text.trim_ascii().is_empty() => {}
                Some(_) => {
                    self.locate(self.step_start);
                    return Err(self.ill_formed("text before the root element"));
                }
                None => return Err(self.syntax(SyntaxErrorKind::Truncated)),
            }
        }
    }

    /// Reads under the root up to the next entry or the end.
    pub(super) fn read_root_children(&mut self) -> Result<Next, ReadError> {
        loop {
            match self.step(1)? {
                None => return Err(self.syntax(SyntaxErrorKind::Truncated)),
                Some(Step::End) => {
                    self.expect_nothing_more()?;
                    return Ok(Next::End);
                }
                Some(Step::Text) => self.stray_text("GEN-13"),
                Some(Step::Start { kind: Element::Entry(form), empty }) => {
                    self.check_entry_form(form);
                    return Ok(Next::Entry { empty });
                }
                Some(Step::Start { kind, empty }) => {
                    match kind {
                        Element::Md => self.root_metadata(),
                        Element::Ln => self.root_link(),
                        Element::Foreign => {}
                        _ => {
                            let found = "another Sitemap element under the root";
                            self.report("GEN-13", Severity::Error, found, "entries only");
                        }
                    }
                    self.skip(2, empty)?;
                }
            }
        }
    }

    fn check_entry_form(&mut self, form: Form) {
        if form == self.header.form {
            return;
        }
        let (found, expected) = match form {
            Form::List => ("url in a sitemapindex", "sitemap elements only"),
            Form::Index => ("sitemap in a urlset", "url elements only"),
        };
        self.report("GEN-13", Severity::Error, found, expected);
    }

    fn root_metadata(&mut self) {
        if self.entries > 0 {
            self.report("GEN-23", Severity::Warning, "rs:md after an entry", "rs:md before the entries");
        }
        if self.header.metadata.is_some() {
            self.report("GEN-3", Severity::Error, "a second rs:md under the root", "one; the first is taken");
        } else {
            self.header.places.metadata = self.at;
            self.header.places.unreadable_time = self.attributes.unreadable_time;
            self.header.metadata = Some(std::mem::take(&mut self.attributes.metadata));
        }
    }

    fn root_link(&mut self) {
        if self.entries > 0 {
            self.report("GEN-23", Severity::Warning, "rs:ln after an entry", "rs:ln before the entries");
        }
        if self.has_room(self.header.links.len())
            && let Some(link) = self.link()
        {
            self.header.links.push(link);
            self.header.places.links.push(self.at);
        }
    }

    /// Reads the content of an entry. Returns `false` if it has no usable `loc`.
    pub(super) fn read_entry_children(&mut self, entry: &mut Entry, empty: bool) -> Result<bool, ReadError> {
        let mut seen = Seen::default();
        let mut open = !empty;
        while open {
            match self.step(2)? {
                None => return Err(self.syntax(SyntaxErrorKind::Truncated)),
                Some(Step::End) => open = false,
                Some(Step::Text) => self.stray_text("GEN-14"),
                Some(Step::Start { kind, empty }) => self.read_entry_child(entry, kind, empty, &mut seen)?,
            }
        }
        if seen.loc == 0 {
            self.at = entry.position;
            self.report("GEN-14", Severity::Error, "an entry without loc", "one loc with an absolute URI");
        }
        Ok(seen.usable)
    }

    fn read_entry_child(
        &mut self,
        entry: &mut Entry,
        kind: Element,
        empty: bool,
        seen: &mut Seen,
    ) -> Result<(), ReadError> {
        self.check_order(kind, seen);
        match kind {
            Element::Md => {
                if once(&mut seen.metadata) {
                    entry.places.metadata = self.at;
                    std::mem::swap(&mut entry.metadata, &mut self.attributes.metadata);
                } else {
                    self.report("GEN-18", Severity::Error, "a second rs:md in an entry", FIRST_TAKEN);
                }
            }
            Element::Ln => {
                if self.has_room(entry.links.len())
                    && let Some(link) = self.link()
                {
                    entry.links.push(link);
                    entry.places.links.push(self.at);
                }
            }
            Element::Loc => {
                self.read_text(empty)?;
                match once(&mut seen.loc) {
                    true => seen.usable = self.loc(entry),
                    false => self.report("GEN-14", Severity::Error, "a second loc", FIRST_TAKEN),
                }
                return Ok(());
            }
            Element::LastMod => {
                self.read_text(empty)?;
                match once(&mut seen.lastmod) {
                    true => entry.lastmod = self.lastmod(),
                    false => self.report("GEN-15", Severity::Error, "a second lastmod", FIRST_TAKEN),
                }
                return Ok(());
            }
            Element::ChangeFreq => {
                self.read_text(empty)?;
                match once(&mut seen.changefreq) {
                    true => entry.changefreq = self.changefreq(),
                    false => self.report("GEN-16", Severity::Error, "a second changefreq", FIRST_TAKEN),
                }
                return Ok(());
            }
            Element::Priority => {
                self.read_text(empty)?;
                entry.priority = Some(self.text.trim_ascii().into());
                return Ok(());
            }
            Element::Foreign => {}
            Element::Root(_) | Element::Entry(_) | Element::OtherSitemap => {
                let found = "an unknown Sitemap element in an entry";
                self.report("GEN-14", Severity::Error, found, "loc, lastmod, changefreq, priority");
            }
        }
        self.skip(3, empty)
    }

    /// Checks the order of an entry's elements, which the Sitemap schema prescribes (GEN-23).
    fn check_order(&mut self, kind: Element, seen: &mut Seen) {
        let (rank, name) = match kind {
            Element::Loc => (1, "loc"),
            Element::LastMod => (2, "lastmod"),
            Element::ChangeFreq => (3, "changefreq"),
            Element::Priority => (4, "priority"),
            Element::Md | Element::Ln | Element::Foreign => (5, ""),
            Element::Root(_) | Element::Entry(_) | Element::OtherSitemap => return,
        };
        if rank < seen.rank {
            let expected = "loc, lastmod, changefreq, priority, then extensions";
            self.report("GEN-23", Severity::Warning, format!("{name} late in an entry"), expected);
        }
        seen.rank = seen.rank.max(rank);
    }

    /// Takes the text as the entry's URI, resolved if it is relative (NAV-5). Returns `false` if it is unusable.
    fn loc(&mut self, entry: &mut Entry) -> bool {
        let text = std::mem::take(&mut self.text);
        let usable = match Uri::check(text.trim_ascii()) {
            Ok(()) => {
                if text.trim_ascii().len() >= LONGEST_LOC {
                    let found = format!("a URI of {} characters", text.trim_ascii().len());
                    self.report("GEN-14", Severity::Error, found, "fewer than 2048");
                }
                entry.loc.set(text.trim_ascii());
                true
            }
            Err(error) => match self.repair(text.trim_ascii(), &error, "GEN-14") {
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

    /// Repairs a bad reference if its meaning is likely: relative to the document, or with characters not escaped.
    fn repair(&mut self, text: &str, error: &UriError, rule: &'static str) -> Option<Uri> {
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
        datetime("lastmod", text.trim_ascii(), &mut |rule, severity, found, expected| {
            push(findings, findings_dropped, options, Finding::new(rule, severity, *at, found, expected));
        })
    }

    fn changefreq(&mut self) -> Option<ChangeFreq> {
        let value = ChangeFreq::parse(self.text.trim_ascii());
        if value.is_none() {
            let found = format!("changefreq \"{}\"", self.text.trim_ascii());
            self.report(
                "GEN-16",
                Severity::Error,
                found,
                "always, hourly, daily, weekly, monthly, yearly or never",
            );
        }
        value
    }

    /// Returns `true` if one more link fits within the limit; else reports that it is ignored (GEN-26).
    fn has_room(&mut self, links: usize) -> bool {
        let has_room = links < self.options.limits.links;
        if !has_room {
            self.report(
                "GEN-26",
                Severity::Warning,
                "more links than the limit",
                "fewer; this one is ignored",
            );
        }
        has_room
    }

    /// Returns the link whose attributes were read; `None` without `rel` or a usable `href` (GEN-20).
    fn link(&mut self) -> Option<Link> {
        let (rel, href) = match (self.attributes.rel.take(), self.attributes.href.take()) {
            (Some(rel), Some(href)) => (rel, href),
            (rel, _) => {
                self.report("GEN-20", Severity::Error, "rs:ln without href or rel", "both");
                if let Some(rule) = rel.as_ref().and_then(relation_rule) {
                    self.report(rule, Severity::Info, "a link without href", "the URI that it leads to");
                }
                return None;
            }
        };
        if let Some(name) = unregistered(&rel) {
            let expected = "a name that IANA registered, or a URI";
            self.report("GEN-21", Severity::Error, format!("rel=\"{name}\""), expected);
        }
        let href = match Uri::parse(&href) {
            Ok(href) => href,
            Err(error) => self.repair(&href, &error, "NAV-5")?,
        };
        Some(self.attributes.take_link(rel, href))
    }

    /// Reports the text in `self.text` if it is not blank: only elements are allowed here.
    fn stray_text(&mut self, rule: &'static str) {
        if !self.text.trim_ascii().is_empty() {
            let found = format!("text {:?}", self.text.trim_ascii().chars().take(40).collect::<String>());
            self.report(rule, Severity::Error, found, "elements only");
        }
    }

    /// Reads the text of a leaf element into `self.text`, entities and CDATA included.
    fn read_text(&mut self, empty: bool) -> Result<(), ReadError> {
        self.text.clear();
        let at = self.at;
        let mut open = !empty;
        while open {
            self.in_leaf = true;
            let step = self.step(3);
            self.in_leaf = false;
            match step? {
                None => return Err(self.syntax(SyntaxErrorKind::Truncated)),
                Some(Step::End) => open = false,
                Some(Step::Text) => {}
                Some(Step::Start { empty, .. }) => {
                    let text = std::mem::take(&mut self.text);
                    self.report("GEN-14", Severity::Error, "an element within a text element", "text only");
                    self.skip(4, empty)?;
                    self.text = text;
                }
            }
        }
        self.at = at;
        Ok(())
    }

    /// Skips the content of an element at a depth.
    pub(super) fn skip(&mut self, depth: usize, empty: bool) -> Result<(), ReadError> {
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

    pub(super) fn expect_nothing_more(&mut self) -> Result<(), ReadError> {
        self.next = Next::End;
        loop {
            match self.step(0)? {
                None => return Ok(()),
                Some(Step::Text) if self.text.trim_ascii().is_empty() => {}
                Some(_) => {
                    self.locate(self.step_start);
                    return Err(self.ill_formed("content after the root element"));
                }
            }
        }
    }
}

/// Percent-encodes the characters that a URI must not have: blanks, controls, non-ASCII, quotes, brackets.
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

/// Returns the relation if it is neither known here, nor registered, nor a URI.
fn unregistered(rel: &Relation) -> Option<&str> {
    match rel {
        Relation::Other(name) if !Relation::is_registered(name) && Uri::check(name).is_err() => Some(name),
        _ => None,
    }
}

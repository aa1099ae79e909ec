//! The content of entries, from element to value.

use std::io::BufRead;

use super::{DocumentReader, Next, element::Element, events::ReadStep, push};
use crate::{
    document::Entry,
    error::{ReadError, SyntaxErrorKind},
    finding::{Finding, Position, Severity},
    value::ChangeFreq,
    xml::{attributes::datetime, names::SITEMAP},
};

/// The depth of the content of an entry's elements.
pub(super) const LEAF_DEPTH: usize = 3;

const FIRST_TAKEN: &str = "one; the first is taken";

/// The elements of an entry that were seen so far.
#[derive(Default)]
struct SeenElements {
    loc: u32,
    lastmod: u32,
    changefreq: u32,
    priority: u32,
    metadata: u32,
    rank: u8,
    usable: bool,
}

/// The elements of Sitemaps that were met in content that is skipped.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SkippedContent {
    has_loc: bool,
    /// `true` if an element has the name of an entry. Without a `loc` it is none: an image may have a `url`.
    has_entry: bool,
}

fn once(count: &mut u32) -> bool {
    *count = count.saturating_add(1);
    *count == 1
}

impl<R: BufRead> DocumentReader<R> {
    /// Reads under the root up to the next entry or the end.
    pub(super) fn read_root_children(&mut self) -> Result<Next, ReadError> {
        loop {
            match self.step(1)? {
                None => return Err(self.syntax(SyntaxErrorKind::Truncated)),
                Some(ReadStep::End) => {
                    self.expect_nothing_more()?;
                    return Ok(Next::End);
                }
                Some(ReadStep::Text) => self.stray_text("GEN-13"),
                Some(ReadStep::Start { kind: Element::Entry(form), empty }) => {
                    self.check_entry_form(form);
                    return Ok(Next::Entry { empty });
                }
                Some(ReadStep::Start { kind, empty }) => self.read_no_entry(kind, empty)?,
            }
        }
    }

    /// Reads an element under the root that is no entry.
    fn read_no_entry(&mut self, kind: Element, empty: bool) -> Result<(), ReadError> {
        match kind {
            Element::Md => self.root_metadata(),
            Element::Ln => self.root_link(),
            Element::Foreign | Element::Media | Element::MediaLoc => {}
            Element::StrayEntry => {
                let found = "an entry in another namespace than that of Sitemaps";
                self.report("GEN-13", Severity::Error, found, SITEMAP);
            }
            _ => {
                let found = "another Sitemap element under the root";
                self.report("GEN-13", Severity::Error, found, "entries only");
            }
        }
        let at = self.at;
        let skipped = self.skip(2, empty)?;
        match kind {
            Element::Foreign | Element::Media | Element::MediaLoc => {}
            Element::Md | Element::Ln => self.count_inner_entry(skipped, at),
            // An entry with a misspelt name, such as `Url`: one that cannot be used is not absent (O801).
            _ => self.entries += u64::from(kind == Element::StrayEntry || skipped.has_loc),
        }
        Ok(())
    }

    /// Counts an entry within another element, of which nothing is read: one that cannot be used is not absent (O823).
    fn count_inner_entry(&mut self, skipped: SkippedContent, at: Position) {
        if skipped.has_entry && skipped.has_loc {
            self.at = at;
            let found = "an entry within another element";
            self.report("GEN-13", Severity::Error, found, "entries directly under the root");
            self.entries += 1;
        }
    }

    /// Reads the content of an entry. Returns `false` if it has no usable `loc`.
    pub(super) fn read_entry_children(&mut self, entry: &mut Entry, empty: bool) -> Result<bool, ReadError> {
        let mut seen = SeenElements::default();
        let mut open = !empty;
        while open {
            match self.step(2)? {
                None => return Err(self.syntax(SyntaxErrorKind::Truncated)),
                Some(ReadStep::End) => open = false,
                Some(ReadStep::Text) => self.stray_text("GEN-14"),
                Some(ReadStep::Start { kind, empty }) => {
                    self.read_entry_child(entry, kind, empty, &mut seen)?
                }
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
        seen: &mut SeenElements,
    ) -> Result<(), ReadError> {
        self.check_order(kind, seen);
        match kind {
            Element::Md => {
                if once(&mut seen.metadata) {
                    entry.places.metadata = self.at;
                    entry.places.unreadable_time = self.attributes.unreadable_time;
                    entry.places.unreadable_length = self.attributes.unreadable_length;
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
            Element::Loc | Element::LastMod | Element::ChangeFreq | Element::Priority => {
                self.read_text(empty, LEAF_DEPTH)?;
                self.take_leaf(entry, kind, seen);
                return Ok(());
            }
            Element::Media => return self.read_media(entry, empty),
            Element::Foreign | Element::MediaLoc | Element::StrayEntry => {}
            Element::Root(_) | Element::Entry(_) | Element::OtherSitemap => {
                let found = "an unknown Sitemap element in an entry";
                self.report("GEN-14", Severity::Error, found, "loc, lastmod, changefreq, priority");
            }
        }
        let at = self.at;
        let mut skipped = self.skip(LEAF_DEPTH, empty)?;
        if !matches!(kind, Element::Foreign | Element::MediaLoc) {
            skipped.has_entry |= matches!(kind, Element::Entry(_));
            self.count_inner_entry(skipped, at);
        }
        Ok(())
    }

    /// Takes the text of `loc`, `lastmod`, `changefreq` or `priority`; of several with one name, the first.
    fn take_leaf(&mut self, entry: &mut Entry, kind: Element, seen: &mut SeenElements) {
        let (rule, severity, second) = match kind {
            Element::Loc if once(&mut seen.loc) => return seen.usable = self.loc(entry),
            Element::LastMod if once(&mut seen.lastmod) => return entry.lastmod = self.lastmod(),
            Element::ChangeFreq if once(&mut seen.changefreq) => return entry.changefreq = self.changefreq(),
            Element::Priority if once(&mut seen.priority) => return entry.priority = Some(self.priority()),
            Element::Loc => ("GEN-14", Severity::Error, "a second loc"),
            Element::LastMod => ("GEN-15", Severity::Error, "a second lastmod"),
            Element::ChangeFreq => ("GEN-16", Severity::Error, "a second changefreq"),
            _ => ("GEN-23", Severity::Warning, "a second priority"),
        };
        self.report(rule, severity, second, FIRST_TAKEN);
    }

    /// Checks the order of an entry's elements, which the Sitemap schema prescribes (GEN-23).
    fn check_order(&mut self, kind: Element, seen: &mut SeenElements) {
        let (rank, name) = match kind {
            Element::Loc => (1, "loc"),
            Element::LastMod => (2, "lastmod"),
            Element::ChangeFreq => (3, "changefreq"),
            Element::Priority => (4, "priority"),
            Element::Md | Element::Ln | Element::Foreign | Element::Media | Element::MediaLoc => (5, ""),
            Element::Root(_) | Element::Entry(_) | Element::StrayEntry | Element::OtherSitemap => return,
        };
        if rank < seen.rank {
            let expected = "loc, lastmod, changefreq, priority, then extensions";
            self.report("GEN-23", Severity::Warning, format!("{name} late in an entry"), expected);
        }
        seen.rank = seen.rank.max(rank);
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

    /// Returns the priority as written. The Sitemap schema has decimal numbers from 0 to 1 (GEN-23).
    fn priority(&mut self) -> Box<str> {
        let text: Box<str> = self.text.trim_ascii().into();
        let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.".contains(&byte));
        if !is_decimal || !text.parse().is_ok_and(|number: f64| (0.0..=1.0).contains(&number)) {
            let found = format!("priority \"{text}\"");
            self.report("GEN-23", Severity::Warning, found, "a decimal number from 0.0 to 1.0");
        }
        text
    }

    /// Reports the text in `self.text` if it is not blank: only elements are allowed here.
    fn stray_text(&mut self, rule: &'static str) {
        let text = self.text.trim_ascii();
        if !text.is_empty() {
            let found = format!("text {:?}", text.chars().take(40).collect::<String>());
            let at = self.at;
            self.locate(self.step_start);
            self.report(rule, Severity::Error, found, "elements only");
            self.at = at;
        }
    }

    /// Reads the text of a leaf element at a depth into `self.text`, entities and CDATA included.
    pub(super) fn read_text(&mut self, empty: bool, depth: usize) -> Result<(), ReadError> {
        self.text.clear();
        let at = self.at;
        let mut open = !empty;
        while open {
            self.in_leaf = true;
            let step = self.step(depth);
            self.in_leaf = false;
            match step? {
                None => return Err(self.syntax(SyntaxErrorKind::Truncated)),
                Some(ReadStep::End) => open = false,
                Some(ReadStep::Text) => {}
                Some(ReadStep::Start { empty, .. }) => {
                    let text = std::mem::take(&mut self.text);
                    self.report("GEN-14", Severity::Error, "an element within a text element", "text only");
                    self.skip(depth + 1, empty)?;
                    self.text = text;
                }
            }
        }
        self.at = at;
        Ok(())
    }

    /// Skips the content of an element at a depth.
    pub(super) fn skip(&mut self, depth: usize, empty: bool) -> Result<SkippedContent, ReadError> {
        let (mut open, mut skipped) = (usize::from(!empty), SkippedContent::default());
        while open > 0 {
            match self.step(depth + open - 1)? {
                None => return Err(self.syntax(SyntaxErrorKind::Truncated)),
                Some(ReadStep::Start { kind, empty }) => {
                    skipped.has_loc |= matches!(kind, Element::Loc);
                    skipped.has_entry |= matches!(kind, Element::Entry(_));
                    open += usize::from(!empty);
                }
                Some(ReadStep::End) => open -= 1,
                Some(ReadStep::Text) => {}
            }
        }
        Ok(skipped)
    }
}

//! Validation of a document, entry by entry.

use std::io::{self, BufRead};

use super::{
    digest_of,
    entry::EntryCheck,
    findings::{Child, Findings, ListedChange, Report},
    header,
    links::LinkCheck,
    options::ValidateOptions,
};
use crate::{
    document::{Entry, Form, Header, Metadata},
    error::ReadError,
    finding::{Finding, Position, Severity},
    tables::{DocumentRules, document_rules, header_rules},
    value::{Capability, Relation, Uri},
    xml::{Decoded, DocumentReader, ReadOptions},
};

/// Validates documents and packages.
#[derive(Clone, Debug, Default)]
pub struct Validator {
    pub(super) options: ValidateOptions,
}

impl Validator {
    /// Creates a validator with options.
    pub fn new(options: ValidateOptions) -> Self {
        Self { options }
    }

    /// Validates a document while reading it, with a few bytes of memory for each entry. A document that cannot be read
    /// is a finding too (GEN-1, GEN-24, GEN-26).
    ///
    /// # Errors
    /// If the bytes cannot be read.
    pub fn document(&self, source: impl BufRead) -> io::Result<Report> {
        self.document_with(source, |_, _| {})
    }

    /// Validates a document and passes each entry to `observe`, which may add findings.
    pub(super) fn document_with(
        &self,
        source: impl BufRead,
        mut observe: impl FnMut(&Entry, &mut Findings),
    ) -> io::Result<Report> {
        let mut check = DocumentCheck::new(&self.options);
        match check.read(source, &mut observe) {
            Ok(()) => {}
            Err(ReadError::Io(error)) if !is_damage(&error) => return Err(error),
            Err(ReadError::Syntax(error)) => {
                let (rule, found) = (error.kind.rule(), error.kind.to_string());
                check.findings.weigh(
                    rule,
                    Severity::Error,
                    error.position,
                    found,
                    "a document that can be read",
                );
            }
            Err(error) => {
                let found =
                    std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
                let start = Position { line: 1, column: 1, offset: 0 };
                check.findings.weigh("GEN-24", Severity::Error, start, found, "a document that can be read");
            }
        }
        Ok(check.report())
    }
}

/// Returns `true` if the bytes arrived, but could not be decompressed.
fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof
    )
}

/// The state of validating a document.
struct DocumentCheck<'o> {
    options: &'o ValidateOptions,
    findings: Findings,
    rules: Option<&'static DocumentRules>,
    header: Option<Header>,
    entries: u64,
    bytes: u64,
    /// `true` if an entry has an extension of ResourceSync.
    extended: bool,
    children: Vec<Child>,
    /// The digest of each `loc`, and the line and column of its entry.
    locs: Vec<(u64, u32, u32)>,
    changes: Vec<ListedChange>,
}

/// Children that are kept of a document: as many as the Sitemap protocol allows entries (GEN-12).
const CHILDREN: usize = 50_000;

impl<'o> DocumentCheck<'o> {
    fn new(options: &'o ValidateOptions) -> Self {
        Self {
            options,
            findings: Findings::new(options),
            rules: None,
            header: None,
            entries: 0,
            bytes: 0,
            extended: false,
            children: Vec::new(),
            locs: Vec::new(),
            changes: Vec::new(),
        }
    }

    fn read(
        &mut self,
        source: impl BufRead,
        observe: &mut dyn FnMut(&Entry, &mut Findings),
    ) -> Result<(), ReadError> {
        let mut options = ReadOptions::new();
        // Without a base a relative link would be dropped, and reported as missing; NAV-5 is the finding for it.
        let base = self.options.base.clone().or_else(|| Uri::parse("file:///").ok());
        (options.base, options.limits, options.dialects) = (base, self.options.limits, false);
        let mut reader = DocumentReader::open(source, options)?;
        let result = self.read_entries(&mut reader, observe);
        self.take_findings(&mut reader);
        self.entries = reader.entries_read();
        self.bytes = reader.bytes_read();
        header::check(
            reader.header(),
            self.rules,
            header::Size { entries: self.entries, bytes: self.bytes, extended: self.extended },
            self.options,
            &mut self.findings,
        );
        self.header = Some(reader.header().clone());
        result
    }

    fn read_entries<R: BufRead>(
        &mut self,
        reader: &mut DocumentReader<Decoded<R>>,
        observe: &mut dyn FnMut(&Entry, &mut Findings),
    ) -> Result<(), ReadError> {
        let root = reader.header().clone();
        self.rules = header_rules(&root);
        let empty = Metadata::new();
        let root_metadata = root.metadata.as_ref().unwrap_or(&empty);
        let mut entry = Entry::default();
        let mut entry_check: Option<EntryCheck<'_>> = None;
        let mut link_check = LinkCheck::default();
        let may_notify = self.may_be_notification();
        while reader.read_entry(&mut entry)? {
            self.take_findings(reader);
            let check = entry_check.get_or_insert_with(|| {
                if may_notify {
                    self.rules = self.rules.or_else(|| notification_rules(&root, &entry));
                }
                EntryCheck::new(self.rules, root_metadata, root.dialect, self.options.version)
            });
            check.check(&entry, &mut self.findings);
            link_check.check(&entry, self.rules, &mut self.findings);
            self.extended |= !entry.links.is_empty() || entry.metadata != empty;
            observe(&entry, &mut self.findings);
            self.remember(&entry);
        }
        if let Some(check) = entry_check {
            check.finish(&mut self.findings);
        }
        link_check.finish(&mut self.findings);
        self.check_duplicates();
        Ok(())
    }

    /// Returns `false` if what led to the document shows that it is no notification.
    fn may_be_notification(&self) -> bool {
        !self.options.below_index && self.options.expected.as_ref().is_none_or(Capability::is_channel)
    }

    fn take_findings<R: BufRead>(&mut self, reader: &mut DocumentReader<R>) {
        if reader.has_findings() {
            let loc = self.rules.map_or("", |rules| rules.loc);
            for finding in reader.take_findings() {
                if finding.rule == "GEN-14" {
                    self.findings.also(loc, finding.position, finding.found.clone(), &finding.expected);
                }
                self.findings.push(finding);
            }
        }
    }

    fn remember(&mut self, entry: &Entry) {
        let Some(rules) = self.rules else { return };
        let place = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let loc = digest_of(&entry.loc);
        self.locs.push((loc, place(entry.position.line), place(entry.position.column)));
        if let (true, Some(change)) = (rules.has_changes(), &entry.metadata.change) {
            let datetime = entry.metadata.datetime;
            self.changes.push(ListedChange { loc, datetime, change: change.clone() });
        }
        let leads =
            rules.form == Form::Index || rules.entry_capability || rules.is_dump() || rules.is_archive();
        if leads && self.children.len() < CHILDREN {
            self.children.push(Child {
                loc: entry.loc.clone(),
                metadata: entry.metadata.clone(),
                contents: entry.link_for(&Relation::Contents).map(|link| link.href.clone()),
                position: entry.position,
            });
        }
    }

    /// Reports URIs with several entries, if entries are not changes (RL-5, RD-5, SD-6).
    fn check_duplicates(&mut self) {
        self.locs.sort_unstable();
        let rule = self.rules.map_or("", |rules| rules.duplicate);
        if rule.is_empty() {
            return;
        }
        for pair in self.locs.windows(2) {
            if let [(first, line, _), (second, again, column)] = pair
                && first == second
            {
                let at = Position { line: u64::from(*again), column: u64::from(*column), offset: 0 };
                let severity = Severity::Warning;
                let found = format!("the loc of line {line} again");
                self.findings.weigh(rule, severity, at, found, "one entry for each URI");
            }
        }
    }

    fn report(self) -> Report {
        let (findings, summary) = self.findings.finish();
        let mut locs: Vec<u64> = self.locs.into_iter().map(|(loc, ..)| loc).collect();
        locs.sort_unstable();
        Report {
            findings,
            summary,
            header: self.header,
            entries: self.entries,
            bytes: self.bytes,
            children: self.children,
            locs,
            changes: self.changes,
        }
    }
}

/// Recognizes a notification without root metadata by its first entry (N8-5).
fn notification_rules(header: &Header, first: &Entry) -> Option<&'static DocumentRules> {
    let bare = header.metadata.is_none() && header.up().is_some() && first.metadata.change.is_some();
    // The bitstreams of a manifest have paths.
    let bare = bare && first.metadata.path.is_none();
    let capability = match first.metadata.capability {
        None => Capability::ChangeNotification,
        Some(_) => Capability::FrameworkNotification,
    };
    bare.then(|| document_rules(header.form, &capability)).flatten()
}

impl Finding {
    /// Returns `true` if the finding is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

#[cfg(test)]
mod tests;

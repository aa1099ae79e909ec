//! A document compared with another that it leads to: the checks at each step of a walk through a Source (§6.2).

use super::findings::{Child, Report};
use crate::{
    document::{Document, Form, Header, Metadata},
    finding::{Finding, Position, Severity},
    tables::header_rules,
    value::{Capability, DateTime, Uri},
};

/// A finding about one of two documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LinkFinding {
    /// `true` if the finding is about the second document, `false` if it is about the one that leads there.
    pub(super) about_target: bool,
    /// The finding.
    pub(super) finding: Finding,
}

struct Pair<'d> {
    parent: &'d Header,
    child: &'d Child,
    target: &'d Header,
    out: Vec<LinkFinding>,
}

/// Compares the statements of a document about another with that document itself (GEN-9, GEN-10, SD-7, CAP-6, NAV-1 to
/// NAV-4, TIME-12, CLI-9, CLI-10, ARC-13).
///
/// `parent_uri` is the URI of the first document, `child` its statement, `target` the report about the second.
pub(super) fn check_link(
    parent_uri: &Uri,
    parent: &Header,
    child: &Child,
    target: &Report,
) -> Vec<LinkFinding> {
    let Some(target) = &target.header else { return Vec::new() };
    let mut pair = Pair { parent, child, target, out: Vec::new() };
    pair.check_capability();
    match (parent.form, parent.capability()) {
        (Form::Index, _) => pair.check_member(parent_uri),
        (_, Some(Capability::CapabilityList | Capability::Description)) => pair.check_up(parent_uri),
        _ => {}
    }
    pair.out
}

impl Pair<'_> {
    /// Adds a finding about the first document.
    fn parent(&mut self, rule: &'static str, severity: Severity, found: String, expected: String) {
        let finding = Finding::new(rule, severity, self.child.position, found, expected);
        self.out.push(LinkFinding { about_target: false, finding });
    }

    /// Adds a finding about the second document.
    fn target(&mut self, rule: &'static str, severity: Severity, found: String, expected: String) {
        let at = self.target.places.metadata_or(self.target.places.root);
        self.out.push(LinkFinding {
            about_target: true,
            finding: Finding::new(rule, severity, at, found, expected),
        });
    }

    fn check_capability(&mut self) {
        let (Some(parent), child) = (self.parent.capability(), self.child.metadata.capability.as_ref())
        else {
            return;
        };
        let archived = archived(parent);
        let (rule, expected) = match (self.parent.form, parent) {
            (Form::Index, capability) => ("GEN-10", capability.clone()),
            (_, Capability::Description) => ("SD-7", Capability::CapabilityList),
            (_, Capability::CapabilityList) => match child {
                Some(Capability::ChangeNotification | Capability::FrameworkNotification) | None => return,
                Some(capability) => ("CAP-6", capability.clone()),
            },
            (_, Capability::FrameworkNotification) if self.target.form == Form::Index => {
                let found = format!("the index {}", self.child.loc);
                return self.parent("FN-3", Severity::Error, found, "lists only".into());
            }
            _ => match archived {
                Some(capability) => ("ARC-13", capability),
                None => return,
            },
        };
        if self.target.capability() == Some(&expected) {
            return;
        }
        let found = format!("{} at {}", self.target.describe(), self.child.loc);
        let expected = format!("capability=\"{expected}\"");
        self.parent(rule, Severity::Error, found.clone(), expected.clone());
        if matches!(rule, "SD-7" | "CAP-6") {
            self.parent("NAV-3", Severity::Info, found, expected);
        }
    }

    fn check_member(&mut self, index_uri: &Uri) {
        if self.target.form == Form::Index {
            let found = format!("the index {} in an index", self.child.loc);
            self.parent("GEN-9", Severity::Error, found, "lists only".into());
        }
        if self.target.up() == Some(index_uri) {
            let found = "rel=\"up\" to the index, as the draft 0.9 had it".to_owned();
            self.target(
                "NAV-2",
                Severity::Error,
                found,
                "rel=\"up\" to the Capability List, rel=\"index\" here".into(),
            );
        }
        match self.target.index() {
            None => {
                if let Some(rules) = header_rules(self.target).filter(|rules| !rules.index.is_empty()) {
                    let found = "no link rel=\"index\" in a member of an index".to_owned();
                    self.target(rules.index, Severity::Warning, found.clone(), index_uri.to_string());
                    self.target("NAV-2", Severity::Warning, found, index_uri.to_string());
                }
            }
            Some(index) if index != index_uri => {
                let found = format!("rel=\"index\" to {index}");
                self.target("NAV-4", Severity::Info, found, index_uri.to_string());
            }
            Some(_) => {}
        }
        let empty = Metadata::new();
        let own = self.target.metadata.as_ref().unwrap_or(&empty).clone();
        self.check_times(&own);
        self.check_closed(&own);
    }

    /// Compares the times that an index states for a member with the member's own (TIME-12).
    fn check_times(&mut self, own: &Metadata) {
        let said = self.child.metadata.clone();
        let differs = |said: Option<DateTime>, own: Option<DateTime>| {
            said.zip(own).is_some_and(|(said, own)| !said.overlaps(&own))
        };
        for (name, said, own) in [
            ("at", said.at, own.at),
            ("completed", said.completed, own.completed),
            ("from", said.from, own.from),
            ("until", said.until, own.until),
        ] {
            if differs(said, own) {
                let found = format!("{name} {} for {}", written(said), self.child.loc);
                self.parent(
                    "TIME-12",
                    Severity::Info,
                    found,
                    format!("{name} {}, as the member states", written(own)),
                );
            }
        }
    }

    /// Checks that the index has `until` for closed members, and none for open ones (CLI-9, CLI-10).
    fn check_closed(&mut self, own: &Metadata) {
        if !matches!(self.parent.capability(), Some(Capability::ChangeList | Capability::ChangeDump)) {
            return;
        }
        let said = self.child.metadata.clone();
        let described = said != Metadata::new();
        match (said.until, own.until) {
            (None, Some(_)) if described => {
                let found = format!("no until for {}, which is closed", self.child.loc);
                self.parent("CLI-9", Severity::Error, found, format!("until {}", written(own.until)));
            }
            (Some(until), None) => {
                let found = format!("until {until} for {}, which is open", self.child.loc);
                self.parent("CLI-10", Severity::Error, found, "no until".into());
            }
            _ => {}
        }
    }

    /// Checks that the second document leads back to the first (NAV-1, NAV-4).
    fn check_up(&mut self, parent_uri: &Uri) {
        let Some(up) = self.target.up().filter(|up| *up != parent_uri).cloned() else { return };
        let found = format!("rel=\"up\" to {up}");
        self.target("NAV-4", Severity::Info, found.clone(), parent_uri.to_string());
        let rule = match self.target.capability() {
            Some(Capability::CapabilityList) => "CAP-3",
            _ => "NAV-1",
        };
        self.target(rule, Severity::Warning, found, format!("{parent_uri}, which leads here"));
    }
}

fn written(time: Option<DateTime>) -> String {
    time.map_or_else(|| "none".into(), |time| time.to_string())
}

/// Returns the capability of the documents that an archive holds (ARC-13).
fn archived(archive: &Capability) -> Option<Capability> {
    Some(match archive {
        Capability::ResourceListArchive => Capability::ResourceList,
        Capability::ResourceDumpArchive => Capability::ResourceDump,
        Capability::ChangeListArchive => Capability::ChangeList,
        Capability::ChangeDumpArchive => Capability::ChangeDump,
        _ => return None,
    })
}

/// Checks the target of `up`: a Capability List for capability documents, a Source Description for a Capability List,
/// never an index (NAV-1, NAV-2, CAP-3).
pub fn check_up_target(document: &Header, target: &Header) -> Option<Finding> {
    let at = document.places.root;
    let list = document.capability() == Some(&Capability::CapabilityList);
    let expected = if list { Capability::Description } else { Capability::CapabilityList };
    if target.form == Form::Index && target.capability() == document.capability() {
        let found = format!("rel=\"up\" to {}, as the draft 0.9 had it", target.describe());
        return Some(Finding::new("NAV-2", Severity::Error, at, found, "the Capability List"));
    }
    if target.capability() == Some(&expected) {
        return None;
    }
    let rule = if list { "CAP-3" } else { "NAV-1" };
    let found = format!("rel=\"up\" to {}", target.describe());
    Some(Finding::new(rule, Severity::Error, at, found, format!("capability=\"{expected}\"")))
}

/// Compares a package's manifest with the copy that `contents` leads to, and with the dump that lists the package (RD-9,
/// RD-10, CD-11, CDM-2, LN-24).
pub fn check_contents(package: &Child, inside: &Document, copy: Option<&Document>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let changes = inside.capability() == Some(&Capability::ChangeDumpManifest);
    let mut add = |rule, severity, found: String, expected: &str| {
        findings.push(Finding::new(rule, severity, package.position, found, expected));
    };
    if let Some(copy) = copy {
        if copy.capability() != inside.capability() {
            let found = format!("contents leads to {}", copy.header().describe());
            add(
                if changes { "CD-11" } else { "RD-9" },
                Severity::Error,
                found,
                "the manifest of the package",
            );
        } else if copy != inside {
            let found = "another manifest than the one in the package".to_owned();
            add(if changes { "CD-11" } else { "RD-10" }, Severity::Error, found, "a copy of it");
        }
    }
    let own = inside.header().metadata.as_ref();
    let outside = own.is_some_and(|own| {
        let early =
            package.metadata.from.zip(own.from).is_some_and(|(dump, own)| own.end() <= dump.instant());
        let late =
            package.metadata.until.zip(own.until).is_some_and(|(dump, own)| dump.end() <= own.instant());
        early || late
    });
    if changes && outside {
        add(
            "CDM-2",
            Severity::Info,
            "a manifest beyond the interval of its package".into(),
            "an interval within it",
        );
    }
    findings
}

/// Checks a document that was read twice: a closed one never changes (TIME-6).
pub fn check_closed(before: &Header, unchanged: bool) -> Option<Finding> {
    let at = before.places.metadata_or(before.places.root);
    let broken = before.is_closed() && !unchanged;
    broken
        .then(|| Finding::of("TIME-6", at, "a closed document that changed", "a document that never changes"))
}

/// Checks a page that links to a Capability List: one of the lists below it must have the page (DISC-2, DISC-3).
pub fn check_page(page: &Uri, in_head: bool, lists: &[&Report]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let at = Position::default();
    if !in_head {
        let found = "a link rel=\"resourcesync\" outside of head";
        findings.push(Finding::new("DISC-2", Severity::Warning, at, found, "a link in head"));
    }
    if !lists.iter().any(|list| list.lists(page)) {
        let found = format!("{page} in none of the lists it leads to");
        findings.push(Finding::new(
            "DISC-3",
            Severity::Error,
            at,
            found,
            "a Capability List that covers the page",
        ));
    }
    findings
}

/// Checks that a Source has its mandatory document (SD-1).
pub fn check_source(has_description: bool) -> Option<Finding> {
    let found = "no Source Description";
    (!has_description).then(|| Finding::of("SD-1", Position::default(), found, "a Source Description"))
}

/// Checks the document at a URI that discovery found (DISC-7, SD-2, DISC-1). `None` for `target` means that there is none.
pub fn check_discovered(found_by_link: bool, target: Option<&Header>) -> Option<Finding> {
    let at = Position::default();
    let Some(target) = target else {
        let found = "nothing at /.well-known/resourcesync";
        return (!found_by_link)
            .then(|| Finding::new("SD-2", Severity::Warning, at, found, "the Source Description"));
    };
    let (rule, expected) = match found_by_link {
        true => ("DISC-7", Capability::CapabilityList),
        false => ("DISC-1", Capability::Description),
    };
    let right = target.capability() == Some(&expected);
    (!right).then(|| Finding::of(rule, at, target.describe(), format!("capability=\"{expected}\"")))
}

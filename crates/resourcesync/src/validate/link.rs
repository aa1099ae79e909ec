//! A document compared with another that it leads to: the checks at each step of a walk through a Source (§6.2).

use super::findings::{Child, Report};
use crate::{
    document::{Form, Header, Metadata},
    finding::{Finding, Severity},
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
/// NAV-4, TIME-12, CLI-9, CLI-10, ARC-9, ARC-10, ARC-13, RDM-3, CDM-3).
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
        (_, Some(archive)) if archived(archive).is_some() => {
            pair.check_same_up(parent_uri);
            pair.check_times();
            pair.check_archived();
        }
        (_, Some(Capability::ResourceDump | Capability::ChangeDump)) => pair.check_manifest_up(),
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

    /// Returns the metadata of the second document; empty if it has none.
    fn own_metadata(&self) -> Metadata {
        self.target.metadata.clone().unwrap_or_default()
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
        self.check_same_up(index_uri);
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
        self.check_times();
        self.check_closed();
    }

    /// Checks that a document has the `up` link of the index or archive that lists it: both belong to one Capability List.
    fn check_same_up(&mut self, parent_uri: &Uri) {
        let (Some(up), Some(above)) = (self.target.up(), self.parent.up()) else { return };
        if up != above && up != parent_uri {
            let (found, expected) =
                (format!("rel=\"up\" to {up}"), format!("{above}, as the document that lists it"));
            self.target("NAV-1", Severity::Warning, found, expected);
        }
    }

    /// Checks that the manifest of a package leads to the Capability List, as the dump that lists it does (RDM-3, CDM-3).
    fn check_manifest_up(&mut self) {
        let rule = match self.target.capability() {
            Some(Capability::ResourceDumpManifest) => "RDM-3",
            Some(Capability::ChangeDumpManifest) => "CDM-3",
            _ => return,
        };
        let (Some(up), Some(above)) = (self.target.up(), self.parent.up()) else { return };
        if up != above {
            let (found, expected) = (format!("rel=\"up\" to {up}"), format!("{above}, as its dump"));
            self.target(rule, Severity::Warning, found, expected);
        }
    }

    /// Compares the times that an index or archive states for a document with the document's own (TIME-12).
    fn check_times(&mut self) {
        let (said, own) = (self.child.metadata.clone(), self.own_metadata());
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
                    format!("{name} {}, as it states itself", written(own)),
                );
            }
        }
    }

    /// Checks that the index has `until` for closed members, and none for open ones (CLI-9, CLI-10).
    fn check_closed(&mut self) {
        let own = self.own_metadata();
        let of_changes =
            matches!(self.parent.capability(), Some(Capability::ChangeList | Capability::ChangeDump));
        // Of a document of another kind, GEN-10 is the finding.
        if !of_changes || self.target.capability() != self.parent.capability() {
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

    /// Checks that a change document is closed if it is in an archive (ARC-9, ARC-10). Its start shows that it is the
    /// document that the archive means: others may have its name.
    fn check_archived(&mut self) {
        let (rule, archived) = match self.parent.capability() {
            Some(Capability::ChangeListArchive) => ("ARC-9", Capability::ChangeList),
            Some(Capability::ChangeDumpArchive) => ("ARC-10", Capability::ChangeDump),
            _ => return,
        };
        let (said, own) = (self.child.metadata.from, self.own_metadata());
        let is_it = self.target.capability() == Some(&archived)
            && said.zip(own.from).is_some_and(|(said, own)| said.overlaps(&own));
        if is_it && own.until.is_none() {
            let found = format!("the open document {}", self.child.loc);
            self.parent(rule, Severity::Error, found, "closed documents only".into());
        }
    }

    /// Checks that the second document leads back to the first (NAV-1).
    fn check_up(&mut self, parent_uri: &Uri) {
        let Some(up) = self.target.up().filter(|up| *up != parent_uri).cloned() else { return };
        let found = format!("rel=\"up\" to {up}");
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

//! The checks of a walk through a Source that do not concern its links: the beginning, the documents above, pages,
//! packages and their manifests (§6.2).

use super::{
    digest_of,
    findings::{Child, Report},
};
use crate::{
    document::{Document, Form, Header, Metadata},
    finding::{Finding, Position, Severity},
    value::{Capability, Change, Uri},
};

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

impl Child {
    /// Compares a package's manifest with the copy that `contents` leads to, and its times with those that the dump
    /// states for the package (RD-9, RD-10, CD-11, RDM-2, CDM-2, LN-24).
    pub fn check_contents(&self, inside: &Document, copy: Option<&Document>) -> Vec<Finding> {
        let mut findings = Vec::new();
        let changes = inside.capability() == Some(&Capability::ChangeDumpManifest);
        let mut add = |rule, severity, found: String, expected: &str| {
            findings.push(Finding::new(rule, severity, self.position, found, expected));
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
        let (rule, empty) = (if changes { "CDM-2" } else { "RDM-2" }, Metadata::new());
        let own = inside.header().metadata.as_ref().unwrap_or(&empty);
        for (name, said, own) in [
            ("at", self.metadata.at, own.at),
            ("completed", self.metadata.completed, own.completed),
            ("from", self.metadata.from, own.from),
            ("until", self.metadata.until, own.until),
        ] {
            if let Some((said, own)) = said.zip(own)
                && !said.overlaps(&own)
            {
                let found = format!("{name} {said} for {}", self.loc);
                add(rule, Severity::Info, found, &format!("{name} {own}, as its manifest states"));
            }
        }
        findings
    }
}

/// Checks a document that was read twice: a closed one never changes (TIME-6).
pub fn check_closed(before: &Header, unchanged: bool) -> Option<Finding> {
    let at = before.places.metadata_or(before.places.root);
    let broken = before.is_closed() && !unchanged;
    broken
        .then(|| Finding::of("TIME-6", at, "a closed document that changed", "a document that never changes"))
}

/// Checks a page that links to a Capability List: one of the Resource Lists and Change Lists below it must have the page
/// (DISC-2, DISC-3).
pub fn check_page(page: &Uri, in_head: bool, lists: &[&Report]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let at = Position::default();
    if !in_head {
        let found = "a link rel=\"resourcesync\" outside of head";
        findings.push(Finding::new("DISC-2", Severity::Warning, at, found, "a link in head"));
    }
    if !covers(lists, page) {
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

/// Returns `true` if a Resource List has a page, or the last change of it in Change Lists did not delete it: it may have
/// been created since.
fn covers(lists: &[&Report], page: &Uri) -> bool {
    let digest = digest_of(page);
    let changes = lists.iter().flat_map(|list| &list.changes).filter(|change| change.loc == digest);
    let last = changes.max_by_key(|change| change.datetime.map(|time| time.unix_micros()));
    let is_inventory = |list: &&&Report| {
        let capability = list.header.as_ref().and_then(Header::capability);
        capability != Some(&Capability::ChangeList)
    };
    last.is_some_and(|last| last.change != Change::Deleted)
        || lists.iter().filter(is_inventory).any(|list| list.lists(page))
}

/// Checks that a Source has its mandatory document (SD-1).
pub fn check_source(has_description: bool) -> Option<Finding> {
    let found = "no Source Description";
    (!has_description).then(|| Finding::of("SD-1", Position::default(), found, "a Source Description"))
}

/// Checks the document at a URI that discovery found (DISC-7, SD-2, DISC-1). `None` for `target` means that there is
/// none.
pub fn check_discovered(found_by_link: bool, target: Option<&Header>) -> Option<Finding> {
    let at = Position::default();
    let Some(target) = target else {
        let found = "nothing at /.well-known/resourcesync";
        return (!found_by_link)
            .then(|| Finding::new("SD-2", Severity::Warning, at, found, "the Source Description"));
    };
    let (rule, expected) = if found_by_link {
        ("DISC-7", Capability::CapabilityList)
    } else {
        ("DISC-1", Capability::Description)
    };
    let right = target.capability() == Some(&expected);
    (!right).then(|| Finding::of(rule, at, target.describe(), format!("capability=\"{expected}\"")))
}

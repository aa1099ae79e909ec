//! Links of entries to related resources (§14).

use std::collections::BTreeSet;

use super::{digest_of, findings::Findings};
use crate::{
    document::{Entry, Form, Link},
    finding::{Position, Severity},
    tables::{DocumentRules, duplicate_differs},
    value::{Capability, Relation},
};

/// Pairs of resource and description kept to see whether each is linked back; further ones are not compared.
const PAIRS: usize = 100_000;

/// What the links so far have shown.
#[derive(Default)]
pub(super) struct LinkCheck {
    /// Resource, description, and where the link stands.
    described: Vec<(u64, u64, Position)>,
    describing: BTreeSet<(u64, u64)>,
}

impl LinkCheck {
    pub(super) fn check(&mut self, entry: &Entry, rules: Option<&DocumentRules>, out: &mut Findings) {
        if entry.links.is_empty() {
            return;
        }
        for (index, link) in entry.links.iter().enumerate() {
            if is_socket(entry, link) {
                continue;
            }
            let at = entry.places.links.get(index).copied().unwrap_or(entry.position);
            check_relation(entry, link, at, out);
            if let Some(rules) = rules {
                check_place(rules, link, at, out);
            }
            self.remember(entry, link, rules, at);
        }
        check_counts(entry, out);
    }

    /// Links between a resource and its description, to be compared at the end (LN-14).
    fn remember(&mut self, entry: &Entry, link: &Link, rules: Option<&DocumentRules>, at: Position) {
        if !rules.is_some_and(lists_resources) || self.described.len() + self.describing.len() >= PAIRS {
            return;
        }
        match link.rel {
            Relation::DescribedBy => self.described.push((digest_of(&entry.loc), digest_of(&link.href), at)),
            Relation::Describes => {
                self.describing.insert((digest_of(&link.href), digest_of(&entry.loc)));
            }
            _ => {}
        }
    }

    pub(super) fn finish(self, out: &mut Findings) {
        for (resource, description, at) in self.described {
            if !self.describing.contains(&(resource, description)) {
                let found = "rel=\"describedby\" without a link back";
                out.weigh(
                    "LN-14",
                    Severity::Info,
                    at,
                    found,
                    "an entry for the description with rel=\"describes\"",
                );
            }
        }
    }
}

/// Whether entries are resources, so that links to related ones may stand there (LN-1).
fn lists_resources(rules: &DocumentRules) -> bool {
    rules.form == Form::List
        && (rules.is_manifest()
            || matches!(
                rules.capability,
                Capability::ResourceList | Capability::ChangeList | Capability::ChangeNotification
            ))
}

/// Whether this is the WebSocket of a channel: another way to the topic, and no representation that has a type.
fn is_socket(entry: &Entry, link: &Link) -> bool {
    let channels = [Capability::ChangeNotification, Capability::FrameworkNotification];
    let of_channel = entry.metadata.capability.as_ref().is_some_and(|of| channels.contains(of));
    let scheme = link.href.as_str().split(':').next().unwrap_or_default();
    of_channel && link.rel == Relation::Alternate && matches!(scheme, "ws" | "wss")
}

/// What a relation asks of its link, wherever it stands.
fn check_relation(entry: &Entry, link: &Link, at: Position, out: &mut Findings) {
    let md = &entry.metadata;
    match &link.rel {
        Relation::Duplicate => check_duplicate(entry, link, at, out),
        Relation::Alternate => {
            if link.media_type.is_none() {
                out.add("LN-7", at, "rel=\"alternate\" without type", "the media type of the representation");
            }
            if md.length.is_some() || !md.hash.is_empty() {
                let found = "hash or length beside rel=\"alternate\"";
                out.weigh("ATT-21", Severity::Info, at, found, "them on the representation only");
            }
        }
        Relation::Patch => match &link.media_type {
            None => out.add("LN-9", at, "a patch without type", "the media type of the patch"),
            Some(media_type) if !is_patch_type(media_type.essence()) => {
                let found = format!("a patch of type \"{media_type}\"");
                out.weigh("LN-10", Severity::Info, at, found, "a type that says how to patch");
            }
            Some(_) => {}
        },
        Relation::TimeGate if has_attributes(link) => {
            out.add("LN-18", at, "attributes on rel=\"timegate\"", "href and rel only");
        }
        Relation::Archives => {
            out.weigh("ARC-4", Severity::Warning, at, "rel=\"archives\" on an entry", "it under the root");
        }
        Relation::Describes if entry.link_for(&Relation::Profile).is_none() => {
            out.weigh("LN-15", Severity::Info, at, "a description without rel=\"profile\"", "its format");
        }
        _ => {}
    }
    if let Some(path) = link.path.as_ref().filter(|path| !path.is_as_specified()) {
        out.add(
            "ATT-17",
            at,
            format!("path=\"{path}\""),
            "a path from the package's root, with a leading slash",
        );
    }
}

fn check_duplicate(entry: &Entry, link: &Link, at: Position, out: &mut Findings) {
    if duplicate_differs(&entry.metadata, link) {
        let found = "a duplicate with another hash, length or type";
        out.weigh("LN-4", Severity::Error, at, found, "a copy of the same representation");
    } else if !link.hash.is_empty() || link.length.is_some() || link.media_type.is_some() {
        let found = "hash, length or type repeated on a duplicate";
        out.weigh("LN-4", Severity::Info, at, found, "them on the entry only");
    }
}

/// Where a relation may stand.
fn check_place(rules: &DocumentRules, link: &Link, at: Position, out: &mut Findings) {
    let found = || format!("rel=\"{}\"", link.rel);
    match &link.rel {
        Relation::Contents if rules.is_dump() => {}
        Relation::Contents => {
            out.weigh("LN-24", Severity::Warning, at, found(), "it on packages of a dump only");
        }
        Relation::Patch => {
            let in_changes = matches!(
                rules.capability,
                Capability::ChangeList
                    | Capability::ChangeDump
                    | Capability::ChangeDumpManifest
                    | Capability::ChangeNotification
            );
            if !in_changes {
                out.add("LN-11", at, found(), "patches in Change Lists and Change Dumps only");
            }
            if rules.capability == Capability::ChangeDumpManifest && link.path.is_none() {
                out.add("CDM-11", at, "a patch without path", "where the patch lies in the package");
            }
        }
        Relation::DescribedBy | Relation::Hub | Relation::Index | Relation::Up | Relation::Archives => {}
        _ if !lists_resources(rules) => {
            out.weigh("LN-1", Severity::Info, at, found(), "it on resources of lists and manifests");
        }
        _ => {}
    }
    if link.path.is_some() && !rules.is_manifest() {
        out.add("ATT-16", at, "path on a link", "it in manifests only");
    }
}

/// Relations that an entry has once.
fn check_counts(entry: &Entry, out: &mut Findings) {
    for (rel, rule) in [(Relation::Canonical, "LN-8"), (Relation::Memento, "LN-16"), (Relation::Via, "LN-22")]
    {
        if entry.links_for(&rel).nth(1).is_some() {
            let found = format!("several links rel=\"{rel}\"");
            out.weigh(rule, Severity::Warning, entry.position, found, "one");
        }
    }
}

fn has_attributes(link: &Link) -> bool {
    link.pri.is_some()
        || link.modified.is_some()
        || link.length.is_some()
        || link.media_type.is_some()
        || link.encoding.is_some()
        || link.path.is_some()
        || !link.hash.is_empty()
}

/// Types that say how the previous version becomes this one; the examples' own spelling among them (AMB-A16).
fn is_patch_type(essence: &str) -> bool {
    [
        "application/json-patch",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/patch-ops-error+xml",
        "application/xml-patch+xml",
        "application/vcdiff",
    ]
    .contains(&essence)
}

//! Validation of the links of entries to related resources (§14).

use std::collections::BTreeSet;

use super::{digest_of, findings::Findings};
use crate::{
    document::{Entry, Form, Link},
    finding::{Position, Severity},
    patch::PatchFormat,
    tables::{DocumentRules, duplicate_differs},
    value::{Capability, Relation},
};

/// Pairs of resource and description that are kept to check for links back; further ones are not compared.
const PAIRS: usize = 100_000;

/// The state of validating links.
#[derive(Default)]
pub(super) struct LinkCheck {
    /// Resource, description, and the place of the link.
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

    /// Keeps links between a resource and its description, which are compared at the end (LN-14).
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

/// Returns `true` if entries are resources, so that they may have links to related ones (LN-1).
fn lists_resources(rules: &DocumentRules) -> bool {
    rules.form == Form::List
        && (rules.is_manifest()
            || matches!(
                rules.capability,
                Capability::ResourceList | Capability::ChangeList | Capability::ChangeNotification
            ))
}

/// Returns `true` for the WebSocket of a channel: it is another way to the topic, not a representation with a type.
fn is_socket(entry: &Entry, link: &Link) -> bool {
    let channels = [Capability::ChangeNotification, Capability::FrameworkNotification];
    let of_channel = entry.metadata.capability.as_ref().is_some_and(|of| channels.contains(of));
    let scheme = link.href.as_str().split(':').next().unwrap_or_default();
    of_channel && link.rel == Relation::Alternate && matches!(scheme, "ws" | "wss")
}

/// Checks a link by the rules of its relation.
fn check_relation(entry: &Entry, link: &Link, at: Position, out: &mut Findings) {
    let md = &entry.metadata;
    match &link.rel {
        Relation::Duplicate => check_duplicate(entry, link, at, out),
        Relation::Alternate => {
            if link.media_type.is_none() {
                out.add("LN-7", at, "rel=\"alternate\" without type", "the media type of the representation");
            }
            // A specific representation has its own hash; its `canonical` link shows that it is one.
            let specific = entry.link_for(&Relation::Canonical).is_some();
            if !specific && (md.length.is_some() || !md.hash.is_empty()) {
                let found = "hash or length beside rel=\"alternate\"";
                out.weigh("ATT-21", Severity::Info, at, found, "none; they belong to a representation");
            }
        }
        Relation::Patch => match &link.media_type {
            None => out.add("LN-9", at, "a patch without type", "the media type of the patch"),
            Some(media_type) if PatchFormat::of(media_type).is_none() => {
                let found = format!("a patch of type \"{media_type}\"");
                out.weigh("LN-10", Severity::Info, at, found, "a type that defines how to patch");
            }
            Some(_) => {}
        },
        Relation::TimeGate if has_attributes(link) => {
            out.add("LN-18", at, "attributes on rel=\"timegate\"", "href and rel only");
        }
        Relation::Archives => {
            out.weigh(
                "ARC-4",
                Severity::Warning,
                at,
                "rel=\"archives\" on an entry",
                "a link under the root",
            );
        }
        Relation::Describes if entry.link_for(&Relation::Profile).is_none() => {
            out.weigh(
                "LN-15",
                Severity::Info,
                at,
                "a description without rel=\"profile\"",
                "a link to its format",
            );
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
        out.weigh("LN-4", Severity::Info, at, found, "none; the entry has them");
    }
}

/// Checks that a link of this relation is allowed in the document.
fn check_place(rules: &DocumentRules, link: &Link, at: Position, out: &mut Findings) {
    let found = || format!("rel=\"{}\"", link.rel);
    match &link.rel {
        Relation::Contents if rules.is_dump() => {}
        Relation::Contents => {
            out.weigh("LN-24", Severity::Warning, at, found(), "it only on packages of a dump");
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
                out.add("CDM-11", at, "a patch without path", "the path of the patch in the package");
            }
        }
        Relation::DescribedBy | Relation::Hub | Relation::Index | Relation::Up | Relation::Archives => {}
        _ if !lists_resources(rules) => {
            out.weigh("LN-1", Severity::Info, at, found(), "it only on resources of lists and manifests");
        }
        _ => {}
    }
    if link.path.is_some() && !rules.is_manifest() {
        out.add("ATT-16", at, "path on a link", "none; only manifests have it");
    }
}

/// Checks for relations that an entry may have once.
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

//! Rules that need only one entry: no other entry and no part of the root.

use crate::{
    document::{Entry, Form, Metadata},
    finding::{Position, Severity},
    tables::{DocumentRules, Presence, can_change, untimed_archive},
    validate::findings::Findings,
    value::{Capability, Relation},
};

/// Checks the times of an entry by Appendix A.
pub(super) fn check_times(rules: &DocumentRules, entry: &Entry, at: Position, out: &mut Findings) {
    let md = &entry.metadata;
    let times = [
        (rules.times[2], "at", md.at, "ATT-5", "TIME-1"),
        (rules.times[2], "completed", md.completed, "ATT-5", "TIME-2"),
        (rules.times[3], "from", md.from, "ATT-6", "TIME-1"),
        (rules.times[3], "until", md.until, "ATT-6", "TIME-2"),
    ];
    for (presence, name, time, rule, table) in times {
        if time.is_none() {
            continue;
        }
        let found = format!("{name} on an entry");
        match presence {
            // Appendix A has neither archives nor notifications.
            Presence::Forbidden if rules.is_archive() || rules.capability.is_channel() => {
                out.weigh(rule, Severity::Warning, at, found, "none here, by §7");
            }
            Presence::Forbidden => {
                out.add(table, at, found.clone(), "only the times that Appendix A allows");
                out.also(rule, at, found.clone(), "none here, by §7");
                if rules.is(Form::Index, &Capability::ResourceList) {
                    out.also("RLI-6", at, found, "at and completed only");
                }
            }
            Presence::Unstated => {
                if rules.capability == Capability::CapabilityList {
                    out.add("CAP-14", at, found.clone(), "no time in a Capability List");
                }
                out.weigh(rule, Severity::Warning, at, found, "none here, by §7");
            }
            _ => {}
        }
    }
    let untimed = untimed_archive(rules, md).filter(|_| !entry.places.unreadable_time);
    if let Some((rule, severity, expected)) = untimed {
        out.weigh(rule, severity, at, "an archived document without its time", expected);
    }
}

/// Checks an entry of a Source Description or a Capability List.
pub(super) fn check_upper(rules: &DocumentRules, entry: &Entry, at: Position, out: &mut Findings) {
    let (lastmod, described) = match (&rules.capability, rules.form) {
        (Capability::Description, Form::List) => ("SD-10", "SD-9"),
        (Capability::CapabilityList, Form::List) => ("CAP-11", ""),
        _ => return,
    };
    if entry.lastmod.is_some() {
        out.weigh(lastmod, Severity::Info, entry.position, "lastmod", "none, unless it is always up to date");
    }
    if entry.link_for(&Relation::DescribedBy).is_none() {
        out.add(described, at, "no link rel=\"describedby\"", "one, to a description of the set");
    }
}

/// Checks that an entry of a Capability List offers something for its set (CAP-6). Capability Lists are listed by a Source
/// Description, and manifests are in packages.
pub(super) fn check_offered(capability: &Capability, at: Position, out: &mut Findings) {
    let is_no_offer = matches!(
        capability,
        Capability::Description
            | Capability::CapabilityList
            | Capability::ResourceDumpManifest
            | Capability::ChangeDumpManifest
    );
    if is_no_offer {
        let found = format!("capability=\"{capability}\" in a Capability List");
        out.weigh("CAP-6", Severity::Warning, at, found, "a list, dump, archive or channel of the set");
    }
}

/// Checks the change of a document in a Framework Notification (FN-2).
pub(super) fn check_framework(md: &Metadata, at: Position, out: &mut Findings) {
    let (Some(capability), Some(change)) = (&md.capability, &md.change) else { return };
    if capability.is_channel() {
        out.add("FN-6", at, format!("a notification about the {capability} channel"), "none about channels");
    } else if !can_change(capability, change) {
        out.add(
            "FN-2",
            at,
            format!("a {capability} {change}"),
            "created for lists and dumps, created or updated for change documents",
        );
    }
}

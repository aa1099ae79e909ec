//! Validation of the root: `rs:md`, links, and the document as a whole.

use super::{findings::Findings, options::ValidateOptions};
use crate::{
    dialect::Dialect,
    document::{Form, Header, Metadata},
    finding::{Position, Severity},
    tables::{DocumentRules, Presence, document_rules, header_rules, meant_capability},
    value::{Capability, DateTime, Relation},
};

/// Entries and bytes that the Sitemap protocol allows in one document (GEN-12).
const MOST_ENTRIES: u64 = 50_000;
const MOST_BYTES: u64 = 52_428_800;

/// The properties of the content of a document that rules about the root depend on.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) entries: u64,
    pub(super) bytes: u64,
    /// `true` if an entry has an extension of ResourceSync.
    pub(super) extended: bool,
}

pub(super) fn check(
    header: &Header,
    rules: Option<&DocumentRules>,
    size: Size,
    options: &ValidateOptions,
    out: &mut Findings,
) {
    let root = header.places.root;
    check_size(header, size, out);
    check_dialect(header, out);
    let at = header.places.metadata_or(root);
    match &header.metadata {
        None if rules.is_some() => {
            out.weigh(
                "N8-5",
                Severity::Info,
                root,
                "a notification without rs:md under the root",
                "an rs:md, since 1.0",
            );
        }
        // A Sitemap without any extension is not a ResourceSync document, unless another document declares it to be
        // one.
        None if options.expected.is_none() && header.links.is_empty() && !size.extended => {}
        None => out.add("GEN-3", root, "no rs:md under the root", "one that describes the document"),
        Some(md) => {
            check_capability(header, md, at, options, out);
            if let Some(rules) = header_rules(header) {
                check_times(rules, header, md, at, out);
            }
            check_stray(md, at, out);
        }
    }
    if let Some(rules) = rules {
        check_links(header, rules, options, out);
        check_root(rules, root, out);
    }
}

fn check_size(header: &Header, size: Size, out: &mut Findings) {
    let (root, Size { entries, bytes, .. }) = (header.places.root, size);
    // A document of changes is empty until something changes, an archive until something is superseded.
    let archive = header_rules(header).is_some_and(DocumentRules::is_archive);
    let grows = archive || header.metadata.as_ref().is_some_and(|md| md.from.is_some());
    if entries == 0 && !grows {
        out.weigh("GEN-13", Severity::Info, root, "no entries", "entries, as a rule");
    }
    if entries > MOST_ENTRIES {
        out.add("GEN-12", root, format!("{entries} entries"), "at most 50000");
    }
    if bytes > MOST_BYTES {
        out.add("GEN-12", root, format!("{bytes} bytes"), "at most 52428800");
    }
}

fn check_dialect(header: &Header, out: &mut Findings) {
    let (rule, name) = match header.dialect {
        Dialect::Current => return,
        Dialect::PlainSitemap if header.up().is_some() => return,
        Dialect::PlainSitemap => ("DIA-7", "a plain Sitemap"),
        Dialect::January2013 => ("DIA-2", "the draft of January 2013"),
        Dialect::V0_5 => ("DIA-2", "the draft 0.5 or 0.6"),
        Dialect::V0_9 => ("DIA-3", "the draft 0.9"),
    };
    out.weigh(rule, Severity::Info, header.places.root, format!("a document that looks like {name}"), "1.1");
}

fn check_capability(
    header: &Header,
    md: &Metadata,
    at: Position,
    options: &ValidateOptions,
    out: &mut Findings,
) {
    let Some(capability) = &md.capability else {
        return out.add("GEN-4", at, "no capability", "the capability of the document");
    };
    if let Some(expected) = options.expected.as_ref().filter(|expected| *expected != capability) {
        let rule = document_rules(header.form, expected).map_or("GEN-5", |rules| rules.root);
        out.add(rule, at, format!("capability=\"{capability}\""), &format!("capability=\"{expected}\""));
    }
    let Capability::Other(name) = capability else { return };
    out.weigh(
        "GEN-5",
        Severity::Warning,
        at,
        format!("the unknown capability \"{name}\""),
        "one of the standard's",
    );
    if name.as_ref() == "resourcesync" {
        let found = "the description of the draft 0.9";
        return out.weigh("SD-4", Severity::Warning, at, found, "capability=\"description\"");
    }
    let Some((meant, index)) = meant_capability(name) else { return };
    let found = format!("capability=\"{capability}\"");
    if index {
        let expected =
            format!("capability=\"{meant}\", as its members have; the root element tells an index");
        return out.add("GEN-10", at, found, &expected);
    }
    let rule = if meant.as_str().ends_with("-archive") {
        "ARC-2"
    } else {
        document_rules(header.form, &meant).map_or("GEN-5", |rules| rules.root)
    };
    let severity = if header.dialect == Dialect::Current { Severity::Error } else { Severity::Warning };
    out.weigh(rule, severity, at, found, &format!("capability=\"{meant}\""));
}

/// Checks the times of the root by Appendix A.
fn check_times(rules: &DocumentRules, header: &Header, md: &Metadata, at: Position, out: &mut Findings) {
    let pairs: [(Presence, [RootTime; 2]); 2] = [
        (rules.times[0], [("at", md.at, "ATT-1"), ("completed", md.completed, "ATT-2")]),
        (rules.times[1], [("from", md.from, "ATT-3"), ("until", md.until, "ATT-4")]),
    ];
    for (presence, [start, end]) in pairs {
        let missing = start.1.is_none() && !header.places.unreadable_time;
        if presence == Presence::Mandatory && missing {
            out.add(rules.time, at, format!("no {} on the root", start.0), start.0);
            out.also(
                "TIME-1",
                at,
                format!("no {} on the root", start.0),
                "the times that Appendix A makes mandatory",
            );
        }
        for (time, table) in [(start, "TIME-1"), (end, "TIME-2")] {
            check_root_time(rules, presence, time, table, at, out);
        }
    }
    let is_readable = !header.places.unreadable_time;
    let reports_lone = [0, 1].map(|pair| is_readable && rules.times[pair] != Presence::Forbidden);
    check_pairs(md, reports_lone, at, out);
}

/// The name of a time, its value, and the rule about its place.
type RootTime = (&'static str, Option<DateTime>, &'static str);

fn check_root_time(
    rules: &DocumentRules,
    presence: Presence,
    (name, time, rule): RootTime,
    table: &'static str,
    at: Position,
    out: &mut Findings,
) {
    if time.is_none() {
        return;
    }
    let found = format!("{name} on the root");
    match presence {
        Presence::Forbidden => {
            out.add(table, at, found.clone(), "only the times that Appendix A allows");
            out.also(rule, at, found, "none here, by §7");
        }
        Presence::Unstated if rules.is_archive() => {
            out.weigh("ARC-5", Severity::Info, at, found, "no time on the root of an archive");
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

/// Checks the order of two times, and for an end without its start, on the root and on entries alike. `reports_lone` is
/// `false` for a pair of which a lone end is no finding: another rule forbids it, or its start is there and cannot be
/// read.
pub(super) fn check_pairs(md: &Metadata, reports_lone: [bool; 2], at: Position, out: &mut Findings) {
    let pairs =
        [("at", md.at, "completed", md.completed, "TIME-4"), ("from", md.from, "until", md.until, "TIME-8")];
    for ((first, start, second, end, rule), reports_lone) in pairs.into_iter().zip(reports_lone) {
        match (start, end) {
            (Some(start), Some(end)) if end.end() <= start.instant() => {
                out.add(rule, at, format!("{second} {end}"), &format!("not before {first} {start}"));
            }
            (None, Some(_)) if reports_lone => {
                let found = format!("{second} without {first}");
                out.weigh("TIME-2", Severity::Warning, at, found, "both, or neither");
            }
            _ => {}
        }
    }
}

/// Checks the root for attributes that only entries have (Table 3).
fn check_stray(md: &Metadata, at: Position, out: &mut Findings) {
    let expected = "none; only entries have it";
    for (there, name, rule, severity) in [
        (md.path.is_some(), "path", "ATT-16", Severity::Error),
        (md.change.is_some(), "change", "ATT-8", Severity::Warning),
        (md.datetime.is_some(), "datetime", "ATT-9", Severity::Warning),
        (md.encoding.is_some(), "encoding", "ATT-21", Severity::Warning),
        (!md.hash.is_empty(), "hash", "ATT-21", Severity::Warning),
        (md.length.is_some(), "length", "ATT-21", Severity::Warning),
        (md.media_type.is_some(), "type", "ATT-21", Severity::Warning),
    ] {
        if there {
            out.weigh(rule, severity, at, format!("{name} on the root"), expected);
        }
    }
}

fn check_links(header: &Header, rules: &DocumentRules, options: &ValidateOptions, out: &mut Findings) {
    let root = header.places.root;
    let place = |rel: &Relation| {
        let index = header.links.iter().position(|link| link.rel == *rel)?;
        Some(header.places.links.get(index).copied().unwrap_or(root))
    };
    if place(&Relation::Up).is_none() && !rules.up.is_empty() {
        out.add(rules.up, root, "no link rel=\"up\"", "one, to the document that leads here");
    }
    for (rel, rule) in [(Relation::Up, "NAV-1"), (Relation::Index, "NAV-2")] {
        let places = header.links.iter().zip(&header.places.links).filter(|(link, _)| link.rel == rel);
        for (_, at) in places.skip(1) {
            let found = format!("another link rel=\"{rel}\"");
            out.weigh(rule, Severity::Warning, *at, found, "one; readers follow the first");
        }
    }
    let describes = match (&rules.capability, rules.form) {
        (Capability::Description, Form::List) => "SD-5",
        (Capability::CapabilityList, Form::List) => "CAP-4",
        _ => "",
    };
    if !describes.is_empty() && place(&Relation::DescribedBy).is_none() {
        out.add(describes, root, "no link rel=\"describedby\"", "one, to a description");
    }
    if let (Some(Capability::Description), Some(at)) = (header.capability(), place(&Relation::Up)) {
        out.weigh(
            "SD-12",
            Severity::Warning,
            at,
            "rel=\"up\" in a Source Description",
            "none; it is the top document",
        );
    }
    if options.below_index && !rules.index.is_empty() && place(&Relation::Index).is_none() {
        out.add(rules.index, root, "no link rel=\"index\" in a member of an index", "one, to the index");
    }
    for (link, at) in header.links.iter().zip(&header.places.links) {
        if link.pri.is_some() || link.modified.is_some() || link.path.is_some() || !link.hash.is_empty() {
            let found = format!("attributes on the root's link rel=\"{}\"", link.rel);
            out.weigh("ATT-19", Severity::Info, *at, found, "href and rel only");
        }
    }
}

/// Checks the root element, if the capability allows only one (GEN-9).
fn check_root(rules: &DocumentRules, root: Position, out: &mut Findings) {
    if rules.form == Form::List {
        return;
    }
    let (found, expected) = ("the root sitemapindex", "urlset");
    match &rules.capability {
        Capability::CapabilityList => {
            out.add("CAP-12", root, found, expected);
            out.weigh("CAP-1", Severity::Warning, root, found, expected);
        }
        Capability::ResourceDumpManifest | Capability::ChangeDumpManifest => {
            out.add(rules.root, root, found, expected)
        }
        Capability::ChangeNotification | Capability::FrameworkNotification => {
            out.add("CN-7", root, found, expected);
            out.also("N8-6", root, found, expected);
        }
        _ => {}
    }
}

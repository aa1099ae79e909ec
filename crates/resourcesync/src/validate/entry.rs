//! Validation of entries: one at a time, and in their order.

mod kinds;
mod single;

use std::collections::BTreeSet;

use self::single::{check_framework, check_offered, check_times, check_upper};
use super::{findings::Findings, header::check_pairs};
use crate::{
    dialect::Dialect,
    document::{Entry, Form, Metadata},
    finding::{Position, Severity},
    tables::{DocumentRules, Presence, has_channel_scheme},
    value::{Capability, Change, DateTime, MediaType},
    xml::SpecVersion,
};

/// The state of validating entries.
pub(super) struct EntryCheck<'h> {
    rules: Option<&'static DocumentRules>,
    root: &'h Metadata,
    dialect: Dialect,
    version: SpecVersion,
    last_time: Option<DateTime>,
    last_interval: Option<(Option<DateTime>, Option<DateTime>)>,
    with_datetime: u64,
    without_datetime: u64,
    first_without: Position,
    capabilities: BTreeSet<Capability>,
    paths: BTreeSet<u64>,
    media_type: Option<MediaType>,
}

impl<'h> EntryCheck<'h> {
    pub(super) fn new(
        rules: Option<&'static DocumentRules>,
        root: &'h Metadata,
        dialect: Dialect,
        version: SpecVersion,
    ) -> Self {
        Self {
            rules,
            root,
            dialect,
            version,
            last_time: None,
            last_interval: None,
            with_datetime: 0,
            without_datetime: 0,
            first_without: Position::default(),
            capabilities: BTreeSet::new(),
            paths: BTreeSet::new(),
            media_type: None,
        }
    }

    pub(super) fn check(&mut self, entry: &Entry, out: &mut Findings) {
        let at = entry.places.metadata_or(entry.position);
        let md = &entry.metadata;
        let is_readable = !entry.places.unreadable_time;
        let is_barred =
            |pair: usize| self.rules.is_some_and(|rules| rules.times[pair] == Presence::Forbidden);
        check_pairs(md, [2, 3].map(|pair| is_readable && !is_barred(pair)), at, out);
        let Some(rules) = self.rules else { return };
        check_times(rules, entry, at, out);
        self.check_change(rules, entry, at, out);
        self.check_path(rules, md, at, out);
        self.check_order(rules, entry, at, out);
        if rules.entry_capability || md.capability.is_some() {
            self.check_capability(rules, entry, at, out);
        }
        match (&rules.capability, rules.form) {
            (Capability::Description | Capability::CapabilityList, _) => check_upper(rules, entry, at, out),
            (Capability::ResourceList | Capability::ResourceDumpManifest, Form::List) => {
                self.check_snapshot(rules, entry, at, out);
            }
            (Capability::ResourceDump | Capability::ChangeDump, Form::List) => {
                self.check_package(rules, entry, at, out);
            }
            (_, Form::Index) => self.check_member(rules, entry, at, out),
            (Capability::ChangeListArchive, Form::List) => self.check_seam("ARC-15", md, at, out),
            _ => {}
        }
        if rules.is_manifest() && md.media_type.is_none() && md.change != Some(Change::Deleted) {
            out.add(rules.media_type, at, "no type", "the media type of the bitstream");
        }
    }

    fn check_change(&mut self, rules: &DocumentRules, entry: &Entry, at: Position, out: &mut Findings) {
        let md = &entry.metadata;
        if !rules.has_changes() {
            if let Some(change) = &md.change {
                let found = format!("change=\"{change}\"");
                out.weigh(
                    "ATT-8",
                    Severity::Warning,
                    at,
                    found,
                    "none; only Change Lists and Change Dump Manifests have it",
                );
            }
            if md.datetime.is_some() {
                out.weigh(
                    "ATT-9",
                    Severity::Warning,
                    at,
                    "datetime",
                    "none; only Change Lists and Change Dump Manifests have it",
                );
            }
            return;
        }
        if md.change.is_none() {
            out.add(rules.change, at, "no change", "created, updated or deleted");
        }
        if md.change == Some(Change::Deleted)
            && (md.length.is_some() || !md.hash.is_empty() || md.media_type.is_some())
        {
            out.add("CL-14", at, "hash, length or type of a deleted resource", "none of them");
        }
        self.check_datetime(entry, at, out);
        if rules.capability == Capability::FrameworkNotification {
            check_framework(md, at, out);
        }
    }

    fn check_datetime(&mut self, entry: &Entry, at: Position, out: &mut Findings) {
        match entry.metadata.datetime {
            Some(datetime) => {
                self.with_datetime += 1;
                let early = self.root.from.is_some_and(|from| datetime.end() <= from.instant());
                let late = self.root.until.is_some_and(|until| until.end() <= datetime.instant());
                if early || late {
                    let found = format!("datetime {datetime}");
                    out.add("ATT-10", at, found, "a time from the root's from to its until");
                }
                if self.version == SpecVersion::V1_0 {
                    out.weigh("DIA-9", Severity::Info, at, "datetime", "none; 1.0 does not have it");
                }
            }
            // It is there, and wrong.
            None if entry.places.unreadable_time => {}
            None => {
                self.without_datetime += 1;
                if self.without_datetime == 1 {
                    self.first_without = at;
                }
            }
        }
        if self.version == SpecVersion::V1_0 && entry.lastmod.is_none() {
            out.weigh(
                "DIA-9",
                Severity::Error,
                entry.position,
                "a change without lastmod",
                "a lastmod; 1.0 requires it",
            );
        }
    }

    fn check_path(&mut self, rules: &DocumentRules, md: &Metadata, at: Position, out: &mut Findings) {
        let Some(path) = &md.path else {
            if !rules.path.is_empty() && md.change != Some(Change::Deleted) {
                out.add(rules.path, at, "no path", "the path of the bitstream in the package");
            }
            return;
        };
        if !rules.is_manifest() {
            out.add("ATT-16", at, format!("path=\"{path}\""), "none; only manifests have it");
            if rules.is(Form::List, &Capability::ChangeList) {
                out.also("CL-9", at, format!("path=\"{path}\""), "none in a Change List");
            }
        }
        if !path.is_as_specified() {
            out.add(
                "ATT-17",
                at,
                format!("path=\"{path}\""),
                "a path from the package's root, with a leading slash",
            );
        }
        if md.change == Some(Change::Deleted) {
            out.weigh("CDM-7", Severity::Warning, at, "the path of a deleted resource", "none");
        }
        let unique = rules.is(Form::List, &Capability::ChangeDumpManifest) && !self.dialect.repeats_paths();
        // Paths that are written differently may name one member.
        let member = path.member().unwrap_or(path.as_str());
        if unique && !self.paths.insert(super::digest_of(&member)) {
            let found = format!("path=\"{path}\" again");
            out.weigh("CDM-10", Severity::Error, at, found, "a path of its own for each change");
        }
    }

    /// Checks that entries are in order of time, oldest first.
    fn check_order(&mut self, rules: &DocumentRules, entry: &Entry, at: Position, out: &mut Findings) {
        if rules.order.is_empty() {
            return;
        }
        let md = &entry.metadata;
        let time = match (rules.has_changes(), self.version) {
            (true, SpecVersion::V1_1) => md.datetime,
            (true, SpecVersion::V1_0) => md.datetime.or(entry.lastmod),
            (false, _) => md.from.or(md.at),
        };
        let Some(time) = time else { return };
        if let Some(last) = self.last_time.filter(|last| time.end() <= last.instant()) {
            out.add(rules.order, at, format!("{time} after {last}"), "oldest first");
            if rules.has_changes() {
                out.add("TIME-14", at, format!("datetime {time} after {last}"), "times that do not decrease");
            }
        }
        self.last_time = Some(time);
    }

    fn check_capability(&mut self, rules: &DocumentRules, entry: &Entry, at: Position, out: &mut Findings) {
        let Entry { loc, metadata: md, .. } = entry;
        let source = rules.capability == Capability::Description;
        let Some(capability) = &md.capability else {
            let expected = "the capability of the document that the entry leads to";
            match &rules.capability {
                Capability::CapabilityList => {
                    out.add("CAP-7", at, "no capability", expected);
                    out.also("ATT-7", at, "no capability", expected);
                }
                Capability::Description => {
                    out.weigh("SD-8", Severity::Warning, at, "no capability", expected);
                    out.also("ATT-7", at, "no capability", expected);
                }
                _ => out.add("FN-1", at, "no capability", expected),
            }
            return;
        };
        if !rules.entry_capability {
            let found = format!("capability=\"{capability}\" on an entry");
            out.weigh(
                "ATT-7",
                Severity::Warning,
                at,
                found,
                "none; only Source Descriptions and Capability Lists have it",
            );
        } else if source && *capability != Capability::CapabilityList {
            out.add("SD-8", at, format!("capability=\"{capability}\""), "capability=\"capabilitylist\"");
        }
        if let Capability::Other(name) = capability {
            out.weigh(
                "GEN-5",
                Severity::Warning,
                at,
                format!("the unknown capability \"{name}\""),
                "a known one",
            );
        }
        let listed = rules.is(Form::List, &Capability::CapabilityList);
        if listed {
            check_offered(capability, at, out);
        }
        if listed && !self.capabilities.insert(capability.clone()) {
            let found = format!("capability=\"{capability}\" again");
            out.add("CAP-8", at, found.clone(), "each capability once");
            for rule in ["CN-2", "N8-1"].into_iter().filter(|_| capability.is_channel()) {
                out.also(rule, at, found.clone(), "one channel of each kind");
            }
        }
        if listed && capability.is_channel() && !has_channel_scheme(loc) {
            out.add("CN-3", at, format!("a channel at {loc}"), "an http, https, ws or wss URI");
            out.also("N8-2", at, format!("a channel at {loc}"), "a ws or wss URI");
        }
    }

    /// Reports findings that depend on the whole document.
    pub(super) fn finish(self, out: &mut Findings) {
        if self.without_datetime == 0 || self.version == SpecVersion::V1_0 {
            return;
        }
        let found = match self.with_datetime {
            0 => "changes without datetime".to_owned(),
            _ => format!("{} changes without datetime among others with it", self.without_datetime),
        };
        let rule = match self.rules.map(|rules| &rules.capability) {
            Some(Capability::FrameworkNotification) => return,
            Some(Capability::ChangeNotification) => "CN-22",
            _ => "CL-10",
        };
        out.weigh(rule, Severity::Info, self.first_without, found, "datetime on each change");
    }
}

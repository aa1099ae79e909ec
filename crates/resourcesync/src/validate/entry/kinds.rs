//! Rules for the entries of some kinds of documents.

use super::EntryCheck;
use crate::{
    document::{Entry, Metadata},
    finding::{Position, Severity},
    tables::{DocumentRules, Presence},
    validate::findings::Findings,
    value::{Capability, DateTime},
};

impl EntryCheck<'_> {
    pub(super) fn check_snapshot(
        &mut self,
        rules: &DocumentRules,
        entry: &Entry,
        at: Position,
        out: &mut Findings,
    ) {
        let md = &entry.metadata;
        let end = self.root.completed.or(self.root.at);
        if let (Some(lastmod), Some(end)) = (entry.lastmod, end)
            && end.end() <= lastmod.instant()
        {
            out.weigh(
                "TIME-3",
                Severity::Info,
                entry.position,
                format!("lastmod {lastmod}"),
                "a time before the end of the snapshot",
            );
        }
        let times = [md.at, md.completed, md.from, md.until, md.datetime];
        let stray = md.change.is_some() || md.path.is_some() || md.capability.is_some();
        if rules.capability == Capability::ResourceList && (stray || times.iter().any(Option::is_some)) {
            let found = "change, datetime, path, capability or a time on an entry";
            out.also("RL-7", at, found, "none of them in a Resource List");
        }
    }

    pub(super) fn check_package(
        &mut self,
        rules: &DocumentRules,
        entry: &Entry,
        at: Position,
        out: &mut Findings,
    ) {
        let md = &entry.metadata;
        // A length that cannot be read is wrong, but not missing.
        let lacks_length = md.length.is_none() && !entry.places.unreadable_length;
        if md.media_type.is_none() || lacks_length {
            out.add(rules.media_type, at, "no type or no length", "both, of the package");
        }
        if rules.times[3] == Presence::Recommended {
            if lacks_from(entry) {
                out.weigh("CD-9", Severity::Info, at, "no from", "the interval of the package");
            }
            if is_before(md.from, self.root.from) || is_before(self.root.until, md.until.or(md.from)) {
                let found = "a package outside the interval of its dump";
                out.weigh("CDM-2", Severity::Warning, at, found, "from and until within that of the dump");
            }
        }
        let Some(media_type) = &md.media_type else { return };
        if !media_type.essence().eq_ignore_ascii_case("application/zip") {
            out.weigh("ZIP-1", Severity::Info, at, format!("type=\"{media_type}\""), "application/zip");
        }
        let first = self.media_type.get_or_insert_with(|| media_type.clone());
        if !first.is_same(media_type) {
            let found = format!("type=\"{media_type}\" beside \"{first}\"");
            if rules.capability == Capability::ChangeDump {
                out.add("CD-12", at, found.clone(), "packages of one format");
            }
            out.add("ZIP-2", at, found, "packages of one format");
        }
    }

    pub(super) fn check_member(
        &mut self,
        rules: &DocumentRules,
        entry: &Entry,
        at: Position,
        out: &mut Findings,
    ) {
        let md = &entry.metadata;
        if rules.times[3] == Presence::Recommended {
            if lacks_from(entry) {
                out.add("CLI-8", at, "no from", "the interval of the member");
            }
            self.check_seam("TIME-13", md, at, out);
            if self.root.until.is_some() && md.from.is_some() && md.until.is_none() {
                out.add("TIME-6", at, "an open member of a closed index", "until on each member");
            }
        }
        if rules.times[2] == Presence::Optional
            && (is_before(md.at, self.root.at) || is_before(self.root.completed, md.completed))
        {
            out.add("TIME-11", at, "a member outside the time of the index", "at and completed within it");
        }
    }

    /// Checks that neighbouring intervals join, and that only the last is open.
    pub(super) fn check_seam(&mut self, rule: &'static str, md: &Metadata, at: Position, out: &mut Findings) {
        match (self.last_interval, md.from) {
            (Some((_, Some(until))), Some(from)) if until.end() <= from.instant() => {
                out.add(rule, at, format!("from {from} after until {until}"), "no gap between neighbours");
            }
            (Some((Some(_), None)), _) => {
                out.add(rule, at, "a list after an open one", "only the last one open")
            }
            _ => {}
        }
        self.last_interval = Some((md.from, md.until));
    }
}

/// Returns `true` if an entry has no `from`, not even one that cannot be read.
fn lacks_from(entry: &Entry) -> bool {
    entry.metadata.from.is_none() && !entry.places.unreadable_time
}

/// Returns `true` if both times are there and the first ends before the second begins.
fn is_before(one: Option<DateTime>, other: Option<DateTime>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one.end() <= other.instant())
}
